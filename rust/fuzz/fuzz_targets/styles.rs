//! Previews of any text in every style.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolbudget_core::{Style, show_preview};

const STYLES: [Style; 6] = [
    Style::Head,
    Style::HeadTail,
    Style::Salient,
    Style::Json,
    Style::Outline,
    Style::Auto,
];

fuzz_target!(|input: (u16, u8, u16, &str)| {
    let (max_bytes, style, count, text) = input;
    let max_bytes = usize::from(max_bytes % 3_000);
    let text = text.repeat(1 + usize::from(count % 300));
    let style = STYLES[usize::from(style) % STYLES.len()];
    // What a parser shows is as little to be trusted as the text.
    let outline = |_| Ok(Some(text.clone().into_bytes()));
    let shown = show_preview(text.as_str(), max_bytes, style, outline).expect("there is memory");
    let preview = shown.preview;
    assert!(preview.text.len() <= max_bytes);
    assert!(!preview.text.contains('\0'));
    let lowered = preview.text.to_ascii_lowercase();
    assert!(!lowered.contains("<persisted-output"));
    assert!(!lowered.contains("</persisted-output"));
    if !preview.has_more {
        let safe = text.replace('\0', "\u{fffd}");
        assert_eq!(preview.text.replace("&lt;", "<"), safe.replace("&lt;", "<"));
    }
});
