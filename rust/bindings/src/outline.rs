//! Outlines of message lists.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use pyo3::IntoPyObjectExt as _;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString};
use toolbudget_core::{Chain, Drawer, Outline};

use crate::classes::Classes;
use crate::items::{Items, is_list};
use crate::raw::{Read, Readers};
use crate::shape::{Message, Role, check_sequence, is_type, read_plain_message, text_field};
use crate::text::PyText;

/// A message with its own id and those of a few calls or results.
const USUAL_IDS: usize = 6;
/// No more room than that is made before anything is read.
const MOST_IDS: usize = 1_024;

/// What was learned about the dicts of hosts; a call takes it out and puts it back at its end.
static READERS: Mutex<Option<Box<Readers>>> = Mutex::new(None);

/// Finds out where a message list could be cut, and by what ids another list hangs on it.
pub(crate) fn outline<'py>(messages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = messages.py();
    check_sequence(messages)?;
    let known = READERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let mut readers = known.unwrap_or_else(|| Box::new(Readers::new(py)));
    let mut drawer = Drawer::new();
    for (index, element) in Items::of(messages)?.enumerate() {
        if let Some(message) = read_plain_message(&element?, index, &mut readers)? {
            draw(&mut drawer, message, index, &mut readers)?;
        }
    }
    let replaced = READERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .replace(readers);
    drop(replaced);
    write(py, drawer)
}

/// The outline of a part of a plain list, which nothing changes meanwhile.
pub(crate) fn outline_of<'py>(
    messages: &Bound<'py, PyList>,
    part: Range<usize>,
    readers: &mut Readers,
) -> PyResult<Outline<PyText<'py>>> {
    let mut drawer = Drawer::with_capacity(part.len().saturating_mul(USUAL_IDS).min(MOST_IDS));
    let start = part.start;
    for index in part {
        let element = messages.get_item(index)?;
        if let Some(message) = read_plain_message(&element, index, readers)? {
            draw(&mut drawer, message, index - start, readers)?;
        }
    }
    Ok(drawer.finish())
}

fn draw<'py>(
    drawer: &mut Drawer<PyText<'py>>,
    message: Message<'py>,
    index: usize,
    readers: &mut Readers,
) -> PyResult<()> {
    match message.role {
        Role::Assistant => drawer.begin_assistant(index, message.chain, message.id),
        Role::User => drawer.begin_user(index, message.chain),
    }
    let Some(content) = message.content else {
        return Ok(());
    };
    let py = content.py();
    let (kind, name) = match message.role {
        Role::Assistant => (intern!(py, "tool_use"), intern!(py, "id")),
        Role::User => (intern!(py, "tool_result"), intern!(py, "tool_use_id")),
    };
    let Ok(list) = content.cast_exact::<PyList>() else {
        if is_list(&content)? {
            for block in Items::of(&content)? {
                draw_block(drawer, &block?, kind, name)?;
            }
        }
        return Ok(());
    };
    for place in 0.. {
        let read = match message.role {
            Role::Assistant => match readers.blocks.call(list, place) {
                Read::Block(call) => Read::Block(call.tool_use_id),
                other => other.without_block(),
            },
            Role::User => match readers.blocks.result(list, place) {
                Read::Block(result) => Read::Block(result.tool_use_id),
                other => other.without_block(),
            },
        };
        match read {
            Read::End => break,
            Read::Other => {}
            Read::Block(id) => drawer.add_id(PyText::new(id)?),
            Read::Odd => draw_block(drawer, &list.get_item(place)?, kind, name)?,
        }
    }
    Ok(())
}

/// Adds the id of a block of any shape, if it is of the kind that is looked for.
fn draw_block<'py>(
    drawer: &mut Drawer<PyText<'py>>,
    block: &Bound<'py, PyAny>,
    kind: &Bound<'py, PyString>,
    name: &Bound<'py, PyString>,
) -> PyResult<()> {
    if is_type(block, kind)?
        && let Some(id) = text_field(block, name)?
    {
        drawer.add_id(PyText::new(id)?);
    }
    Ok(())
}

fn write<'py>(py: Python<'py>, drawer: Drawer<PyText<'py>>) -> PyResult<Bound<'py, PyAny>> {
    let outline = drawer.finish();
    let ids = outline.ids.iter().map(PyText::as_object);
    let fields = (
        outline.boundary,
        PyList::new(py, ids.collect::<Vec<_>>())?,
        outline.ids_before,
        write_chains(py, &outline.chains)?,
        write_chains(py, &outline.open_chains)?,
        outline
            .first_chain
            .map(|chain| write_chain(py, &chain))
            .transpose()?,
    );
    let classes = Classes::get(py)?;
    classes.named_tuple(&classes.outline, &fields.into_pyobject(py)?)
}

fn write_chains<'py>(
    py: Python<'py>,
    chains: &[Chain<PyText<'py>>],
) -> PyResult<Bound<'py, PyList>> {
    let written = PyList::empty(py);
    for chain in chains {
        written.append(write_chain(py, chain)?)?;
    }
    Ok(written)
}

fn write_chain<'py>(py: Python<'py>, chain: &Chain<PyText<'py>>) -> PyResult<Bound<'py, PyAny>> {
    /// The chain of every message that names none: it is asked for several times in a turn.
    static MAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    match &chain.agent_id {
        None if !chain.is_sidechain => {
            let main = MAIN.get_or_try_init(py, || make_chain(chain, py).map(Bound::unbind))?;
            Ok(main.bind(py).clone())
        }
        _ => make_chain(chain, py),
    }
}

fn make_chain<'py>(chain: &Chain<PyText<'py>>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let classes = Classes::get(py)?;
    let agent_id = chain.agent_id.as_ref().map(PyText::as_object);
    let fields = (chain.is_sidechain, agent_id.into_bound_py_any(py)?);
    classes.named_tuple(&classes.chain, &fields.into_pyobject(py)?)
}
