//! Walking over a message list: tells what is met, in order.

use std::ops::Range;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use toolbudget_core::{Call, Chain, Found, SkipReason};

use crate::collect::Place;
use crate::items::{Items, is_list};
use crate::raw::{Read, Readers, ToolResult, is_same_text, length_chars};
use crate::shape::{
    Message, Role, check_sequence, field, is_for_code, is_mapping, is_type, read_message,
    text_field, texts,
};
use crate::text::PyText;
use crate::texts::Texts;

/// What is told about everything that a walk meets, in order.
pub(crate) trait Sink<'py> {
    fn begin_assistant(
        &mut self,
        message_index: usize,
        chain: Chain<PyText<'py>>,
        message_id: Option<PyText<'py>>,
    );

    fn begin_user(&mut self, message_index: usize, chain: Chain<PyText<'py>>) -> PyResult<()>;

    /// Tells that the message has so many blocks, each of which may be a call.
    fn expect_calls(&mut self, _blocks: usize) {}

    /// The same of results.
    fn expect_results(&mut self, _blocks: usize) {}

    fn add_call(&mut self, tool_use_id: PyText<'py>, call: Call<PyText<'py>>);

    fn add_result(&mut self, found: Found<PyText<'py>>, place: Place<'py>) -> PyResult<()>;

    fn skip(&mut self, reason: SkipReason);
}

/// Walks over all of a list; gives back what was told.
pub(crate) fn walk<'py, S: Sink<'py>>(
    messages: &Bound<'py, PyAny>,
    readers: &mut Readers,
    sink: S,
) -> PyResult<S> {
    check_sequence(messages)?;
    let mut walk = Walk::new(readers, sink);
    for (index, element) in Items::of(messages)?.enumerate() {
        walk.read_element(&element?, index)?;
    }
    Ok(walk.sink)
}

/// Walks over a part of a plain list, which nothing changes meanwhile.
pub(crate) fn walk_part<'py, S: Sink<'py>>(
    messages: &Bound<'py, PyList>,
    part: Range<usize>,
    readers: &mut Readers,
    sink: S,
) -> PyResult<S> {
    let mut walk = Walk::new(readers, sink);
    for index in part {
        walk.read_element(&messages.get_item(index)?, index)?;
    }
    Ok(walk.sink)
}

struct Walk<'a, 'py, S> {
    sink: S,
    readers: &'a mut Readers,
    last_name: Option<PyText<'py>>,
}

impl<'a, 'py, S: Sink<'py>> Walk<'a, 'py, S> {
    const fn new(readers: &'a mut Readers, sink: S) -> Self {
        Self {
            sink,
            readers,
            last_name: None,
        }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "of two walks each calls it for every message"
    )]
    fn read_element(&mut self, element: &Bound<'py, PyAny>, index: usize) -> PyResult<()> {
        let message = match self.read_plain(element)? {
            Some(message) => message,
            None => read_message(element, index)?,
        };
        match message {
            Some(message) => self.read(message, index),
            None => Ok(()),
        }
    }

    /// Reads an element that is a plain dict; the outer `None` if it takes more to read it.
    #[expect(
        clippy::option_option,
        reason = "the inner one is that of `read_message`"
    )]
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `read_element`")]
    fn read_plain(
        &mut self,
        element: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Option<Message<'py>>>> {
        let Ok(dict) = element.cast_exact::<PyDict>() else {
            return Ok(None);
        };
        match self.readers.messages.read(dict) {
            Some(Some(plain)) => Ok(Some(Some(Message::of_plain(plain)?))),
            Some(None) => Ok(Some(None)),
            None => Ok(None),
        }
    }

    fn read(&mut self, message: Message<'py>, index: usize) -> PyResult<()> {
        match message.role {
            Role::Assistant => {
                let Message { chain, id, .. } = message;
                self.sink.begin_assistant(index, chain, id);
            }
            Role::User => self.sink.begin_user(index, message.chain)?,
        }
        let Some(content) = message.content else {
            return Ok(());
        };
        let plain = content.cast_exact::<PyList>();
        match (message.role, plain) {
            (Role::Assistant, Ok(list)) => self.read_plain_calls(list),
            (Role::User, Ok(list)) if !message.is_object => self.read_plain_results(list, index),
            _ if !is_list(&content)? => Ok(()),
            (Role::Assistant, _) => self.read_calls(&content),
            (Role::User, _) => self.read_results(&content, index, message.is_object),
        }
    }

    fn read_plain_calls(&mut self, content: &Bound<'py, PyList>) -> PyResult<()> {
        self.sink.expect_calls(content.len());
        for index in 0.. {
            match self.readers.blocks.call(content, index) {
                Read::End => break,
                Read::Other => {}
                Read::Block(call) => {
                    let tool_use_id = PyText::new(call.tool_use_id)?;
                    let call = Call {
                        tool_name: call.tool_name.map(|name| self.name(name)).transpose()?,
                        is_for_code: false,
                    };
                    self.sink.add_call(tool_use_id, call);
                }
                Read::Odd => self.read_call(&content.get_item(index)?)?,
            }
        }
        Ok(())
    }

    /// A tool's name; calls of one tool follow each other, and need one hash and one object.
    fn name(&mut self, name: Bound<'py, PyString>) -> PyResult<PyText<'py>> {
        if let Some(last) = &self.last_name {
            if last.as_object().is(&name) {
                return PyText::new(name);
            }
            if is_same_text(last.as_object(), &name) {
                return Ok(last.clone());
            }
        }
        let name = PyText::new(name)?;
        self.last_name = Some(name.clone());
        Ok(name)
    }

    fn read_calls(&mut self, content: &Bound<'py, PyAny>) -> PyResult<()> {
        for block in Items::of(content)? {
            self.read_call(&block?)?;
        }
        Ok(())
    }

    fn read_call(&mut self, block: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = block.py();
        if !is_type(block, intern!(py, "tool_use"))? {
            return Ok(());
        }
        let Some(tool_use_id) = text_field(block, intern!(py, "id"))? else {
            return Ok(());
        };
        let tool_name = text_field(block, intern!(py, "name"))?;
        let call = Call {
            tool_name: tool_name.map(PyText::new).transpose()?,
            is_for_code: is_for_code(block)?,
        };
        self.sink.add_call(PyText::new(tool_use_id)?, call);
        Ok(())
    }

    fn read_plain_results(
        &mut self,
        content: &Bound<'py, PyList>,
        message_index: usize,
    ) -> PyResult<()> {
        self.sink.expect_results(content.len());
        for block_index in 0.. {
            let read = match self.readers.blocks.result(content, block_index) {
                Read::End => break,
                Read::Other => continue,
                Read::Block(result) => {
                    match self.add_plain_text(result, message_index, block_index)? {
                        Some(other) => self.read_plain_result(other)?,
                        None => continue,
                    }
                }
                Read::Odd => {
                    let block = content.get_item(block_index)?;
                    if !is_type(&block, intern!(content.py(), "tool_result"))? {
                        continue;
                    }
                    read_result(&block, false)?
                }
            };
            self.add(read, message_index, block_index)?;
        }
        Ok(())
    }

    /// Adds a result whose content is a plain text, as most are; gives back any other.
    #[inline]
    fn add_plain_text(
        &mut self,
        result: ToolResult<'py>,
        message_index: usize,
        block_index: usize,
    ) -> PyResult<Option<ToolResult<'py>>> {
        let ToolResult {
            tool_use_id,
            content,
            has_toolset,
        } = result;
        let text = match content.cast_into_exact::<PyString>() {
            Ok(text) => text,
            Err(other) => {
                return Ok(Some(ToolResult {
                    tool_use_id,
                    content: other.into_inner(),
                    has_toolset,
                }));
            }
        };
        let size_chars = length_chars(&text)? as u64;
        if size_chars == 0 {
            self.sink.skip(SkipReason::Empty);
            return Ok(None);
        }
        let place = Place {
            message_index,
            block_index,
            content: None,
            texts: Texts::Plain(text),
        };
        let found = Found {
            tool_use_id: PyText::new(tool_use_id)?,
            size_chars,
            has_toolset,
        };
        self.sink.add_result(found, place)?;
        Ok(None)
    }

    /// Reads a result's content; that of plain text blocks without a call for each.
    fn read_plain_result(
        &mut self,
        result: ToolResult<'py>,
    ) -> PyResult<Result<TextResult<'py>, SkipReason>> {
        let ToolResult {
            tool_use_id,
            content,
            has_toolset,
        } = result;
        let texts = match content.cast_exact::<PyList>() {
            Ok(list) => self.read_plain_texts(list)?,
            Err(_) => texts(&content)?,
        };
        match texts {
            Some(texts) => text_result(tool_use_id, Some(content), texts, has_toolset),
            None => Ok(Err(SkipReason::NotText)),
        }
    }

    fn read_plain_texts(&mut self, content: &Bound<'py, PyList>) -> PyResult<Option<Texts<'py>>> {
        let mut found = Texts::none();
        for index in 0.. {
            match self.readers.blocks.text(content, index) {
                Read::End => break,
                Read::Other => return Ok(None),
                Read::Block(text) => found = found.with(text.clone().into_any(), text),
                // What follows may be odd too, and reading it may change the list.
                Read::Odd => return texts(content),
            }
        }
        Ok(Some(found))
    }

    fn read_results(
        &mut self,
        content: &Bound<'py, PyAny>,
        message_index: usize,
        is_object: bool,
    ) -> PyResult<()> {
        let py = content.py();
        for (block_index, block) in Items::of(content)?.enumerate() {
            let block = block?;
            if is_type(&block, intern!(py, "tool_result"))? {
                let read = read_result(&block, is_object)?;
                self.add(read, message_index, block_index)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what was read need not be moved for it"
    )]
    fn add(
        &mut self,
        read: Result<TextResult<'py>, SkipReason>,
        message_index: usize,
        block_index: usize,
    ) -> PyResult<()> {
        match read {
            Err(reason) => self.sink.skip(reason),
            Ok((found, content, texts)) => {
                let place = Place {
                    message_index,
                    block_index,
                    content,
                    texts,
                };
                self.sink.add_result(found, place)?;
            }
        }
        Ok(())
    }
}

type TextResult<'py> = (Found<PyText<'py>>, Option<Bound<'py, PyAny>>, Texts<'py>);

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
    let has_toolset = field(block, intern!(py, "toolset_name"))?.is_some();
    text_result(tool_use_id, Some(content), texts, has_toolset)
}

fn text_result<'py>(
    tool_use_id: Bound<'py, PyString>,
    content: Option<Bound<'py, PyAny>>,
    texts: Texts<'py>,
    has_toolset: bool,
) -> PyResult<Result<TextResult<'py>, SkipReason>> {
    let size_chars = texts.size_chars()?;
    if size_chars == 0 {
        return Ok(Err(SkipReason::Empty));
    }
    let found = Found {
        tool_use_id: PyText::new(tool_use_id)?,
        size_chars,
        has_toolset,
    };
    Ok(Ok((found, content, texts)))
}
