//! Whole bodies: which form they have, and where their messages stand.

use super::cursor::{Cursor, TextSpan};
use super::element::Elements;
use super::error::{Fault, JsonError, Problem};
use super::event::{Event, ResultSpan};
use super::names::Names;
use super::resume;

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
        scan_all(body).map_err(|error| error.within(body))
    }

    /// Scans a body that may go on from an earlier one. What both have in common, from their
    /// beginning on, is not looked at again; of the results of the earlier one the others are left.
    ///
    /// # Errors
    ///
    /// Those of [`of`](Self::of).
    pub fn after(self, earlier_body: &[u8], body: &[u8]) -> Result<(Self, Leftover), JsonError> {
        let Some(start) = resume::find_start(body, earlier_body, &self) else {
            let leftover = Leftover {
                first: 0,
                results: self.results,
            };
            return Ok((Self::of(body)?, leftover));
        };
        scan_on(body, self, &start).map_err(|error| error.within(body))
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

    /// The texts of a result.
    #[must_use]
    pub fn texts_of(&self, result: &ResultSpan) -> &[TextSpan] {
        let texts = self.texts.get(result.first_text..);
        let texts = texts.and_then(|texts| texts.get(..result.texts));
        texts.unwrap_or_default()
    }
}

/// Results of an earlier scan that are not part of the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    first: usize,
    results: Vec<ResultSpan>,
}

impl Leftover {
    /// Which result of the earlier scan the first one is.
    #[must_use]
    pub const fn first(&self) -> usize {
        self.first
    }

    /// The results, in order, to the last one of the earlier scan.
    #[must_use]
    pub fn results(&self) -> &[ResultSpan] {
        &self.results
    }
}

fn scan_all(body: &[u8]) -> Result<Scan, Fault> {
    if body.starts_with(BYTE_ORDER_MARK) {
        return Err(JsonError::new(Problem::ByteOrderMark, 0).into());
    }
    let mut cursor = Cursor::new(body, 0);
    cursor.skip_blanks();
    match cursor.peek() {
        b'[' => Scanner::new(cursor, Form::List).scan_list(false),
        b'{' => Scanner::new(cursor, Form::Body).scan_body(false),
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
    let mut scanner = Scanner::new(Cursor::new(body, start.at), form);
    let leftover = scanner.take_over(earlier, start.elements);
    let scan = match form {
        Form::List => scanner.scan_list(true),
        Form::Body => scanner.scan_body(true),
        Form::Records => scanner.scan_records(),
    };
    Ok((scan?, leftover))
}

struct Scanner<'a> {
    form: Form,
    elements: Elements<'a>,
    marks: Vec<Mark>,
    /// The first thing that is well-formed and yet wrong.
    wrong: Option<JsonError>,
    has_messages: bool,
    reused_results: usize,
}

impl<'a> Scanner<'a> {
    fn new(cursor: Cursor<'a>, form: Form) -> Self {
        Self {
            form,
            elements: Elements::new(cursor),
            marks: Vec::new(),
            wrong: None,
            has_messages: false,
            reused_results: 0,
        }
    }

    const fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.elements.cursor
    }

    /// Begins with the first elements of an earlier scan; gives the results of the others.
    fn take_over(&mut self, earlier: Scan, elements: usize) -> Leftover {
        let mark = elements.checked_sub(1).map(|last| earlier.marks[last]);
        let mark = mark.unwrap_or_default();
        self.has_messages = earlier.begins_as_body;
        self.reused_results = mark.results;
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
        Leftover {
            first: mark.results,
            results: found.results.split_off(mark.results),
        }
    }

    /// Reads a list; `is_inside` if the cursor stands behind one of its elements.
    fn scan_list(mut self, is_inside: bool) -> Result<Scan, Fault> {
        self.messages(is_inside)?;
        self.cursor().skip_blanks();
        if !self.cursor().is_at_end() {
            return self.cursor().error(Problem::ExtraData);
        }
        self.finish()
    }

    /// Reads an object, which is a body if it has `messages` and nothing follows it.
    fn scan_body(mut self, is_inside: bool) -> Result<Scan, Fault> {
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
        let mut records = Self::new(cursor, Form::Records);
        records.has_messages = self.has_messages;
        records.scan_records()
    }

    /// Reads objects to the end of the body.
    fn scan_records(mut self) -> Result<Scan, Fault> {
        self.cursor().skip_blanks();
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
        self.reused_results = 0;
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

    fn finish(self) -> Result<Scan, Fault> {
        match self.wrong {
            Some(error) => Err(error.into()),
            None => Ok(Scan {
                form: self.form,
                begins_as_body: self.has_messages,
                marks: self.marks,
                events: self.elements.events,
                results: self.elements.results,
                texts: self.elements.texts,
                names: self.elements.names,
                reused_results: self.reused_results,
            }),
        }
    }
}
