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

/// Parts of strings; what ends one, or makes it invalid, is so rare that most are several blocks long.
pub(super) fn parts() -> impl Strategy<Value = Vec<String>> {
    let usual = prop::sample::select(vec![
        "\\\\",
        "\\n",
        "\\\"",
        "\\u12aF",
        "plain text of some length",
        "日本",
    ]);
    let odd = prop::sample::select(vec!["\\", "\\x", "\n", "\\u12", "\""]);
    let part = prop_oneof![
        40 => usual.prop_map(str::to_owned),
        10 => "a{0,61}",
        1 => odd.prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..40)
}

/// Strings of several blocks with a rare byte at a bound: of control characters, or of ASCII.
fn at_bounds() -> impl Strategy<Value = Vec<u8>> {
    let bound = prop::sample::select(vec![0, 0x1F, 0x20, 0x7F, 0x80, 0xFF]);
    prop::collection::vec(prop_oneof![200 => Just(b'a'), 1 => bound], 0..300)
}

proptest! {
    /// Whichever byte of whichever block it is: a control character ends the string, and one byte
    /// alone makes it more than ASCII.
    #[test]
    fn bounds_are_kept(mut body in at_bounds()) {
        body.push(b'"');
        let expected = reference(&body, 0);
        prop_assert_eq!(find_end(&body, 0), expected);
        prop_assert_eq!(find_end_portably(&body, 0), expected);
    }

    #[test]
    fn the_end_is_found(
        parts in parts(),
        start in 0_usize..3,
        rest in "\"?[a\"]{0,70}",
    ) {
        let body = format!("{}{rest}", parts.concat());
        let body = body.as_bytes();
        let start = start.min(body.len());
        let expected = reference(body, start);
        prop_assert_eq!(find_end(body, start), expected);
        if let Some(place) = find_near_end(body, start) {
            let near = End { place, has_escapes: false, is_ascii: true };
            prop_assert_eq!(Some(near), expected);
        }
        prop_assert_eq!(find_end_portably(body, start), expected);
    }
}
