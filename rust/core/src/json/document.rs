//! Whole bodies: which form they have, and where their messages stand.

use super::cursor::{Cursor, Shift, TextSpan};
use super::element::Elements;
use super::error::{Fault, JsonError, Problem};
use super::event::{Event, ResultSpan};
use super::names::{Name, Names};
use super::pattern::Patterns;
use super::resume::{self, Leftover};
use super::text::JsonText;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What a body is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An object with `messages`.
    Body,
    /// A list of messages.
    List,
    /// Objects one after the other, as in a transcript.
    Records,
}

/// What was there when an element had been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The byte behind the element.
    pub(super) end: usize,
    pub(super) events: usize,
    pub(super) results: usize,
    pub(super) texts: usize,
    pub(super) names: usize,
}

/// What a body holds, as spans of it.
///
/// ```
/// use toolbudget_core::json::{Event, Scan};
///
/// let body = br#"{"messages":[{"role":"user","content":[
///     {"type":"tool_result","tool_use_id":"t1","content":"long"}]}]}"#;
/// let scan = Scan::of(body)?;
/// assert!(matches!(scan.events(), [Event::User(_), Event::Result(0)]));
/// assert_eq!(scan.results()[0].content.of(body), br#""long""#);
/// # Ok::<(), toolbudget_core::json::JsonError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    pub(super) form: Form,
    /// Whether an object stands first that has `messages`, in whatever form.
    pub(super) begins_as_body: bool,
    /// Where the first element begins, if there is one.
    pub(super) first_at: usize,
    /// One for each element.
    pub(super) marks: Vec<Mark>,
    pub(super) events: Vec<Event>,
    pub(super) results: Vec<ResultSpan>,
    pub(super) texts: Vec<TextSpan>,
    pub(super) names: Names,
    reused_results: usize,
}

impl Scan {
    /// Scans a body that nothing is known of.
    ///
    /// # Errors
    ///
    /// It is malformed, or holds no messages.
    pub fn of(body: &[u8]) -> Result<Self, JsonError> {
        let (scan, _) = scan_all(body, None).map_err(|error| error.within(body))?;
        Ok(scan)
    }

    /// Scans a body that may go on from an earlier one. What both have in common, from their
    /// beginning or that of their messages on, is not looked at again; of the results of the
    /// earlier one the others are left.
    ///
    /// # Errors
    ///
    /// Those of [`of`](Self::of).
    pub fn after(self, earlier_body: &[u8], body: &[u8]) -> Result<(Self, Leftover), JsonError> {
        let done = match resume::find_start(body, earlier_body, &self) {
            Some(start) => scan_on(body, self, &start),
            None => scan_all(body, Some((self, earlier_body))),
        };
        done.map_err(|error| error.within(body))
    }

    /// What was met, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The text results, in order.
    #[must_use]
    pub fn results(&self) -> &[ResultSpan] {
        &self.results
    }

    /// How many results, from the first on, were taken over from the earlier scan.
    #[must_use]
    pub const fn reused_results(&self) -> usize {
        self.reused_results
    }

    /// The same scan as one that took over so many results.
    #[cfg(test)]
    pub(super) fn reusing(mut self, reused_results: usize) -> Self {
        self.reused_results = reused_results;
        self
    }

    /// The text of a name of this scan.
    #[must_use]
    pub fn name_text<'a>(&self, name: Name, body: &'a [u8]) -> JsonText<'a> {
        self.names.text(name, body)
    }

    /// The texts of a result.
    #[must_use]
    pub fn texts_of(&self, result: &ResultSpan) -> &[TextSpan] {
        let texts = self.texts.get(result.first_text..);
        let texts = texts.and_then(|texts| texts.get(..result.texts));
        texts.unwrap_or_default()
    }
}

fn scan_all<'a>(
    body: &'a [u8],
    earlier: Option<(Scan, &'a [u8])>,
) -> Result<(Scan, Leftover), Fault> {
    if body.starts_with(BYTE_ORDER_MARK) {
        return Err(JsonError::new(Problem::ByteOrderMark, 0).into());
    }
    let mut cursor = Cursor::new(body, 0);
    cursor.skip_blanks();
    match cursor.peek() {
        b'[' => Scanner::new(cursor, Form::List, earlier).scan_list(false),
        b'{' => Scanner::new(cursor, Form::Body, earlier).scan_body(false),
        _ => {
            let start = cursor.at;
            cursor.skip_value()?;
            Err(JsonError::new(Problem::NotDocument, start).into())
        }
    }
}

/// Goes on behind what an earlier scan has read.
fn scan_on(body: &[u8], earlier: Scan, start: &resume::Start) -> Result<(Scan, Leftover), Fault> {
    let form = earlier.form;
    let mut scanner = Scanner::new(Cursor::new(body, start.at), form, None);
    let first_at = earlier.first_at;
    scanner.take_over(earlier, start.elements, first_at);
    match form {
        Form::List => scanner.scan_list(true),
        Form::Body => scanner.scan_body(true),
        Form::Records => scanner.scan_records(),
    }
}

struct Scanner<'a> {
    form: Form,
    elements: Elements<'a>,
    first_at: usize,
    marks: Vec<Mark>,
    /// The first thing that is well-formed and yet wrong.
    wrong: Option<JsonError>,
    has_messages: bool,
    /// What was scanned before, with its bytes, as long as nothing of it is taken over.
    earlier: Option<(Scan, &'a [u8])>,
    reused_results: usize,
    /// How many elements were taken over, if these were all that there were.
    whole_elements: Option<usize>,
    leftover: Leftover,
}

impl<'a> Scanner<'a> {
    fn new(cursor: Cursor<'a>, form: Form, earlier: Option<(Scan, &'a [u8])>) -> Self {
        Self {
            form,
            elements: Elements::new(cursor),
            first_at: 0,
            marks: Vec::new(),
            wrong: None,
            has_messages: false,
            earlier,
            reused_results: 0,
            whole_elements: None,
            leftover: Leftover::default(),
        }
    }

    const fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.elements.cursor
    }

    /// Begins with the first elements of an earlier scan; the results of the others are left.
    fn take_over(&mut self, earlier: Scan, elements: usize, first_at: usize) {
        let mark = elements.checked_sub(1).map(|last| earlier.marks[last]);
        let mark = mark.unwrap_or_default();
        self.has_messages |= earlier.begins_as_body;
        self.reused_results = mark.results;
        self.first_at = first_at;
        self.whole_elements = (elements == earlier.marks.len()).then_some(elements);
        self.marks = earlier.marks;
        self.marks.truncate(elements);
        let found = &mut self.elements;
        found.events = earlier.events;
        found.events.truncate(mark.events);
        found.texts = earlier.texts;
        found.texts.truncate(mark.texts);
        found.names = earlier.names;
        found.names.truncate(mark.names);
        found.results = earlier.results;
        self.leftover = Leftover {
            first: mark.results,
            results: found.results.split_off(mark.results),
            is_nothing_else: false,
        };
        self.move_by(Shift::between(earlier.first_at, first_at));
    }

    /// Moves everything that was taken over.
    fn move_by(&mut self, shift: Shift) {
        if shift.is_none() {
            return;
        }
        for mark in &mut self.marks {
            mark.end = shift.of(mark.end);
        }
        for result in &mut self.elements.results {
            result.move_by(shift);
        }
        for text in &mut self.elements.texts {
            *text = text.moved_by(shift);
        }
        self.elements.names.move_by(shift);
    }

    /// Takes over the messages that an earlier body begins with, too, wherever they stand in it;
    /// the first of them begins here. Tells whether there are any.
    fn take_over_messages(&mut self) -> bool {
        let Cursor { body, at, .. } = self.elements.cursor;
        let found = self.earlier.as_ref().map(|(earlier, earlier_body)| {
            resume::count_elements(&body[at..], earlier_body, earlier)
        });
        let Some(elements @ 1..) = found else {
            return false;
        };
        let Some((earlier, _)) = self.earlier.take() else {
            return false;
        };
        self.take_over(earlier, elements, at);
        self.elements.cursor.at = self.marks.last().map_or(at, |mark| mark.end);
        true
    }

    /// Reads a list; `is_inside` if the cursor stands behind one of its elements.
    fn scan_list(mut self, is_inside: bool) -> Result<(Scan, Leftover), Fault> {
        self.messages(is_inside)?;
        self.cursor().skip_blanks();
        if !self.cursor().is_at_end() {
            return self.cursor().error(Problem::ExtraData);
        }
        self.finish()
    }

    /// Reads an object, which is a body if it has `messages` and nothing follows it.
    fn scan_body(mut self, is_inside: bool) -> Result<(Scan, Leftover), Fault> {
        let mut has_next = if is_inside {
            self.messages(true)?;
            self.cursor().has_next(b'}')?
        } else {
            self.cursor().has_first(b'}')
        };
        while has_next {
            let name = self.cursor().name()?;
            if name.is(b"messages", self.elements.cursor.body) {
                self.begin_messages()?;
            } else {
                self.cursor().skip_value()?;
            }
            has_next = self.cursor().has_next(b'}')?;
        }
        self.cursor().skip_blanks();
        if self.has_messages && self.cursor().is_at_end() {
            return self.finish();
        }
        let mut cursor = Cursor::new(self.elements.cursor.body, 0);
        cursor.skip_blanks();
        let mut records = Self::new(cursor, Form::Records, self.earlier);
        records.has_messages = self.has_messages;
        records.leftover = self.leftover;
        records.scan_records()
    }

    /// Reads objects to the end of the body.
    fn scan_records(mut self) -> Result<(Scan, Leftover), Fault> {
        self.cursor().skip_blanks();
        self.elements.expect();
        while !self.cursor().is_at_end() {
            self.element()?;
            self.cursor().skip_blanks();
        }
        self.finish()
    }

    /// Reads the value of `messages`, of which the last one counts.
    fn begin_messages(&mut self) -> Result<(), Fault> {
        self.has_messages = true;
        self.wrong = None;
        self.marks.clear();
        self.elements.events.clear();
        self.elements.results.clear();
        self.elements.texts.clear();
        self.elements.names.truncate(0);
        // A name of a block like one before is known by its place there: that must be in these.
        self.elements.patterns = Patterns::default();
        self.reused_results = 0;
        self.whole_elements = None;
        if self.cursor().peek() == b'[' {
            return self.messages(false);
        }
        self.wrong = Some(JsonError::new(Problem::NotMessages, self.cursor().at));
        self.cursor().skip_value()
    }

    fn messages(&mut self, is_inside: bool) -> Result<(), Fault> {
        let mut has_next = if is_inside {
            self.cursor().has_next(b']')?
        } else {
            self.cursor().has_first(b']')
        };
        if has_next && !is_inside {
            if self.take_over_messages() {
                return self.messages(true);
            }
            self.elements.expect();
            self.first_at = self.cursor().at;
        }
        while has_next {
            self.element()?;
            has_next = self.cursor().has_next(b']')?;
        }
        Ok(())
    }

    fn element(&mut self) -> Result<(), Fault> {
        let index = self.marks.len();
        if self.cursor().peek() == b'{' {
            self.elements.read(index)?;
        } else {
            let error = JsonError::new(Problem::NotMessage(index), self.cursor().at);
            self.cursor().skip_value()?;
            self.wrong.get_or_insert(error);
        }
        self.marks.push(Mark {
            end: self.elements.cursor.at,
            events: self.elements.events.len(),
            results: self.elements.results.len(),
            texts: self.elements.texts.len(),
            names: self.elements.names.len(),
        });
        Ok(())
    }

    fn finish(self) -> Result<(Scan, Leftover), Fault> {
        if let Some(error) = self.wrong {
            return Err(error.into());
        }
        let leftover = match self.earlier {
            Some((earlier, _)) => Leftover {
                first: 0,
                results: earlier.results,
                is_nothing_else: false,
            },
            None => Leftover {
                is_nothing_else: self.whole_elements == Some(self.marks.len()),
                ..self.leftover
            },
        };
        let scan = Scan {
            form: self.form,
            begins_as_body: self.has_messages,
            first_at: self.first_at,
            marks: self.marks,
            events: self.elements.events,
            results: self.elements.results,
            texts: self.elements.texts,
            names: self.elements.names,
            reused_results: self.reused_results,
        };
        Ok((scan, leftover))
    }
}
