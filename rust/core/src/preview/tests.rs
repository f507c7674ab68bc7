use super::*;

fn preview(text: &str, max_bytes: usize) -> (String, bool) {
    let Preview { text, has_more } = cut(text.as_bytes(), max_bytes);
    (text, has_more)
}

fn cut(head: &[u8], max_bytes: usize) -> Preview {
    cut_preview(head, max_bytes).unwrap()
}

#[test]
fn a_text_that_fits_is_not_cut() {
    assert_eq!(preview("a\nb", 3), ("a\nb".to_owned(), false));
    assert_eq!(preview("", 0), (String::new(), false));
}

#[test]
fn a_line_break_exactly_at_half_is_not_strictly_past_it() {
    assert_eq!(preview("ab\ncdef", 4), ("ab\nc".to_owned(), true));
    assert_eq!(preview("abc\ndef", 4), ("abc".to_owned(), true));
    assert_eq!(preview("ab\ncdef", 5), ("ab\ncd".to_owned(), true));
    assert_eq!(preview("abc\ndef", 5), ("abc".to_owned(), true));
}

#[test]
fn no_character_is_cut() {
    assert_eq!(preview("😀😀", 7), ("😀".to_owned(), true));
    assert_eq!(preview("😀😀", 3), (String::new(), true));
    assert_eq!(preview("é\0", 4), ("é".to_owned(), true));
}

#[test]
fn nothing_smaller_follows_what_did_not_fit() {
    assert_eq!(preview("a日b", 3), ("a".to_owned(), true));
}

#[test]
fn a_defused_tag_is_cut_like_other_text() {
    assert_eq!(preview("<persisted-output>", 2), ("&l".to_owned(), true));
}

#[test]
fn a_tag_is_known_in_any_case_as_python_folds_it() {
    for tag in [
        "<PERSISTED-output",
        "</perſiſted-output",
        "<persİsted-output",
        "<persısted-OUTPUT",
    ] {
        assert_eq!(preview(tag, 99).0, tag.replacen('<', "&lt;", 1), "{tag}");
    }
    for other in [
        "<persisted-outpu",
        "<persisted_output",
        "< persisted-output",
        "<\u{212a}",
    ] {
        assert_eq!(preview(other, 99).0, other);
    }
}

#[test]
fn each_lone_surrogate_becomes_one_replacement_character() {
    let pair = b"a\xed\xa0\xbd\xed\xb8\x80b";
    assert_eq!(cut(pair, 99).text, "a\u{fffd}\u{fffd}b");
    assert_eq!(cut(pair, 6).text, "a\u{fffd}");
}

#[test]
fn an_unbounded_preview_is_the_whole_text() {
    assert_eq!(preview("text", usize::MAX), ("text".to_owned(), false));
}

/// Found by fuzzing: a byte that was dropped made a tag of what stood around it.
#[test]
fn what_is_no_text_parts_what_stands_around_it() {
    let forged = b"<\x8e\x8e/persisted-output>";
    assert_eq!(cut(forged, 99).text, "<\u{fffd}/persisted-output>");
    assert_eq!(cut(b"\x80a\xffb", 99).text, "a\u{fffd}b");
}
