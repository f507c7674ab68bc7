//! Collecting: walks a message list and tells the core what it meets.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toolbudget_core::{Call, Chain, Collector, Found, Group, SkipReason, Skipped, Survey};

use crate::classes::{Classes, make};
use crate::items::{Items, is_list};
use crate::shape::{
    Message, Role, check_sequence, field, is_mapping, is_type, read_message, text_field, texts,
};
use crate::text::{PyText, Wtf8, head};
use crate::texts::Texts;

/// Characters of a caller's kind that tell what it is.
const CALLER_KIND_CHARS: usize = 14;

/// Where a text result stands, and what is in it.
pub(crate) struct Place<'py> {
    pub(crate) message_index: usize,
    pub(crate) block_index: usize,
    pub(crate) content: Bound<'py, PyAny>,
    pub(crate) texts: Texts<'py>,
}

/// What a message list holds; candidate and place have the same index.
pub(crate) struct Collected<'py> {
    pub(crate) survey: Survey<PyText<'py>>,
    pub(crate) places: Vec<Place<'py>>,
}

impl<'py> Collected<'py> {
    /// Finds every tool result of a message list.
    pub(crate) fn of(
        messages: &Bound<'py, PyAny>,
        is_exempt_tool: &Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let mut gathered = Gathered {
            collector: Collector::new(),
            places: Vec::new(),
        };
        walk(messages, &mut gathered)?;
        let survey = gathered.collector.finish(|name| {
            let is_exempt = is_exempt_tool.call1((name.as_object(),))?;
            is_exempt.is_truthy()
        })?;
        Ok(Self {
            survey,
            places: gathered.places,
        })
    }

    /// The survey as `collect` gives it.
    pub(crate) fn to_survey(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let classes = Classes::get(py)?;
        let groups = PyList::empty(py);
        for group in self.survey.groups() {
            groups.append(self.group(group, classes, py)?)?;
        }
        let skipped = counter(self.survey.skipped(), classes, py)?;
        make(&classes.survey, (groups, skipped), py)
    }

    fn group(
        &self,
        group: &Group,
        classes: &Classes,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let candidates = PyList::empty(py);
        for &index in &group.candidates {
            candidates.append(self.candidate(index, classes, py)?)?;
        }
        make(&classes.group, (candidates, group.is_followed), py)
    }

    /// One result as a `Candidate`.
    pub(crate) fn candidate(
        &self,
        index: usize,
        classes: &Classes,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let candidate = &self.survey.candidates()[index];
        let place = &self.places[index];
        let arguments = (
            candidate.tool_use_id.as_object(),
            &place.content,
            candidate.size_chars,
            place.message_index,
            place.block_index,
            candidate.tool_name.as_ref().map(PyText::as_object),
            candidate.is_exempt,
            place.texts.to_tuple(py)?,
        );
        make(&classes.candidate, arguments, py)
    }
}

/// Counts by reason as a `Counter`.
pub(crate) fn counter<'py>(
    skipped: &Skipped,
    classes: &Classes,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let counts = PyDict::new(py);
    for (reason, count) in skipped.iter() {
        counts.set_item(reason.name(), count)?;
    }
    make(&classes.counter, (counts,), py)
}

/// What is told about everything that a walk meets, in order.
pub(crate) trait Sink<'py> {
    fn begin_assistant(
        &mut self,
        message_index: usize,
        chain: Chain<PyText<'py>>,
        message_id: Option<PyText<'py>>,
    );

    fn begin_user(&mut self, message_index: usize, chain: Chain<PyText<'py>>) -> PyResult<()>;

    fn add_call(&mut self, tool_use_id: PyText<'py>, call: Call<PyText<'py>>);

    fn add_result(&mut self, found: Found<PyText<'py>>, place: Place<'py>) -> PyResult<()>;

    fn skip(&mut self, reason: SkipReason);
}

/// Keeps all of it.
struct Gathered<'py> {
    collector: Collector<PyText<'py>>,
    places: Vec<Place<'py>>,
}

impl<'py> Sink<'py> for Gathered<'py> {
    fn begin_assistant(
        &mut self,
        message_index: usize,
        chain: Chain<PyText<'py>>,
        message_id: Option<PyText<'py>>,
    ) {
        self.collector
            .begin_assistant(message_index, chain, message_id);
    }

    fn begin_user(&mut self, message_index: usize, chain: Chain<PyText<'py>>) -> PyResult<()> {
        self.collector.begin_user(message_index, chain);
        Ok(())
    }

    fn add_call(&mut self, tool_use_id: PyText<'py>, call: Call<PyText<'py>>) {
        self.collector.add_call(tool_use_id, call);
    }

    fn add_result(&mut self, found: Found<PyText<'py>>, place: Place<'py>) -> PyResult<()> {
        self.collector.add_result(found);
        self.places.push(place);
        Ok(())
    }

    fn skip(&mut self, reason: SkipReason) {
        self.collector.skip(reason);
    }
}

/// Walks over a message list.
pub(crate) fn walk<'py>(messages: &Bound<'py, PyAny>, sink: &mut impl Sink<'py>) -> PyResult<()> {
    check_sequence(messages)?;
    for (index, element) in Items::of(messages)?.enumerate() {
        if let Some(message) = read_message(&element?, index)? {
            read(message, index, sink)?;
        }
    }
    Ok(())
}

fn read<'py>(message: Message<'py>, index: usize, sink: &mut impl Sink<'py>) -> PyResult<()> {
    match message.role {
        Role::Assistant => {
            let Message { chain, id, .. } = message;
            sink.begin_assistant(index, chain, id);
        }
        Role::User => sink.begin_user(index, message.chain)?,
    }
    let Some(content) = message.content else {
        return Ok(());
    };
    if !is_list(&content)? {
        return Ok(());
    }
    match message.role {
        Role::Assistant => read_calls(&content, sink),
        Role::User => read_results(&content, index, message.is_object, sink),
    }
}

fn read_calls<'py>(content: &Bound<'py, PyAny>, sink: &mut impl Sink<'py>) -> PyResult<()> {
    let py = content.py();
    for block in Items::of(content)? {
        let block = block?;
        if !is_type(&block, intern!(py, "tool_use"))? {
            continue;
        }
        let Some(tool_use_id) = text_field(&block, intern!(py, "id"))? else {
            continue;
        };
        let tool_name = text_field(&block, intern!(py, "name"))?;
        let call = Call {
            tool_name: tool_name.map(PyText::new).transpose()?,
            is_for_code: is_for_code(&block)?,
        };
        sink.add_call(PyText::new(tool_use_id)?, call);
    }
    Ok(())
}

fn read_results<'py>(
    content: &Bound<'py, PyAny>,
    message_index: usize,
    is_object: bool,
    sink: &mut impl Sink<'py>,
) -> PyResult<()> {
    let py = content.py();
    for (block_index, block) in Items::of(content)?.enumerate() {
        let block = block?;
        if !is_type(&block, intern!(py, "tool_result"))? {
            continue;
        }
        match read_result(&block, is_object)? {
            Err(reason) => sink.skip(reason),
            Ok((found, content, texts)) => {
                let place = Place {
                    message_index,
                    block_index,
                    content,
                    texts,
                };
                sink.add_result(found, place)?;
            }
        }
    }
    Ok(())
}

type TextResult<'py> = (Found<PyText<'py>>, Bound<'py, PyAny>, Texts<'py>);

/// Reads a result block; the reason if it holds no text.
fn read_result<'py>(
    block: &Bound<'py, PyAny>,
    is_object: bool,
) -> PyResult<Result<TextResult<'py>, SkipReason>> {
    let py = block.py();
    if is_object || !is_mapping(block)? {
        return Ok(Err(SkipReason::Object));
    }
    let Some(tool_use_id) = text_field(block, intern!(py, "tool_use_id"))? else {
        return Ok(Err(SkipReason::Malformed));
    };
    let Some(content) = field(block, intern!(py, "content"))? else {
        return Ok(Err(SkipReason::Empty));
    };
    let Some(texts) = texts(&content)? else {
        return Ok(Err(SkipReason::NotText));
    };
    let size_chars = texts.size_chars()?;
    if size_chars == 0 {
        return Ok(Err(SkipReason::Empty));
    }
    let found = Found {
        tool_use_id: PyText::new(tool_use_id)?,
        size_chars,
        has_toolset: field(block, intern!(py, "toolset_name"))?.is_some(),
    };
    Ok(Ok((found, content, texts)))
}

fn is_for_code(block: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = block.py();
    let Some(caller) = field(block, intern!(py, "caller"))? else {
        return Ok(false);
    };
    let Some(kind) = text_field(&caller, intern!(py, "type"))? else {
        return Ok(false);
    };
    let kind = Wtf8::of(&head(&kind, CALLER_KIND_CHARS)?)?;
    Ok(toolbudget_core::is_code_caller(kind.as_bytes()?))
}
