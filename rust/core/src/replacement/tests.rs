use proptest::prelude::*;

use super::*;
use crate::size_text::format_size;

fn build(original: &Original<'_>, preview_bytes: i128) -> String {
    let replacement = original.build_replacement(preview_bytes).unwrap();
    let text = String::from_utf8(replacement.text).unwrap();
    assert_eq!(replacement.size_chars, text.chars().count() as u64);
    text
}

fn original(head: &str) -> Original<'_> {
    Original {
        head: head.as_bytes(),
        size_bytes: head.len() as i128,
        path: b"/p",
        reader_hint: None,
    }
}

#[test]
fn the_ellipsis_stands_only_where_text_was_left_out() {
    assert_eq!(
        build(&original("日本"), 6),
        "<persisted-output>\nOutput too large (6 bytes). Full output saved to: /p\n\n\
         Preview (first 6 bytes):\n日本\n</persisted-output>"
    );
    assert_eq!(
        build(&original("日本"), 5),
        "<persisted-output>\nOutput too large (6 bytes). Full output saved to: /p\n\n\
         Preview (first 5 bytes):\n日\n...\n</persisted-output>"
    );
}

#[test]
fn the_hint_stands_behind_the_path() {
    let original = Original {
        reader_hint: Some("Lies mit „lies“".as_bytes()),
        ..original("abc")
    };
    assert_eq!(
        build(&original, 0),
        "<persisted-output>\nOutput too large (3 bytes). Full output saved to: /p\n\
         Lies mit „lies“\n</persisted-output>"
    );
}

#[test]
fn a_preview_below_nothing_is_left_out() {
    assert_eq!(build(&original("abc"), -3), build(&original("abc"), 0));
}

#[test]
fn a_path_that_is_no_unicode_passes_through() {
    let original = Original {
        path: b"/\xed\xa0\x80",
        ..original("abc")
    };
    let replacement = original.build_replacement(0).unwrap();
    assert!(replacement.text.windows(3).any(|w| w == b"\xed\xa0\x80"));
    let plain = build(&self::original("abc"), 0);
    assert_eq!(replacement.size_chars, plain.chars().count() as u64);
}

#[test]
fn sizes_at_the_edges_of_units() {
    for (size_bytes, expected) in [
        (-5, "-5 bytes"),
        (0, "0 bytes"),
        (1_024, "1KB"),
        (1_075, "1KB"),
        (1_076, "1.1KB"),
        (0x10_0000 - 1, "1024KB"),
        (0x10_0000, "1MB"),
        (0x4000_0000 - 1, "1024MB"),
        (0x4000_0000, "1GB"),
        (5 << 40, "5120GB"),
    ] {
        assert_eq!(format_size(size_bytes), expected, "{size_bytes}");
    }
    assert!(format_size(i128::MAX).ends_with("GB"));
    assert!(format_size(i128::MIN).ends_with(" bytes"));
}

#[test]
fn white_space_behind_a_frame_is_what_python_takes_for_it() {
    let spaces = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2003}\u{3000}";
    let framed = |behind: &str| format!("{OPENING}x{CLOSING}{behind}");
    assert!(is_framed_reference(framed(spaces).as_bytes(), 60));
    for other in ["\0", "\u{200b}", "\u{feff}", "x", "."] {
        assert!(
            !is_framed_reference(framed(other).as_bytes(), 60),
            "{other:?}"
        );
    }
    for no_text in [b"\xed\xa0\x80", b"\x80\x80\x80"] {
        let text = [framed("").as_bytes(), no_text].concat();
        assert!(!is_framed_reference(&text, 60));
    }
}

#[test]
fn one_line_break_may_end_both_lines_of_a_frame() {
    assert!(is_framed_reference(
        b"<persisted-output>\n</persisted-output>",
        37
    ));
    assert!(!is_framed_reference(
        b"<persisted-output></persisted-output>",
        36
    ));
}

proptest! {
    #[test]
    fn sizes_are_rounded_half_up(size_bytes in 1_024_i128..1 << 45) {
        let written = format_size(size_bytes);
        let (number, unit) = written.split_at(written.len() - 2);
        let unit_bytes = match unit {
            "KB" => 1_i128 << 10,
            "MB" => 1 << 20,
            _ => 1 << 30,
        };
        let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
        let tenths = 10 * whole.parse::<i128>().unwrap() + tenth.parse::<i128>().unwrap();
        // tenths - 1/2 <= size / unit * 10 < tenths + 1/2, without fractions.
        prop_assert!((2 * tenths - 1) * unit_bytes <= 20 * size_bytes);
        prop_assert!(20 * size_bytes < (2 * tenths + 1) * unit_bytes);
    }

    #[test]
    fn any_bytes_are_judged(text in prop::collection::vec(any::<u8>(), 0..60)) {
        let framed = [OPENING.as_bytes(), &text, CLOSING.as_bytes()].concat();
        prop_assert!(is_framed_reference(&framed, 60));
        prop_assert!(!is_framed_reference(&text, 60));
    }
}

proptest! {
    /// To know that a head is ASCII changes nothing but what is looked at.
    #[test]
    fn an_ascii_head_need_not_be_checked(
        head in "(?s)[\\x00-\\x7f]{0,40}(</?persisted-output)?[\\x00-\\x7f]{0,40}",
        preview_bytes in 0_i128..100,
    ) {
        let original = original(&head);
        let preview = PreviewSize::of(preview_bytes);
        let frame = Frame::of(&original);
        let known = Draft::with_frame(frame, original.head, true, preview_bytes).unwrap();
        let built = known.build(&original, &preview).unwrap();
        prop_assert_eq!(&built, &original.build_replacement(preview_bytes).unwrap());
        prop_assert_eq!(known.size_chars(original.head, &preview), built.size_chars);
    }
}

proptest! {
    /// No replacement is shorter than what is said without building it, whatever the text is.
    #[test]
    fn no_replacement_is_shorter_than_the_least(
        head in prop_oneof![
            "(?s)[\\x00-\\x7f]{0,40}(</?persisted-output|\n)?[\\x00-\\x7f]{0,40}",
            "(?s)\\x00{0,40}[<\nap\u{7ff}\u{ffff}\u{10000}]{0,60}",
        ],
        largest_bytes in 0_i128..120,
        percent in 0_i128..=100,
    ) {
        let size_chars = head.chars().count() as u64;
        let outlook = if head.is_ascii() {
            Outlook::of_ascii(head.as_bytes(), largest_bytes)
        } else {
            Outlook::Beginning
        };
        let preview_bytes = largest_bytes * percent / 100;
        let least = outlook.least_chars(size_chars, preview_bytes);
        let built = original(&head).build_replacement(preview_bytes).unwrap();
        prop_assert!(least <= built.size_chars, "{} > {}", least, built.size_chars);
    }
}
