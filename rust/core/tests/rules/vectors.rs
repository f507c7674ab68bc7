//! The cases that Rust and Python both read; the expected values follow from the rules.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolbudget_core::{
    Fingerprint, Limit, Original, count_chars, cut_preview, format_size, is_framed_reference,
    select_largest,
};

#[derive(Deserialize)]
struct Document<Case> {
    cases: Vec<Case>,
}

/// A part of a text; JSON cannot carry a lone surrogate.
#[derive(Deserialize)]
#[serde(untagged)]
enum Piece {
    Plain(String),
    Repeated { repeat: String, times: usize },
    CodePoint { code_point: u32 },
}

/// A text as its pieces.
#[derive(Deserialize)]
struct Text(Vec<Piece>);

impl Text {
    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(Piece::bytes).collect()
    }
}

impl Piece {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Plain(text) => text.clone().into_bytes(),
            Self::Repeated { repeat, times } => repeat.repeat(*times).into_bytes(),
            Self::CodePoint { code_point } => encode(*code_point),
        }
    }
}

/// Encodes a code point as UTF-8 would, a surrogate too.
fn encode(code_point: u32) -> Vec<u8> {
    char::from_u32(code_point).map_or_else(
        || {
            let bits = |shift: u32| u8::try_from(code_point >> shift & 0x3F).unwrap();
            vec![0xED, 0x80 | bits(6), 0x80 | bits(0)]
        },
        |character| character.to_string().into_bytes(),
    )
}

fn cases<Case: DeserializeOwned>(document: &str) -> Vec<Case> {
    let document: Document<Case> = serde_json::from_str(document).unwrap();
    assert!(!document.cases.is_empty());
    document.cases
}

macro_rules! vectors {
    ($name:literal) => {
        cases(include_str!(concat!("../../../../tests/vectors/", $name)))
    };
}

#[derive(Deserialize)]
struct PreviewCase {
    name: String,
    text: Text,
    max_bytes: usize,
    preview: Text,
    has_more: bool,
}

#[test]
fn previews() {
    for case in vectors!("preview.json") as Vec<PreviewCase> {
        let preview = cut_preview(&case.text.bytes(), case.max_bytes).unwrap();
        assert_eq!(
            preview.text.into_bytes(),
            case.preview.bytes(),
            "{}",
            case.name
        );
        assert_eq!(preview.has_more, case.has_more, "{}", case.name);
    }
}

/// A whole limit is exact.
#[derive(Deserialize)]
#[serde(untagged)]
enum Bound {
    Whole(i64),
    Fraction(f64),
}

#[derive(Deserialize)]
struct SelectCase {
    name: String,
    sizes: Vec<i64>,
    total: i64,
    limit: Option<Bound>,
    taken: Vec<usize>,
}

#[test]
fn selections() {
    for case in vectors!("select.json") as Vec<SelectCase> {
        let limit = match case.limit {
            Some(Bound::Whole(limit)) => Limit::from(i128::from(limit)),
            Some(Bound::Fraction(limit)) => Limit::from(limit),
            None => Limit::from(f64::INFINITY),
        };
        let taken = select_largest(&case.sizes, case.total.into(), limit);
        assert_eq!(taken, case.taken, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct SizeLabelCase {
    size_bytes: i64,
    label: String,
}

#[test]
fn size_labels() {
    for case in vectors!("size_label.json") as Vec<SizeLabelCase> {
        assert_eq!(format_size(case.size_bytes.into()), case.label);
    }
}

#[derive(Deserialize)]
struct ReplacementCase {
    name: String,
    text: Text,
    path: String,
    preview_bytes: i64,
    reader_hint: Option<String>,
    replacement: Text,
}

#[test]
fn replacements() {
    for case in vectors!("replacement.json") as Vec<ReplacementCase> {
        let text = case.text.bytes();
        let original = Original {
            head: &text,
            size_bytes: text.len().try_into().unwrap(),
            path: case.path.as_bytes(),
            reader_hint: case.reader_hint.as_deref().map(str::as_bytes),
        };
        let replacement = original
            .build_replacement(case.preview_bytes.into())
            .unwrap();
        assert_eq!(replacement.size_chars, count_chars(&replacement.text));
        assert_eq!(replacement.text, case.replacement.bytes(), "{}", case.name);
    }
}

#[derive(Deserialize)]
struct FingerprintCase {
    name: String,
    text: Text,
    size_chars: u64,
    hash: String,
}

#[test]
fn fingerprints() {
    for case in vectors!("fingerprint.json") as Vec<FingerprintCase> {
        let text = case.text.bytes();
        let fingerprint = Fingerprint::of(&text, count_chars(&text));
        assert_eq!(fingerprint.size_chars, case.size_chars, "{}", case.name);
        assert_eq!(fingerprint.hash.to_string(), case.hash, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct ReferenceCase {
    name: String,
    text: Text,
    is_reference: bool,
}

#[test]
fn references() {
    for case in vectors!("reference.json") as Vec<ReferenceCase> {
        let text = case.text.bytes();
        let is_reference = is_framed_reference(&text, count_chars(&text));
        assert_eq!(is_reference, case.is_reference, "{}", case.name);
    }
}
