//! Previews of any bytes.

#![no_main]

#[path = "../../core/tests/rules/oracle/preview.rs"]
mod oracle;

use libfuzzer_sys::fuzz_target;
use toolbudget_core::{count_chars, cut_preview, preview_window_chars};

fuzz_target!(|input: (u16, &[u8])| {
    let (max_bytes, head) = (usize::from(input.0 % 600), input.1);
    let preview = cut_preview(head, max_bytes).expect("there is memory for 600 bytes");
    assert!(preview.text.len() <= max_bytes);
    assert!(!preview.text.contains('\0'));
    let lowered = preview.text.to_ascii_lowercase();
    assert!(!lowered.contains("<persisted-output"));
    assert!(!lowered.contains("</persisted-output"));
    if let Ok(text) = str::from_utf8(head) {
        let expected = oracle::cut(text, max_bytes);
        assert_eq!((preview.text, preview.has_more), expected);
        if count_chars(head) > preview_window_chars(max_bytes) as u64 {
            assert!(preview.has_more);
        }
    }
});
