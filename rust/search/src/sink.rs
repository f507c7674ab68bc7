//! What is kept of what was found.

use std::io;
use std::path::PathBuf;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::Request;
use crate::excerpt::excerpt;

/// One line that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The file it is in.
    pub path: PathBuf,
    /// Its number, from 1.
    pub number: u64,
    /// Whether it matches; else it stands near one that does.
    pub is_match: bool,
    /// The line without its end, cut if it is long.
    pub text: String,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// The lines that are told.
    pub lines: Vec<Line>,
    /// How many lines match, told or not.
    pub matches: usize,
    /// In how many files.
    pub files: usize,
    /// How many files or folders could not be read.
    pub unreadable: usize,
    /// Whether the path itself is a file that was left out because it is binary.
    pub is_binary: bool,
    /// Whether the search ended before everything was searched.
    pub is_partial: bool,
}

/// Gathers what the files of one request hold.
pub(crate) struct Collector<'a> {
    pub(crate) found: Found,
    request: &'a Request<'a>,
    path: PathBuf,
    /// How many lines and matches there were before this file.
    before: (usize, usize),
    is_binary: bool,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(request: &'a Request<'a>) -> Self {
        Self {
            found: Found::default(),
            request,
            path: PathBuf::new(),
            before: (0, 0),
            is_binary: false,
        }
    }

    pub(crate) fn begin(&mut self, path: PathBuf) {
        self.path = path;
        self.before = (self.found.lines.len(), self.found.matches);
        self.is_binary = false;
    }

    pub(crate) fn end(&mut self, is_read: bool) {
        let (lines, matches) = self.before;
        // What precedes the first NUL of a binary file is no more text than the rest.
        if self.is_binary {
            self.found.lines.truncate(lines);
            self.found.matches = matches;
            self.found.is_binary = self.path == crate::shown(self.request.path);
        }
        self.found.files += usize::from(self.found.matches > matches);
        self.found.unreadable += usize::from(!is_read);
    }

    /// Whether enough has been counted.
    pub(crate) fn is_full(&mut self) -> bool {
        self.found.is_partial = self.found.matches >= self.request.max_counted;
        self.found.is_partial
    }

    pub(crate) fn sink<'b>(&'b mut self, matcher: &'b RegexMatcher) -> FileSink<'a, 'b> {
        FileSink {
            collector: self,
            matcher,
        }
    }

    fn tell(&mut self, number: Option<u64>, is_match: bool, line: &[u8], position: usize) {
        self.found.lines.push(Line {
            path: self.path.clone(),
            number: number.unwrap_or_default(),
            is_match,
            text: excerpt(line, position, self.request.max_line_chars),
        });
    }
}

/// Takes what one file holds.
pub(crate) struct FileSink<'a, 'b> {
    collector: &'b mut Collector<'a>,
    matcher: &'b RegexMatcher,
}

impl Sink for FileSink<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let collector = &mut *self.collector;
        collector.found.matches += 1;
        if collector.found.matches <= collector.request.max_matches {
            let line = matched.bytes();
            let position = match self.matcher.find(line) {
                Ok(Some(place)) => place.start(),
                Ok(None) | Err(_) => 0,
            };
            collector.tell(matched.line_number(), true, line, position);
        }
        Ok(collector.found.matches < collector.request.max_counted)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let collector = &mut *self.collector;
        // What stands before a match that is not told is not told either.
        let is_after = matches!(context.kind(), grep_searcher::SinkContextKind::After);
        let room = collector.request.max_matches + usize::from(is_after);
        if collector.found.matches < room {
            collector.tell(context.line_number(), false, context.bytes(), 0);
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.collector.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
