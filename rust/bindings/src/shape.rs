//! Reading messages and blocks of any shape without raising in the middle of a list.

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyList, PyString, PyTuple};
use toolbudget_core::Chain;

use crate::error;
use crate::items::{Items, is_list};
use crate::lookups;
use crate::raw::{PlainMessage, Readers, is_same_text};
use crate::text::{self, PyText, Wtf8, head};
use crate::texts::Texts;

/// Characters of a caller's kind that tell what it is.
const CALLER_KIND_CHARS: usize = 14;

/// What an element of a message list is, if it is of interest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
}

/// What grouping and collecting need of one element of a message list.
pub(crate) struct Message<'py> {
    pub(crate) role: Role,
    pub(crate) content: Option<Bound<'py, PyAny>>,
    pub(crate) id: Option<PyText<'py>>,
    pub(crate) chain: Chain<PyText<'py>>,
    /// An SDK object: its results pass through.
    pub(crate) is_object: bool,
}

impl<'py> Message<'py> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "of two walks each calls it for every message"
    )]
    pub(crate) fn of_plain(plain: PlainMessage<'py>) -> PyResult<Self> {
        Ok(Self {
            role: if plain.is_assistant {
                Role::Assistant
            } else {
                Role::User
            },
            content: plain.content,
            id: plain.id.map(PyText::new).transpose()?,
            chain: Chain {
                is_sidechain: plain.is_sidechain,
                agent_id: plain.agent_id.map(PyText::new).transpose()?,
            },
            is_object: false,
        })
    }
}

/// Reads `name` from a mapping or from an object's attributes; `None` where there is none.
pub(crate) fn field<'py>(
    value: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = match value.cast_exact::<PyDict>() {
        Ok(dict) => dict.get_item(name),
        Err(_) => odd_field(value, name),
    };
    match found {
        Ok(found) => Ok(found.filter(|found| !found.is_none())),
        // A host's own mapping or property may raise anything.
        Err(error) if error.is_instance_of::<PyException>(value.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn odd_field<'py>(
    value: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if is_mapping(value)? {
        let found = value.call_method1(intern!(value.py(), "get"), (name,))?;
        return Ok(Some(found));
    }
    value.getattr_opt(name)
}

/// Reads `name` as [`field`] does; `None` unless it is text.
pub(crate) fn text_field<'py>(
    value: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyString>>> {
    match field(value, name)? {
        Some(found) => text::plain(&found),
        None => Ok(None),
    }
}

/// Whether `value` counts as a mapping; a class may say so itself.
pub(crate) fn is_mapping(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_exact_instance_of::<PyDict>() {
        return Ok(true);
    }
    if value.is_none() || value.is_exact_instance_of::<PyString>() {
        return Ok(false);
    }
    value.is_instance(lookups::MAPPING.get(value.py())?)
}

/// The texts of all-text content: the string itself, or those of its text blocks. `None` if any
/// part is something else.
pub(crate) fn texts<'py>(content: &Bound<'py, PyAny>) -> PyResult<Option<Texts<'py>>> {
    let py = content.py();
    if let Some(text) = text::plain(content)? {
        return Ok(Some(Texts::one(content.clone(), text)));
    }
    if !is_list(content)? {
        return Ok(None);
    }
    let mut texts = Texts::none();
    for block in Items::of(content)? {
        let block = block?;
        if !is_mapping(&block)? || !is_type(&block, intern!(py, "text"))? {
            return Ok(None);
        }
        let Some(object) = field(&block, intern!(py, "text"))? else {
            return Ok(None);
        };
        let Some(text) = text::plain(&object)? else {
            return Ok(None);
        };
        texts = texts.with(object, text);
    }
    Ok(Some(texts))
}

/// Whether the `type` of a block is `expected`.
pub(crate) fn is_type(block: &Bound<'_, PyAny>, expected: &Bound<'_, PyString>) -> PyResult<bool> {
    let kind = text_field(block, intern!(block.py(), "type"))?;
    Ok(kind.is_some_and(|kind| is_same_text(&kind, expected)))
}

/// Whether running code made a call, by the kind of its caller.
pub(crate) fn is_for_code(block: &Bound<'_, PyAny>) -> PyResult<bool> {
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

/// Refuses what cannot be a message list.
pub(crate) fn check_sequence(messages: &Bound<'_, PyAny>) -> PyResult<()> {
    if messages.is_exact_instance_of::<PyList>() || messages.is_exact_instance_of::<PyTuple>() {
        return Ok(());
    }
    let py = messages.py();
    let is_sequence = messages.is_instance(lookups::SEQUENCE.get(py)?)?;
    if is_sequence && !is_string(messages)? {
        return Ok(());
    }
    let kind = error::type_name(messages)?;
    let problem = format!("messages must be a list or another sequence, not {kind}");
    Err(error::invalid_message(&problem, messages))
}

fn is_string(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    for class in [
        py.get_type::<PyString>(),
        py.get_type::<PyBytes>(),
        py.get_type::<PyByteArray>(),
    ] {
        if value.is_instance(&class)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads one element of a message list as [`read_message`] does, a plain dict without a call for
/// each field.
pub(crate) fn read_plain_message<'py>(
    element: &Bound<'py, PyAny>,
    index: usize,
    readers: &mut Readers,
) -> PyResult<Option<Message<'py>>> {
    let plain = element.cast_exact::<PyDict>().ok();
    match plain.and_then(|dict| readers.messages.read(dict)) {
        Some(Some(plain)) => Message::of_plain(plain).map(Some),
        Some(None) => Ok(None),
        None => read_message(element, index),
    }
}

/// Reads one element of a message list; `None` if it is no user or assistant message.
pub(crate) fn read_message<'py>(
    element: &Bound<'py, PyAny>,
    index: usize,
) -> PyResult<Option<Message<'py>>> {
    let py = element.py();
    if !is_mapping(element)? && !is_message_object(element)? {
        let problem = format!("message {index} is neither a mapping nor a message object");
        return Err(error::invalid_message(&problem, element));
    }
    let Some(inner) = wrapped_message(element)? else {
        let role = text_field(element, intern!(py, "role"))?;
        return message(element, role.as_ref(), element);
    };
    let kind = field(element, intern!(py, "type"))?;
    let kind_text = kind.as_ref().map(text::plain).transpose()?.flatten();
    if kind.is_some() && role_of(kind_text.as_ref()).is_none() {
        return Ok(None);
    }
    let role = text_field(&inner, intern!(py, "role"))?;
    message(&inner, non_empty(role)?.or(kind_text).as_ref(), element)
}

/// The message that a transcript record wraps; `None` if `element` is a message itself.
fn wrapped_message<'py>(element: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(inner) = field(element, intern!(element.py(), "message"))? else {
        return Ok(None);
    };
    let is_message = is_mapping(&inner)? || is_message_object(&inner)?;
    Ok(is_message.then_some(inner))
}

fn message<'py>(
    inner: &Bound<'py, PyAny>,
    role: Option<&Bound<'py, PyString>>,
    record: &Bound<'py, PyAny>,
) -> PyResult<Option<Message<'py>>> {
    let py = inner.py();
    let Some(role) = role_of(role) else {
        return Ok(None);
    };
    let content = field(inner, intern!(py, "content"))?;
    let id = match role {
        Role::User => None,
        Role::Assistant => non_empty(text_field(inner, intern!(py, "id"))?)?,
    };
    let is_sidechain = field(record, intern!(py, "isSidechain"))?;
    let agent_id = text_field(record, intern!(py, "agentId"))?;
    Ok(Some(Message {
        role,
        content,
        id: id.map(PyText::new).transpose()?,
        chain: Chain {
            is_sidechain: is_sidechain.is_some_and(|value| value.is(PyBool::new(py, true))),
            agent_id: agent_id.map(PyText::new).transpose()?,
        },
        is_object: !(is_mapping(record)? && is_mapping(inner)?),
    }))
}

fn role_of(role: Option<&Bound<'_, PyString>>) -> Option<Role> {
    let role = role?;
    let py = role.py();
    if is_same_text(role, intern!(py, "user")) {
        Some(Role::User)
    } else if is_same_text(role, intern!(py, "assistant")) {
        Some(Role::Assistant)
    } else {
        None
    }
}

fn non_empty(text: Option<Bound<'_, PyString>>) -> PyResult<Option<Bound<'_, PyString>>> {
    match text {
        Some(text) if text.code_point_len()? > 0 => Ok(Some(text)),
        _ => Ok(None),
    }
}

/// Tells SDK objects and dataclasses from numbers, strings and other values in a wrong place.
fn is_message_object(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    let has_both = || -> PyResult<bool> {
        Ok(value.hasattr(intern!(py, "role"))? && value.hasattr(intern!(py, "content"))?)
    };
    match has_both() {
        // A host's own property may raise anything.
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(false),
        other => other,
    }
}
