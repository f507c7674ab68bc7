//! Bodies of any bytes, after other ones.

#![no_main]

#[path = "../../core/tests/rules/oracle/json.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8], bool)| {
    let (body, before, is_cut) = input;
    if is_cut {
        // Most of what is left is the same, as from turn to turn.
        oracle::check(body, &body[..body.len() - before.len().min(body.len())]);
    } else {
        oracle::check(body, before);
    }
});
