//! Searching files for a pattern, on the crates that `ripgrep` is made of.
//!
//! What is searched is what `rg` searches: no hidden or ignored files, no binary ones, in the order
//! of their paths. Memory is bounded whatever is found, and by [`HEAP_BYTES`] for one line.

mod excerpt;
mod sink;
mod walk;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use sink::{Found, Line};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use regex_syntax::hir::{Hir, HirKind};

use sink::Collector;

/// The longest line that is searched; a file with a longer one counts as unreadable.
pub const HEAP_BYTES: usize = 256 << 20;

/// What a pattern may become when it is compiled.
const PATTERN_BYTES: usize = 16 << 20;

/// The most characters that a pattern may stand for, its repetitions written out: each of them can
/// be a step for every character of a text, and nothing stops a search within a line.
const PATTERN_CHARS: usize = 5_000;

/// What to search for, and how much of it to tell.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// A regular expression in the syntax of the `regex` crate.
    pub pattern: &'a str,
    /// A file, or a folder with all that is below it.
    pub path: &'a Path,
    /// A glob that files must match, as `rg --glob` takes it.
    pub include: Option<&'a str>,
    /// The most matching lines that are told.
    pub max_matches: usize,
    /// The number of matching lines at which the search ends.
    pub max_counted: usize,
    /// The most characters of a line that are told.
    pub max_line_chars: usize,
    /// How many lines before and after a match are told.
    pub context_lines: usize,
    /// Whether it is text in UTF-8 whatever it holds: NUL does not make it binary, nor a mark other.
    pub is_text: bool,
}

/// Why nothing was searched.
#[derive(Debug)]
pub enum Problem {
    /// The pattern is no regular expression; where, if that is known, in characters from 0.
    Pattern(Option<usize>, String),
    /// The glob is none.
    Glob(String),
    /// The path cannot be searched.
    Path(io::Error),
    /// The caller wants no more.
    Stopped,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(Some(position), why) => {
                write!(formatter, "invalid pattern at character {position}, {why}")
            }
            Self::Pattern(None, why) => write!(formatter, "invalid pattern, {why}"),
            Self::Glob(why) => write!(formatter, "invalid include_pattern, {why}"),
            Self::Path(error) => error.fmt(formatter),
            Self::Stopped => formatter.write_str("stopped"),
        }
    }
}

/// Searches, and asks now and then whether to go on.
///
/// # Errors
///
/// What was asked for cannot be searched, or is not to be any more.
pub fn search(
    request: &Request<'_>,
    should_go_on: &mut dyn FnMut() -> bool,
) -> Result<Found, Problem> {
    let matcher = matcher_of(request.pattern)?;
    let mut searcher = searcher_of(request);
    let mut collector = Collector::new(request);
    for entry in walk::files(request)? {
        if !should_go_on() {
            return Err(Problem::Stopped);
        }
        let Ok(path) = entry else {
            collector.found.unreadable += 1;
            continue;
        };
        collector.begin(shown(&path));
        let result = searcher.search_path(&matcher, &path, collector.sink(&matcher));
        collector.end(result.is_ok());
        if collector.is_full() {
            break;
        }
    }
    Ok(collector.found)
}

/// Searches one text, whatever it is, as [`search`] does a file; its lines have no path.
///
/// # Errors
///
/// The pattern is no regular expression, or the text cannot be read to its end.
pub fn search_reader(request: &Request<'_>, reader: impl io::Read) -> Result<Found, Problem> {
    let matcher = matcher_of(request.pattern)?;
    let mut searcher = searcher_of(request);
    let mut collector = Collector::new(request);
    collector.begin(PathBuf::new());
    searcher
        .search_reader(&matcher, reader, collector.sink(&matcher))
        .map_err(Problem::Path)?;
    collector.end(true);
    collector.is_full();
    Ok(collector.found)
}

fn matcher_of(pattern: &str) -> Result<RegexMatcher, Problem> {
    let parsed = regex_syntax::parse(pattern).map_err(|error| problem_of(pattern, &error))?;
    let matcher = RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build(pattern)
        .map_err(|error| Problem::Pattern(None, one_line(&error.to_string())))?;
    let chars = written_out_chars(&parsed);
    if chars > PATTERN_CHARS {
        let why = format!("with its repetitions it is longer than {PATTERN_CHARS} characters");
        return Err(Problem::Pattern(None, why));
    }
    Ok(matcher)
}

/// Counts the characters of a pattern as if no repetition had a number.
fn written_out_chars(pattern: &Hir) -> usize {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal
            .0
            .iter()
            .filter(|byte| **byte & 0xC0 != 0x80)
            .count(),
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            times.saturating_mul(written_out_chars(&repetition.sub).max(1))
        }
        HirKind::Capture(capture) => written_out_chars(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .map(written_out_chars)
            .fold(0, usize::saturating_add),
    }
}

fn problem_of(pattern: &str, error: &regex_syntax::Error) -> Problem {
    let (offset, why) = match error {
        regex_syntax::Error::Parse(error) => (error.span().start.offset, error.kind().to_string()),
        regex_syntax::Error::Translate(error) => {
            (error.span().start.offset, error.kind().to_string())
        }
        other => return Problem::Pattern(None, one_line(&other.to_string())),
    };
    let position = pattern
        .get(..offset)
        .map_or(offset, |before| before.chars().count());
    Problem::Pattern(Some(position), one_line(&why))
}

fn searcher_of(request: &Request<'_>) -> Searcher {
    let binary = if request.is_text {
        BinaryDetection::none()
    } else {
        BinaryDetection::quit(0)
    };
    SearcherBuilder::new()
        .binary_detection(binary)
        .bom_sniffing(!request.is_text)
        .heap_limit(Some(HEAP_BYTES))
        .before_context(request.context_lines)
        .after_context(request.context_lines)
        .build()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shown(path: &Path) -> PathBuf {
    path.strip_prefix("./").unwrap_or(path).to_path_buf()
}
