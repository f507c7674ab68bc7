//! Request bodies and transcripts as raw bytes: one structural pass, no parse into objects.
//!
//! A [`Scan`] notes what a [`Collector`](crate::Collector) needs to be told, as spans of the body.
//! Everything that Python's `json` refuses is refused, and where nothing is wanted nothing is
//! decoded. Depth of nesting costs no recursion.

mod block;
mod collect;
mod cursor;
mod decode;
mod document;
mod element;
mod error;
mod event;
mod field;
mod members;
mod names;
mod pattern;
mod recall;
mod resume;
mod skip;
mod splice;
mod text;
mod value;

pub use collect::{Surveyed, survey};
pub use cursor::{Span, TextSpan};
pub use document::Scan;
pub use error::{JsonError, Problem};
pub use event::{CallSpan, Event, ResultSpan, TurnSpan};
pub use names::Name;
pub use recall::{Earlier, Recalled, recall};
pub use resume::Leftover;
pub use splice::{Splice, encode_text, replace_content};
pub use text::{JsonText, decode_text, decode_whole_chars, measure_spans, text_of};

#[cfg(test)]
mod tests;
