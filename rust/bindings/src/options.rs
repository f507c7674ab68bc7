//! The options of a plan.

use std::cell::{Ref, RefCell};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use toolbudget_core::{
    Accounting, Budget, Options, Outlook, PreviewSize, Rule, Style, Unit, preview_window_chars,
};

use crate::classes::Classes;
use crate::number;
use crate::paths::{IS_NO_JSON, extension};
use crate::raw;
use crate::styles;
use crate::text::{OwnWtf8, Wtf8};

/// `PlanOptions` as the core takes them, and the callbacks.
pub(crate) struct PlanOptions<'py> {
    pub(crate) core: Options,
    pub(crate) is_exempt_tool: Bound<'py, PyAny>,
    pub(crate) callbacks: Callbacks<'py>,
}

/// What replacements are made with.
pub(crate) struct Callbacks<'py> {
    pub(crate) preview_bytes: i128,
    pub(crate) reader_hint: Option<Wtf8<'py>>,
    pub(crate) expected_path: Bound<'py, PyAny>,
    /// What the paths begin with that it gives for ids which are file names.
    pub(crate) path_prefix: Option<Wtf8<'py>>,
    pub(crate) is_stored_as_json: Bound<'py, PyAny>,
    pub(crate) redact: Option<Bound<'py, PyAny>>,
    pub(crate) style: Style,
    /// Shows the outline of source code.
    pub(crate) outline: Option<Bound<'py, PyAny>>,
    /// That of the replacement which was asked for last: the next one is for the same as a rule.
    preview_size: RefCell<PreviewSize>,
}

impl Callbacks<'_> {
    /// What is known of every text that is shown: if it is not another one, that it begins so.
    pub(crate) fn outlook_of_all(&self) -> Outlook {
        if self.style == Style::Head && self.redact.is_none() {
            Outlook::Beginning
        } else {
            Outlook::Unknown
        }
    }

    /// Characters around an id in the path of a plain text that is named after it; `None` if a
    /// replacement says more about it than its path and its size, or the path is no plain text.
    pub(crate) fn around_id_chars(&self) -> Option<u64> {
        let (Some(Wtf8::Ascii(prefix)), None) = (&self.path_prefix, &self.reader_hint) else {
            return None;
        };
        let prefix = raw::known_ascii(prefix)?;
        Some((prefix.len() + extension(IS_NO_JSON).len()) as u64)
    }

    /// Previews of at most so many bytes. No Python code may run while it is borrowed.
    #[inline]
    pub(crate) fn preview_size(&self, preview_bytes: i128) -> Ref<'_, PreviewSize> {
        let is_last = self.preview_size.borrow().bytes() == preview_bytes;
        if !is_last {
            *self.preview_size.borrow_mut() = PreviewSize::of(preview_bytes);
        }
        self.preview_size.borrow()
    }
}

/// Options that were read, for later calls with the very same object: it is frozen.
pub(crate) struct ReadOptions {
    given: Py<PyAny>,
    core: Options,
    style: Style,
    is_exempt_tool: Py<PyAny>,
    expected_path: Py<PyAny>,
    path_prefix: Option<OwnWtf8>,
    is_stored_as_json: Py<PyAny>,
}

impl ReadOptions {
    /// Keeps options, unless they are of another class or have what is seldom given.
    pub(crate) fn of(given: &Bound<'_, PyAny>, read: &PlanOptions<'_>) -> PyResult<Option<Self>> {
        let callbacks = &read.callbacks;
        let is_usual = callbacks.reader_hint.is_none()
            && callbacks.redact.is_none()
            && callbacks.outline.is_none()
            && given.get_type().is(&Classes::get(given.py())?.plan_options);
        Ok(is_usual.then(|| Self {
            given: given.clone().unbind(),
            core: read.core,
            style: callbacks.style,
            is_exempt_tool: read.is_exempt_tool.clone().unbind(),
            expected_path: callbacks.expected_path.clone().unbind(),
            path_prefix: callbacks.path_prefix.as_ref().map(OwnWtf8::of),
            is_stored_as_json: callbacks.is_stored_as_json.clone().unbind(),
        }))
    }

    pub(crate) fn is_of(&self, given: &Bound<'_, PyAny>) -> bool {
        self.given.is(given)
    }

    pub(crate) fn to_options<'py>(&self, py: Python<'py>) -> PlanOptions<'py> {
        PlanOptions {
            core: self.core,
            is_exempt_tool: self.is_exempt_tool.bind(py).clone(),
            callbacks: Callbacks {
                preview_bytes: self.core.budget.preview_bytes,
                reader_hint: None,
                expected_path: self.expected_path.bind(py).clone(),
                path_prefix: self.path_prefix.as_ref().map(|prefix| prefix.bind(py)),
                is_stored_as_json: self.is_stored_as_json.bind(py).clone(),
                redact: None,
                style: self.style,
                outline: None,
                preview_size: RefCell::new(PreviewSize::of(0)),
            },
        }
    }

    /// What it refers to, for the collector of cycles.
    pub(crate) fn objects(&self) -> [&Py<PyAny>; 4] {
        [
            &self.given,
            &self.is_exempt_tool,
            &self.expected_path,
            &self.is_stored_as_json,
        ]
    }
}

impl<'py> PlanOptions<'py> {
    pub(crate) fn read(options: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = options.py();
        let preview_bytes = options.getattr(intern!(py, "preview_bytes"))?;
        let callbacks = Callbacks {
            preview_bytes: number::saturating_i128(&preview_bytes)?,
            reader_hint: optional(options.getattr(intern!(py, "reader_hint"))?)
                .map(|hint| read_text(&hint))
                .transpose()?,
            expected_path: options.getattr(intern!(py, "expected_path"))?,
            path_prefix: optional(options.getattr(intern!(py, "path_prefix"))?)
                .map(|prefix| read_text(&prefix))
                .transpose()?,
            is_stored_as_json: options.getattr(intern!(py, "is_stored_as_json"))?,
            redact: optional(options.getattr(intern!(py, "redact"))?),
            style: styles::read_style(&options.getattr(intern!(py, "preview_style"))?)?,
            outline: optional(options.getattr(intern!(py, "outline"))?),
            preview_size: RefCell::new(PreviewSize::of(0)),
        };
        Ok(Self {
            core: Options {
                budget: Budget {
                    limit: number::limit(&options.getattr(intern!(py, "limit"))?)?,
                    preview_bytes: callbacks.preview_bytes,
                    accounting: read_accounting(&options.getattr(intern!(py, "accounting"))?)?,
                    unit: read_unit(&options.getattr(intern!(py, "unit"))?)?,
                },
                rule: read_rule(&options.getattr(intern!(py, "rule"))?)?,
                leaves_fresh: options.getattr(intern!(py, "leaves_fresh"))?.is_truthy()?,
            },
            is_exempt_tool: options.getattr(intern!(py, "is_exempt_tool"))?,
            callbacks,
        })
    }
}

/// A text of the host's in WTF-8, as the line about its own reader is. What is no text is refused.
pub(crate) fn read_text<'py>(text: &Bound<'py, PyAny>) -> PyResult<Wtf8<'py>> {
    Wtf8::of(text.cast::<PyString>()?)
}

/// How many characters of a text previews of at most `preview_bytes` are cut from.
pub(crate) fn window_chars(preview_bytes: i128) -> usize {
    match usize::try_from(preview_bytes) {
        Ok(max_bytes) => preview_window_chars(max_bytes),
        Err(_) if preview_bytes < 0 => 0,
        Err(_) => usize::MAX,
    }
}

fn optional(value: Bound<'_, PyAny>) -> Option<Bound<'_, PyAny>> {
    (!value.is_none()).then_some(value)
}

pub(crate) fn read_accounting(accounting: &Bound<'_, PyAny>) -> PyResult<Accounting> {
    let visible = intern!(accounting.py(), "visible");
    Ok(if accounting.is(visible) || accounting.eq(visible)? {
        Accounting::Visible
    } else {
        Accounting::Originals
    })
}

pub(crate) fn read_unit(unit: &Bound<'_, PyAny>) -> PyResult<Unit> {
    let py = unit.py();
    // The usual one is that of the class itself: nothing need be compared.
    Ok(if unit.is(intern!(py, "chars")) {
        Unit::Chars
    } else if unit.eq(intern!(py, "tokens"))? {
        Unit::Tokens
    } else if unit.eq(intern!(py, "bytes"))? {
        Unit::Bytes
    } else {
        Unit::Chars
    })
}

fn read_rule(rule: &Bound<'_, PyAny>) -> PyResult<Rule> {
    let py = rule.py();
    // The usual one is that of the class itself: nothing need be compared.
    Ok(if rule.is(intern!(py, "running")) {
        Rule::Running
    } else if rule.eq(intern!(py, "seen"))? {
        Rule::Seen
    } else if rule.eq(intern!(py, "resumed"))? {
        Rule::Resumed
    } else {
        Rule::Running
    })
}
