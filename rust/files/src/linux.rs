//! The calls of Linux.

use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, linkat, openat};
use rustix::io::{Errno, Result, pread, write};
use toolbudget_core::TextHash;

use crate::Outcome;

/// Only the owner reads and writes.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A planted FIFO is not waited for, and no link is followed.
const TO_LOOK: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// How much of a file is compared at once: what stays in the processor's cache.
const COMPARED_BYTES: usize = 32 << 10;

pub(crate) fn place(
    directory: RawFd,
    texts: &[(&str, &[u8])],
    mut expects_free: bool,
) -> Vec<Outcome> {
    #[expect(
        unsafe_code,
        reason = "a number of Python's; the caller keeps it open until this returns"
    )]
    // SAFETY: see `reason`; a number that is not open only makes the calls fail.
    let directory = unsafe { BorrowedFd::borrow_raw(directory) };
    let mut buffer = Vec::new();
    let place_one = |&(name, text): &(&str, &[u8])| {
        let outcome = if expects_free {
            write_new(directory, name, text)
        } else {
            find_or_write(directory, name, text, &mut buffer)
        };
        let outcome = outcome.unwrap_or(Outcome::Left);
        expects_free = matches!(outcome, Outcome::Written(_));
        outcome
    };
    texts.iter().map(place_one).collect()
}

fn find_or_write(
    directory: BorrowedFd<'_>,
    name: &str,
    text: &[u8],
    buffer: &mut Vec<u8>,
) -> Result<Outcome> {
    match openat(directory, name, OFlags::RDONLY | TO_LOOK, Mode::empty()) {
        Ok(file) if holds(&file, text, buffer)? => Ok(Outcome::Found(TextHash::of(text))),
        Ok(_) => Ok(Outcome::Left),
        Err(Errno::NOENT) => write_new(directory, name, text),
        Err(error) => Err(error),
    }
}

/// Whether an open file is a regular one with exactly these bytes; all files share one buffer.
fn holds(file: &OwnedFd, text: &[u8], buffer: &mut Vec<u8>) -> Result<bool> {
    let found = fstat(file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile
        || u64::try_from(found.st_size) != Ok(text.len() as u64)
    {
        return Ok(false);
    }
    let most_bytes = COMPARED_BYTES.min(text.len());
    if buffer.len() < most_bytes {
        buffer.resize(most_bytes, 0);
    }
    let mut rest = text;
    while !rest.is_empty() {
        let wanted = rest.len().min(buffer.len());
        let taken = pread(
            file,
            &mut buffer[..wanted],
            (text.len() - rest.len()) as u64,
        )?;
        let (part, behind) = rest.split_at(taken);
        if taken == 0 || part != &buffer[..taken] {
            return Ok(false);
        }
        rest = behind;
    }
    Ok(true)
}

fn write_new(directory: BorrowedFd<'_>, name: &str, text: &[u8]) -> Result<Outcome> {
    // Without a name: until it gets one, nothing is left of it whatever happens.
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = openat(directory, c".", flags, PRIVATE)?;
    if Mode::from_raw_mode(fstat(&file)?.st_mode) != PRIVATE {
        fchmod(&file, PRIVATE)?;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let taken = write(&file, rest)?;
        if taken == 0 {
            return Err(Errno::IO);
        }
        rest = &rest[taken..];
    }
    // Needs no privilege, unlike AT_EMPTY_PATH.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(CWD, path, directory, name, AtFlags::SYMLINK_FOLLOW)?;
    Ok(Outcome::Written(TextHash::of(text)))
}
