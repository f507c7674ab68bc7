//! Searching files, without the interpreter's lock.

use std::io;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use toolbudget_search::{Found, Problem, Request, search, search_reader};

use crate::guard::guarded;

/// After how many files the interpreter is asked whether the user has interrupted.
const ASK_EVERY_FILES: usize = 256;

type FoundLine = (PathBuf, u64, bool, String);
type Told = (Vec<FoundLine>, usize, usize, usize, bool, bool);

/// Searches a file or folder; see `_native.pyi`.
#[pyfunction]
#[pyo3(
    name = "_search_files",
    signature = (
        pattern, path, *, include, max_matches, max_counted, max_line_chars, context_lines, is_text
    )
)]
#[expect(
    clippy::too_many_arguments,
    reason = "each is one of Python's keywords"
)]
pub(crate) fn search_files(
    py: Python<'_>,
    pattern: &str,
    path: &Bound<'_, PyString>,
    include: Option<&str>,
    max_matches: usize,
    max_counted: usize,
    max_line_chars: usize,
    context_lines: usize,
    is_text: bool,
) -> PyResult<Told> {
    let path: PathBuf = path.extract()?;
    let request = Request {
        pattern,
        path: &path,
        include,
        max_matches,
        max_counted,
        max_line_chars,
        context_lines,
        is_text,
    };
    guarded(py, || run(py, &request))
}

/// Searches a text that Python reads; see `_native.pyi`.
#[pyfunction]
#[pyo3(
    name = "_search_text",
    signature = (pattern, read, *, max_matches, max_counted, max_line_chars, context_lines)
)]
pub(crate) fn search_text(
    py: Python<'_>,
    pattern: &str,
    read: &Bound<'_, PyAny>,
    max_matches: usize,
    max_counted: usize,
    max_line_chars: usize,
    context_lines: usize,
) -> PyResult<Told> {
    let request = Request {
        pattern,
        path: Path::new(""),
        include: None,
        max_matches,
        max_counted,
        max_line_chars,
        context_lines,
        is_text: true,
    };
    let read = read.clone().unbind();
    guarded(py, || {
        let mut failure = None;
        let reader = PythonReader {
            read,
            position: 0,
            failure: &mut failure,
        };
        let found = py.detach(|| search_reader(&request, reader));
        failure.map_or_else(|| told(found), Err)
    })
}

fn run(py: Python<'_>, request: &Request<'_>) -> PyResult<Told> {
    let mut interrupt = None;
    let mut files = 0_usize;
    let found = py.detach(|| {
        search(request, &mut || {
            files += 1;
            if files.is_multiple_of(ASK_EVERY_FILES) {
                interrupt = interruption();
            }
            interrupt.is_none()
        })
    });
    interrupt.map_or_else(|| told(found), Err)
}

fn told(found: Result<Found, Problem>) -> PyResult<Told> {
    match found {
        Ok(found) => Ok((
            found
                .lines
                .into_iter()
                .map(|line| (line.path, line.number, line.is_match, line.text))
                .collect(),
            found.matches,
            found.files,
            found.unreadable,
            found.is_partial,
            found.is_binary,
        )),
        Err(Problem::Path(error)) => Err(PyOSError::new_err(error.to_string())),
        Err(problem) => Err(PyValueError::new_err(problem.to_string())),
    }
}

/// Reads what a function of Python gives for a position and a number of bytes.
struct PythonReader<'a> {
    read: Py<PyAny>,
    position: u64,
    failure: &'a mut Option<PyErr>,
}

impl io::Read for PythonReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = Python::attach(|py| {
            let given = self.read.call1(py, (self.position, buffer.len()))?;
            let bytes = given.bind(py).cast::<PyBytes>()?.as_bytes();
            let taken = bytes.len().min(buffer.len());
            buffer[..taken].copy_from_slice(&bytes[..taken]);
            Ok(taken)
        });
        let taken = taken.map_err(|failure| {
            *self.failure = Some(failure);
            io::Error::other("cannot read")
        })?;
        self.position += taken as u64;
        Ok(taken)
    }
}

/// What the user's interrupt is to Python, if there was one.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is of one lifetime"
)]
fn interruption() -> Option<PyErr> {
    Python::attach(|py| py.check_signals()).err()
}
