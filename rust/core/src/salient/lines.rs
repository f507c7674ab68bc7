//! The lines of a text, read in chunks, so that memory does not grow with the text.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use crate::size::count_chars;
use crate::source::Source;

/// Lines are looked up by chunks too, so these are small.
const CHUNK_CHARS: usize = 1 << 14;
/// Of a longer line only the beginning and the end are looked at.
const LONG_LINE_CHARS: usize = 4_096;
const END_CHARS: usize = LONG_LINE_CHARS / 2;
const CUT_MARK: &[u8] = " … ".as_bytes();
const UNREADABLE: &[u8] = "\u{fffd}".as_bytes();
const SURROGATE_BYTES: usize = 3;

/// Lines of a text as UTF-8, counted from 0; only a line feed ends a line.
///
/// The last line need not end with a break. Of a line of more than 4,096 characters, half of that
/// is given from its beginning and half from its end.
pub(super) struct Lines<'s, S: Source + ?Sized> {
    source: &'s S,
    /// Without a line break at the end.
    end_chars: usize,
    size_bytes: usize,
    line_count: usize,
    chunks: Vec<ChunkStart>,
    last_chunk: Option<(usize, Chunk<S::Bytes<'s>>)>,
    starts: Vec<usize>,
    long_line: Vec<u8>,
}

#[derive(Clone, Copy)]
struct ChunkStart {
    chars: usize,
    line: usize,
}

/// Whole lines.
enum Chunk<B> {
    Read(B, usize),
    Made(Vec<u8>),
}

/// A chunk that is read for the first time.
struct NextChunk<B> {
    chunk: Chunk<B>,
    end_chars: usize,
    /// Bytes of its text, with all of a long line, without the line break behind it.
    size_bytes: usize,
}

impl<B: AsRef<[u8]>> Chunk<B> {
    /// The first bytes of a part, with what no UTF-8 can hold replaced.
    fn of(bytes: B, length_bytes: usize) -> Self {
        let shown = &bytes.as_ref()[..length_bytes];
        if !shown.is_ascii() && memchr_iter(0xed, shown).any(|at| is_surrogate(&shown[at..])) {
            return Self::Made(readable(shown));
        }
        Self::Read(bytes, length_bytes)
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes, length_bytes) => &bytes.as_ref()[..*length_bytes],
            Self::Made(bytes) => bytes,
        }
    }
}

impl<'s, S: Source + ?Sized> Lines<'s, S> {
    /// Reads a text from beginning to end, and shows every line once.
    pub(super) fn of(source: &'s S, mut see: impl FnMut(usize, &[u8])) -> Result<Self, S::Error> {
        let length_chars = source.length_chars();
        let ends_with_break =
            length_chars > 0 && source.read(length_chars - 1..length_chars)?.as_ref() == b"\n";
        let mut lines = Self {
            source,
            end_chars: length_chars - usize::from(ends_with_break),
            size_bytes: usize::from(ends_with_break),
            line_count: 0,
            chunks: Vec::new(),
            last_chunk: None,
            starts: Vec::new(),
            long_line: Vec::new(),
        };
        let mut start = 0;
        loop {
            let line = lines.line_count;
            lines.chunks.push(ChunkStart { chars: start, line });
            let next = lines.next_chunk(start)?;
            lines.see_chunk(next.chunk.as_bytes(), &mut see);
            lines.size_bytes += next.size_bytes;
            if next.end_chars >= lines.end_chars {
                return Ok(lines);
            }
            lines.size_bytes += 1;
            start = next.end_chars + 1;
        }
    }

    pub(super) const fn count(&self) -> usize {
        self.line_count
    }

    /// Bytes of the whole text.
    pub(super) const fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Gives one line.
    pub(super) fn get(&mut self, number: usize) -> Result<&[u8], S::Error> {
        let index = self.chunks.partition_point(|chunk| chunk.line <= number) - 1;
        if self.last_chunk.as_ref().map(|(at, _)| *at) != Some(index) {
            self.load(index)?;
        }
        let Some((_, chunk)) = &self.last_chunk else {
            return Ok(b"");
        };
        let bytes = chunk.as_bytes();
        let row = number - self.chunks[index].line;
        let start = self.starts[row];
        let end = self
            .starts
            .get(row + 1)
            .map_or(bytes.len(), |next| next - 1);
        Ok(shortened(&bytes[start..end], &mut self.long_line))
    }

    fn load(&mut self, index: usize) -> Result<(), S::Error> {
        let start = self.chunks[index].chars;
        let next = self.chunks.get(index + 1);
        let end = next.map_or(self.end_chars, |next| next.chars - 1);
        let chunk = if end - start > CHUNK_CHARS {
            Chunk::Made(self.window(start..end)?)
        } else {
            let bytes = self.source.read(start..end)?;
            let length_bytes = bytes.as_ref().len();
            Chunk::of(bytes, length_bytes)
        };
        self.starts.clear();
        self.starts.push(0);
        self.starts
            .extend(memchr_iter(b'\n', chunk.as_bytes()).map(|at| at + 1));
        self.last_chunk = Some((index, chunk));
        Ok(())
    }

    fn see_chunk(&mut self, chunk: &[u8], see: &mut impl FnMut(usize, &[u8])) {
        let mut start = 0;
        for end in memchr_iter(b'\n', chunk).chain([chunk.len()]) {
            see(
                self.line_count,
                shortened(&chunk[start..end], &mut self.long_line),
            );
            self.line_count += 1;
            start = end + 1;
        }
    }

    /// Reads the chunk that begins at `start`.
    fn next_chunk(&self, start: usize) -> Result<NextChunk<S::Bytes<'s>>, S::Error> {
        let stop = self.end_chars.min(start + CHUNK_CHARS);
        let bytes = self.source.read(start..stop)?;
        let read = bytes.as_ref();
        let length_bytes = match memrchr(b'\n', read) {
            _ if stop == self.end_chars => read.len(),
            Some(end) => end,
            None => {
                let (end_chars, more_bytes) = self.long_line_end(stop)?;
                return Ok(NextChunk {
                    chunk: Chunk::Made(self.window(start..end_chars)?),
                    end_chars,
                    size_bytes: read.len() + more_bytes,
                });
            }
        };
        let chars = count_chars(&read[..length_bytes]);
        Ok(NextChunk {
            chunk: Chunk::of(bytes, length_bytes),
            end_chars: start + usize::try_from(chars).unwrap_or(usize::MAX),
            size_bytes: length_bytes,
        })
    }

    /// Finds where a line ends that goes on at `start`, and how many bytes lie between.
    fn long_line_end(&self, start: usize) -> Result<(usize, usize), S::Error> {
        let (mut at, mut size_bytes) = (start, 0);
        while at < self.end_chars {
            let stop = self.end_chars.min(at + CHUNK_CHARS);
            let bytes = self.source.read(at..stop)?;
            let bytes = bytes.as_ref();
            if let Some(end) = memchr(b'\n', bytes) {
                let chars = count_chars(&bytes[..end]);
                at += usize::try_from(chars).unwrap_or(usize::MAX);
                return Ok((at, size_bytes + end));
            }
            size_bytes += bytes.len();
            at = stop;
        }
        Ok((at, size_bytes))
    }

    /// The beginning and the end of a line that is longer than a chunk.
    fn window(&self, line: Range<usize>) -> Result<Vec<u8>, S::Error> {
        let first = self.source.read(line.start..line.start + END_CHARS)?;
        let last = self.source.read(line.end - END_CHARS..line.end)?;
        let shown = [first.as_ref(), CUT_MARK, last.as_ref()].concat();
        Ok(readable(&shown))
    }
}

/// Gives a line, or its beginning and end if it is long.
fn shortened<'a>(line: &'a [u8], long_line: &'a mut Vec<u8>) -> &'a [u8] {
    // A window is such a line as well; done again, it gives the same.
    if line.len() <= LONG_LINE_CHARS || count_chars(line) <= LONG_LINE_CHARS as u64 {
        return line;
    }
    let start = place_of(line, END_CHARS);
    let end = line.len() - last_bytes(line, END_CHARS);
    long_line.clear();
    long_line.extend_from_slice(&line[..start]);
    long_line.extend_from_slice(CUT_MARK);
    long_line.extend_from_slice(&line[end..]);
    long_line
}

/// The byte at which the character of this number begins.
fn place_of(line: &[u8], number: usize) -> usize {
    let mut starts = char_starts(line);
    starts.nth(number).unwrap_or(line.len())
}

/// The bytes that the last characters take.
fn last_bytes(line: &[u8], chars: usize) -> usize {
    let mut starts = char_starts(line).rev();
    line.len() - starts.nth(chars - 1).unwrap_or_default()
}

fn char_starts(line: &[u8]) -> impl DoubleEndedIterator<Item = usize> {
    let bytes = line.iter().enumerate();
    bytes.filter_map(|(at, &byte)| (!crate::size::is_continuation(byte)).then_some(at))
}

fn is_surrogate(text: &[u8]) -> bool {
    matches!(text, [0xed, 0xa0..=0xbf, _, ..])
}

/// Replaces lone surrogates.
fn readable(text: &[u8]) -> Vec<u8> {
    let mut readable = text.to_vec();
    for at in memchr_iter(0xed, text).filter(|&at| is_surrogate(&text[at..])) {
        readable[at..at + SURROGATE_BYTES].copy_from_slice(UNREADABLE);
    }
    readable
}

#[cfg(test)]
mod tests {
    use std::collections::TryReserveError;

    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Result<(Vec<String>, Vec<String>, usize), TryReserveError> {
        let show = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        let mut seen = Vec::new();
        let mut lines = Lines::of(text, |number, line| {
            assert_eq!(number, seen.len());
            seen.push(show(line));
        })?;
        let numbers = (0..lines.count()).rev();
        let mut got: Vec<_> = numbers
            .map(|number| lines.get(number).map(show))
            .collect::<Result<_, _>>()?;
        got.reverse();
        Ok((seen, got, lines.size_bytes()))
    }

    fn expected(text: &str) -> Vec<String> {
        let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        lines
            .map(|line| {
                let chars: Vec<char> = line.chars().collect();
                if chars.len() <= LONG_LINE_CHARS {
                    return line.to_owned();
                }
                let first: String = chars[..END_CHARS].iter().collect();
                let last: String = chars[chars.len() - END_CHARS..].iter().collect();
                format!("{first} … {last}")
            })
            .collect()
    }

    #[test]
    fn an_empty_text_is_one_line() -> Result<(), TryReserveError> {
        for text in ["", "\n"] {
            assert_eq!(all(text)?.0, [""]);
        }
        assert_eq!(all("\n\n")?.0, ["", ""]);
        Ok(())
    }

    #[test]
    fn a_surrogate_is_replaced() {
        assert_eq!(
            readable(b"a\xed\xa0\x80\xed\x9f\xbf"),
            "a\u{fffd}\u{d7ff}".as_bytes()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Seen in order or asked for from the end, the lines are those of the text.
        #[test]
        fn lines_are_those_of_the_text(
            parts in prop::collection::vec(("[aé日😀]{0,3}", 0_usize..12_000, "\n{0,3}"), 0..6),
        ) {
            let text: String = parts
                .iter()
                .map(|(letters, count, breaks)| letters.repeat(*count) + breaks)
                .collect();
            let (seen, got, size_bytes) = all(&text)?;
            prop_assert_eq!(&seen, &expected(&text));
            prop_assert_eq!(&got, &seen);
            prop_assert_eq!(size_bytes, text.len());
        }
    }
}
