use proptest::prelude::*;

use super::*;

fn estimate(text: &[u8]) -> u64 {
    let mut estimator = TokenEstimator::new();
    estimator.push(text);
    estimator.finish()
}

/// The weights one character after the other, as the table of the documentation has them.
fn plain_hundredths(text: &str) -> u64 {
    let mut before = ['\0'; 2];
    let mut sum = 0;
    for character in text.chars() {
        let [last_but_one, last] = before;
        let is_blank = |other: char| other == ' ' || other == '\t';
        let is_repeated = character == last;
        sum += match character {
            'a'..='z' | 'A'..='Z' => {
                let start = match last {
                    ' ' | '\t' => 35,
                    'a'..='z' if character.is_ascii_uppercase() => 190,
                    'a'..='z' | 'A'..='Z' => 0,
                    _ => 62,
                };
                17 + start
            }
            '0'..='9' if last.is_ascii_digit() => 50,
            '0'..='9' => 105,
            '!'..='~' if is_repeated => 20,
            '!'..='~' => 58,
            ' ' | '\t' if is_blank(last) && !is_blank(last_but_one) => 25,
            ' ' | '\t' => u64::from(is_blank(last)),
            '\n' if is_repeated => 70,
            '\n' => 105,
            '\0'..='\x7f' => 190,
            _ => wide_hundredths(character.into(), is_repeated),
        };
        before = [last, character];
    }
    sum
}

#[test]
fn an_empty_text_has_no_tokens() {
    assert_eq!(estimate(b""), 0);
}

#[test]
fn what_is_no_text_weighs_no_more_than_its_bytes_can() {
    for odd in [
        &b"\xff"[..],
        b"\x80\x80",
        b"\xf0\x9f",
        b"a\xc3",
        b"\xe6\x97b",
    ] {
        assert!(estimate(odd) <= 4 * odd.len() as u64, "{odd:?}");
    }
}

proptest! {
    #[test]
    fn the_weights_are_those_of_the_table(text in "([a-cX-Z .\\-\\n\\t0-9]|\\PC|[é日가…😀\r]){0,700}") {
        prop_assert_eq!(estimate(text.as_bytes()), plain_hundredths(&text).div_ceil(100));
    }

    #[test]
    fn a_long_text_overflows_no_lane(byte in 0_u8..128, length in 8_000_usize..30_000) {
        let text = String::from_utf8(vec![byte; length]).unwrap();
        prop_assert_eq!(estimate(text.as_bytes()), plain_hundredths(&text).div_ceil(100));
    }

    #[test]
    fn pieces_give_what_the_whole_gives(
        text in "[a-c \n0-9日é😀…]{0,60}",
        length in 1_usize..9,
    ) {
        let mut estimator = TokenEstimator::new();
        for piece in text.as_bytes().chunks(length) {
            estimator.push(piece);
        }
        prop_assert_eq!(estimator.finish(), estimate(text.as_bytes()));
    }
}
