//! What holds for any body, said by means of `serde_json`.

use serde::de::IgnoredAny;
use toolbudget_core::json::{Earlier, Problem, Scan, decode_text, recall};

/// Checks everything about a body, and about it after another one.
pub(crate) fn check(body: &[u8], before: &[u8]) {
    check_grammar(body);
    let Ok(scan) = Scan::of(body) else {
        return;
    };
    check_spans(&scan, body);
    check_memory(&scan, body, before);
}

/// A body is refused exactly if it is no text, no JSON, or holds no messages.
fn check_grammar(body: &[u8]) {
    let refused = Scan::of(body).err();
    let Ok(text) = std::str::from_utf8(body) else {
        assert_eq!(refused.map(|error| error.problem), Some(Problem::NotUtf8));
        return;
    };
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let is_json = values.all(|value| value.is_ok());
    let has_wrong_shape = matches!(
        refused.map(|error| error.problem),
        Some(Problem::NotDocument | Problem::NotMessages | Problem::NotMessage(_))
    );
    let is_empty = text.trim_matches([' ', '\t', '\r', '\n']).is_empty();
    let is_list = text.trim_start().starts_with('[');
    match refused {
        // Whether values follow each other without a blank is not told by `serde_json`.
        None => assert!(is_json || text.contains("}{"), "{text}"),
        Some(error) => {
            assert!(error.offset <= body.len());
            assert!(
                !is_json || has_wrong_shape || is_empty || is_list,
                "{error}: {text}"
            );
        }
    }
}

/// Every span is a value of its own, and texts are what `serde_json` reads.
fn check_spans(scan: &Scan, body: &[u8]) {
    for result in scan.results() {
        let content = result.content.of(body);
        assert!(serde_json::from_slice::<IgnoredAny>(content).is_ok());
        for text in scan.texts_of(result) {
            let raw = text.span.of(body);
            let quoted = [b"\"", raw, b"\""].concat();
            // Lone surrogates are no Rust text.
            if let Ok(expected) = serde_json::from_slice::<String>(&quoted) {
                assert_eq!(decode_text(raw), expected.as_bytes());
            }
        }
    }
}

/// What was there before saves time and changes nothing.
fn check_memory(scan: &Scan, body: &[u8], before: &[u8]) {
    let fingerprints = recall(scan, body, None).fingerprints;
    let Ok(earlier) = Scan::of(before) else {
        return;
    };
    let known = recall(&earlier, before, None).fingerprints;
    let again = earlier.after(before, body);
    let (again, leftover) = again.expect("it was accepted before");
    assert_eq!(again.events(), scan.events());
    assert_eq!(again.results(), scan.results());
    let reused = again.reused_results();
    let memory = Earlier {
        body: before,
        leftover: &leftover,
        fingerprints: &known[leftover.first()..],
    };
    let recalled = recall(&again, body, Some(memory)).fingerprints;
    assert_eq!([&known[..reused], &recalled].concat(), fingerprints);
}
