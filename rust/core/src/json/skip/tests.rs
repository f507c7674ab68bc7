use proptest::prelude::*;

use super::*;

/// By the grammar, one byte after the other.
fn reference(body: &[u8], start: usize) -> Option<End> {
    let mut end = End {
        place: start,
        has_escapes: false,
        is_ascii: true,
    };
    loop {
        match *body.get(end.place)? {
            b'"' => return Some(end),
            b'\\' => {
                end.has_escapes = true;
                end.place += match *body.get(end.place + 1)? {
                    b'u' if has_hex_digits(body, end.place + 2) => 6,
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                    _ => return None,
                };
            }
            0..0x20 => return None,
            byte => {
                end.is_ascii &= byte < 0x80;
                end.place += 1;
            }
        }
    }
}

proptest! {
    #[test]
    fn the_end_is_found(
        parts in prop::collection::vec(prop_oneof![
            Just("\\\\".to_owned()), Just("\\n".to_owned()), Just("\\\"".to_owned()),
            Just("\\u12aF".to_owned()), Just("plain text of some length".to_owned()),
            Just("日本".to_owned()), Just("\\".to_owned()), Just("\\x".to_owned()),
            Just("\n".to_owned()), Just("a".repeat(61)), Just("\\u12".to_owned()),
        ], 0..24),
        start in 0_usize..3,
        rest in "\"?[a\"]{0,70}",
    ) {
        let body = format!("{}{rest}", parts.concat());
        let body = body.as_bytes();
        let start = start.min(body.len());
        let expected = reference(body, start);
        prop_assert_eq!(find_end(body, start), expected);
        prop_assert_eq!(find_end_by(body, start, Masks::portable), expected);
    }
}
