//! Tests of the crate as a whole: the rules once more, and the cases that Rust and Python share.

#[cfg(test)]
mod json;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod preview;
#[cfg(test)]
mod select;
#[cfg(test)]
mod vectors;
