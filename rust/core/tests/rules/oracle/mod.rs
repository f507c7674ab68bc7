//! The rules once more: slow, short, and sharing nothing with the code under test.

pub(crate) mod json;
pub(crate) mod plan;
pub(crate) mod preview;
pub(crate) mod select;
