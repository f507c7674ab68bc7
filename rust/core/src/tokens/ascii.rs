//! Weights of ASCII characters.

/// A letter; the first one of a word and a capital inside of one cost more.
const LETTER: u8 = 17;
const WORD_BEHIND_BLANK: u8 = 35;
const WORD_BEHIND_OTHER: u8 = 62;
const HUMP: u8 = 190;
const DIGIT: u8 = 50;
const NUMBER: u8 = 55;
const PUNCTUATION: u8 = 58;
const PUNCTUATION_REPEATED: u8 = 20;
/// The second blank of a run, and any behind it.
const WIDE_BLANK: u8 = 25;
const WIDER_BLANK: u8 = 1;
const LINE_BREAK: u8 = 105;
const LINE_BREAK_REPEATED: u8 = 70;
const CONTROL: u8 = 190;

/// How many characters are weighed before their weights are added: both are loops of their own, so
/// that the compiler uses vector instructions for either.
const BLOCK: usize = 4_096;
/// As many weights as a sum of two bytes can hold.
const SUMMED: usize = 256;

/// The last two characters of the text so far; of what is not ASCII only that it is no such.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    last_but_one: u8,
    last: u8,
}

impl Before {
    /// At least one character that is not ASCII.
    pub(super) const WIDE: Self = Self {
        last_but_one: 0x80,
        last: 0x80,
    };

    /// What it is behind some more characters.
    pub(super) const fn after(self, text: &[u8]) -> Self {
        match text {
            [] => self,
            [last] => Self {
                last_but_one: self.last,
                last: *last,
            },
            [.., last_but_one, last] => Self {
                last_but_one: *last_but_one,
                last: *last,
            },
        }
    }
}

/// The weight of ASCII text.
pub(super) fn hundredths(before: Before, text: &[u8]) -> u64 {
    let mut before = before;
    let mut sum = 0;
    let head = text.len().min(2);
    for &byte in &text[..head] {
        sum += u64::from(weight(before.last_but_one, before.last, byte));
        before = before.after(&[byte]);
    }
    sum + sum_of_weights(text)
}

/// The weights of all but the first two characters.
fn sum_of_weights(text: &[u8]) -> u64 {
    let (Some(last), Some(current)) = (text.get(1..), text.get(2..)) else {
        return 0;
    };
    let blocks = text.chunks(BLOCK).zip(last.chunks(BLOCK));
    blocks
        .zip(current.chunks(BLOCK))
        .map(|((last_but_one, last), current)| sum_of_block(last_but_one, last, current))
        .sum()
}

fn sum_of_block(last_but_one: &[u8], last: &[u8], current: &[u8]) -> u64 {
    let mut weights = [0; BLOCK];
    let places = last_but_one.iter().zip(last).zip(current);
    for (slot, ((&last_but_one, &last), &byte)) in weights.iter_mut().zip(places) {
        *slot = weight(last_but_one, last, byte);
    }
    weights[..current.len()]
        .chunks(SUMMED)
        .map(|weights| u64::from(weights.iter().map(|&weight| u16::from(weight)).sum::<u16>()))
        .sum()
}

/// The weight of a character behind two others. It has no branch, for the sake of the vectors.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call keeps the loop from vectors")]
#[expect(clippy::needless_bitwise_bool, reason = "so does a branch")]
const fn weight(last_but_one: u8, last: u8, byte: u8) -> u8 {
    let is_word = is_letter(byte);
    let is_start = is_word & !is_letter(last);
    let is_number = byte.is_ascii_digit();
    let is_space = is_blank(byte);
    let is_break = byte == b'\n';
    let is_visible = byte.wrapping_sub(b'!') < 94;
    let is_punctuation = is_visible & !is_word & !is_number;
    let is_control = !(is_visible | is_space | is_break);
    let is_wide = is_space & is_blank(last);
    let is_repeated = byte == last;
    select(is_word, LETTER)
        + select(is_start & is_blank(last), WORD_BEHIND_BLANK)
        + select(is_start & !is_blank(last), WORD_BEHIND_OTHER)
        + select(byte.is_ascii_uppercase() & last.is_ascii_lowercase(), HUMP)
        + select(is_number, DIGIT)
        + select(is_number & !last.is_ascii_digit(), NUMBER)
        + select(is_punctuation & !is_repeated, PUNCTUATION)
        + select(is_punctuation & is_repeated, PUNCTUATION_REPEATED)
        + select(is_wide & !is_blank(last_but_one), WIDE_BLANK)
        + select(is_wide & is_blank(last_but_one), WIDER_BLANK)
        + select(is_break & !is_repeated, LINE_BREAK)
        + select(is_break & is_repeated, LINE_BREAK_REPEATED)
        + select(is_control, CONTROL)
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

const fn select(condition: bool, weight: u8) -> u8 {
    (condition as u8).wrapping_neg() & weight
}
