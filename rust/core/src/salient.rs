//! The preview style `salient`: the lines of a log that say what went wrong.
//!
//! One pass scores every line (`scan` > `severity` > `role`), findings are put into an order
//! (`rank`), and a page is filled with them and the lines around them (`preview` > `page`,
//! `around`). Nothing but the text and the limit takes part; time is linear in the text, and
//! memory beyond the text is bounded.

mod around;
mod clean;
mod interest;
mod lines;
mod page;
mod patterns;
mod preview;
mod rank;
mod role;
mod scan;
mod severity;

pub(crate) use patterns::compile;
pub use preview::salient_preview;
