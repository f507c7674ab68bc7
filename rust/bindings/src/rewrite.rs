//! Rewriting: new content for chosen results; every other object is shared with the input.

use std::collections::HashMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::again::{Earlier, is_same_rewriting};
use crate::items::{Items, is_list, position};
use crate::plan_items::{PlanItem, PlanItems};
use crate::raw::RewrittenReader;
use crate::shape::{field, is_mapping};

/// One result's new text, and where the result stands.
struct Change<'py> {
    message_index: isize,
    block_index: isize,
    replacement: Bound<'py, PyAny>,
}

impl<'py> Change<'py> {
    fn read(change: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = change.py();
        Ok(Self {
            message_index: change.getattr(intern!(py, "message_index"))?.extract()?,
            block_index: change.getattr(intern!(py, "block_index"))?.extract()?,
            replacement: change.getattr(intern!(py, "replacement"))?,
        })
    }

    fn read_all(changes: &Bound<'py, PyAny>) -> PyResult<Vec<Self>> {
        let Ok(items) = changes.cast_exact::<PlanItems>() else {
            return Items::of(changes)?
                .map(|change| Self::read(&change?))
                .collect();
        };
        let py = changes.py();
        let own = items.get().items.iter().filter_map(|item| match item {
            PlanItem::Key { .. } => None,
            PlanItem::Change {
                message_index,
                block_index,
                replacement,
            } => Some((message_index, block_index, replacement)),
        });
        own.map(|(&message_index, &block_index, replacement)| {
            Ok(Self {
                message_index: message_index.try_into()?,
                block_index: block_index.try_into()?,
                replacement: replacement.bind(py).clone().into_any(),
            })
        })
        .collect()
    }
}

/// Applies `changes` to a copy that shares every unchanged object with `messages`.
pub(crate) fn rewrite<'py>(
    messages: &Bound<'py, PyAny>,
    changes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    rewrite_with(messages, changes, |message, changes| {
        Ok(rewrite_message(message, changes)?.into_any())
    })
}

/// Does what [`rewrite`] does, with messages of the call before where nothing has changed.
///
/// Gives also each changed message followed by what it has become.
pub(crate) fn rewrite_again<'py>(
    messages: &Bound<'py, PyAny>,
    changes: &Bound<'py, PyAny>,
    earlier: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyList>)> {
    let mut earlier = Earlier::read(&to_list(earlier)?)?;
    let reader = RewrittenReader::new(messages.py());
    let pairs = PyList::empty(messages.py());
    let output = rewrite_with(messages, changes, |message, changes| {
        let old = earlier.take(message);
        let is_still = old.as_ref().is_some_and(|old| {
            let changes = changes.iter();
            let texts = changes.map(|change| (change.block_index, &change.replacement));
            reader.is_still(message, old, texts)
        });
        let chosen = match old {
            Some(old) if is_still => old,
            old => {
                let new = rewrite_message(message, changes)?;
                let old = old.filter(|old| is_same_rewriting(&new, old));
                old.unwrap_or(new.into_any())
            }
        };
        pairs.append(message)?;
        pairs.append(&chosen)?;
        Ok(chosen)
    })?;
    Ok((output, pairs))
}

/// Puts in the place of each changed message what `make` makes of it and its changes.
fn rewrite_with<'py>(
    messages: &Bound<'py, PyAny>,
    changes: &Bound<'py, PyAny>,
    mut make: impl FnMut(&Bound<'py, PyAny>, &[Change<'py>]) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let by_message = sort_by_message(changes)?;
    if by_message.is_empty() {
        return Ok(messages.clone());
    }
    let output = to_list(messages)?;
    for (index, changes) in by_message {
        let message = item(&output, index)?;
        let rewritten = make(&message, &changes)?;
        output.set_item(position(index, output.len())?, rewritten)?;
    }
    Ok(output.into_any())
}

/// The changes of each message, messages in the order of their first change.
fn sort_by_message<'py>(changes: &Bound<'py, PyAny>) -> PyResult<Vec<(isize, Vec<Change<'py>>)>> {
    let mut by_message: Vec<(isize, Vec<Change<'py>>)> = Vec::new();
    let mut positions: HashMap<isize, usize> = HashMap::new();
    for change in Change::read_all(changes)? {
        let index = change.message_index;
        if let Some((last, changes)) = by_message.last_mut()
            && *last == index
        {
            changes.push(change);
            continue;
        }
        let position = *positions.entry(index).or_insert(by_message.len());
        if position == by_message.len() {
            by_message.push((index, Vec::new()));
        }
        by_message[position].1.push(change);
    }
    Ok(by_message)
}

fn rewrite_message<'py>(
    message: &Bound<'py, PyAny>,
    changes: &[Change<'py>],
) -> PyResult<Bound<'py, PyDict>> {
    let name = intern!(message.py(), "message");
    let inner = match field(message, name)? {
        Some(inner) if is_mapping(&inner)? => inner,
        _ => return rewrite_inner(message, changes),
    };
    with_item(message, name, rewrite_inner(&inner, changes)?.as_any())
}

fn rewrite_inner<'py>(
    inner: &Bound<'py, PyAny>,
    changes: &[Change<'py>],
) -> PyResult<Bound<'py, PyDict>> {
    let name = intern!(inner.py(), "content");
    let content = to_list(&inner.get_item(name)?)?;
    for change in changes {
        let block = item(&content, change.block_index)?;
        let old = field(&block, name)?;
        let new = replace_content(old.as_ref(), &change.replacement)?;
        let block = with_item(&block, name, &new)?;
        content.set_item(position(change.block_index, content.len())?, block)?;
    }
    with_item(inner, name, content.as_any())
}

/// Puts `text` in the place of all-text content, in the form that the content had.
pub(crate) fn replace_content<'py>(
    content: Option<&Bound<'py, PyAny>>,
    text: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = text.py();
    let content = match content {
        Some(content) if is_list(content)? => content,
        _ => return Ok(text.clone()),
    };
    let block = PyDict::new(py);
    block.set_item(intern!(py, "type"), intern!(py, "text"))?;
    block.set_item(intern!(py, "text"), text)?;
    let name = intern!(py, "cache_control");
    for old in Items::of(content)? {
        if let Some(cache_control) = field(&old?, name)? {
            block.set_item(name, cache_control)?;
        }
    }
    Ok(PyList::new(py, [block])?.into_any())
}

/// A plain dict with the items of `mapping`, one of them replaced.
fn with_item<'py>(
    mapping: &Bound<'py, PyAny>,
    name: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let copy = match mapping.cast_exact::<PyDict>() {
        Ok(dict) => dict.copy()?,
        Err(_) => copy_items(mapping)?,
    };
    copy.set_item(name, value)?;
    Ok(copy)
}

fn copy_items<'py>(mapping: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let copy = PyDict::new(mapping.py());
    copy.call_method1(intern!(mapping.py(), "update"), (mapping,))?;
    Ok(copy)
}

fn to_list<'py>(items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    if let Ok(list) = items.cast_exact::<PyList>() {
        return Ok(list.get_slice(0, list.len()));
    }
    let copy = PyList::empty(items.py());
    for item in Items::of(items)? {
        copy.append(item?)?;
    }
    Ok(copy)
}

fn item<'py>(list: &Bound<'py, PyList>, index: isize) -> PyResult<Bound<'py, PyAny>> {
    list.get_item(position(index, list.len())?)
}
