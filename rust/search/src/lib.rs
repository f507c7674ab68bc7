//! Searching files.
