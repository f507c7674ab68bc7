//! The pure algorithms of toolbudget, on slices and bytes.
//!
//! The modules are named as those of `toolbudget._core.pure`, which is the reference: for every
//! input both give the same result. Everything here is total on any input and touches no file,
//! clock, environment or random source; what knows Python is in the crate `toolbudget-bindings`.
//!
//! Text comes as bytes in [WTF-8]: UTF-8 in which a lone surrogate stands as its three bytes, as
//! Python's `encode("utf-8", "surrogatepass")` writes it.
//!
//! ```
//! use toolbudget_core::{cut_preview, select_largest};
//!
//! let preview = cut_preview(b"one\ntwo\nthree", 9)?;
//! assert_eq!(preview.text, "one\ntwo");
//! assert!(preview.has_more);
//!
//! assert_eq!(select_largest(&[10, 30, 20], 60, 25.into()), [1, 2]);
//! # Ok::<(), std::collections::TryReserveError>(())
//! ```
//!
//! [WTF-8]: https://simonsapin.github.io/wtf-8/

mod calls;
mod chains;
mod choose;
mod collect;
mod columns;
mod decision;
mod fingerprint;
mod group;
mod hash;
mod head_tail;
mod ids;
pub mod json;
mod json_style;
mod kept_json;
mod kind;
mod largest;
mod limit;
mod ordered;
mod outline;
mod plan;
mod preview;
mod replacement;
mod salient;
mod select;
mod shown;
mod size;
mod size_text;
mod source;
mod table;
mod text;
mod tokens;
mod unit;

pub use calls::{Call, is_code_caller};
pub use choose::{
    Accounting, Budget, Built, Choosable, Chosen, ReplacementSize, ReplacementSizes, Totals, choose,
};
pub use collect::{Candidate, Collector, Found, Group, Members, SkipReason, Skipped, Survey};
pub use columns::{Before, ColumnCollector, Columns, Numbers, Standing};
pub use decision::{Decision, Key, Recorded, Rule};
pub use fingerprint::{Fingerprint, Fingerprinter, TextHash};
pub use group::Chain;
pub use hash::{KeyHasher, KeyState};
pub use head_tail::head_tail_preview;
pub use json_style::json_preview;
pub use kept_json::KeptJson;
pub use limit::Limit;
pub use ordered::OrderedTable;
pub use outline::{Drawer, Outline};
pub use plan::{Choice, Knowledge, Options, Plan, plan};
pub use preview::{Preview, cut_preview, preview_window_chars};
pub use replacement::{
    Draft, Frame, Original, Outlook, PreviewSize, REFERENCE_MAX_CHARS, Replacement,
    is_framed_reference,
};
pub use salient::salient_preview;
pub use select::select_largest;
pub use shown::{Shown, ShownStyle, Style, show_preview};
pub use size::{count_chars, pieces};
pub use size_text::format_size;
pub use source::Source;
pub use table::table_preview;
pub use text::Text;
pub use tokens::TokenEstimator;
pub use unit::{Measure, Unit};
