//! The preview style `json`: what a JSON text is made of, with parts of it as examples.
//!
//! The text is read forward, value by value (`reader`), and written with less of everything
//! (`preview`): of a list the first and the last items, of an object the first keys, of a string
//! its beginning, and deep values as counts. How much of each is tried from plenty to little until
//! the page fits. Items in the middle are skipped, the last ones are read again from where they
//! begin, so memory does not grow with the text and time is linear in it.

mod literal;
mod preview;
mod reader;

pub use preview::json_preview;
