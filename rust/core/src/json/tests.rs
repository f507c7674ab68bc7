use proptest::prelude::*;

use super::*;

fn accepts(body: &[u8]) -> bool {
    Scan::of(body).is_ok()
}

#[test]
fn forms() {
    for body in ["[]", "{\"messages\":[]}", "{}", "{}\n{}", " [ { } , {} ] "] {
        assert!(accepts(body.as_bytes()), "{body}");
    }
}

/// One user message with a result.
const MESSAGE: &str =
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}"#;

proptest! {
    /// Only the last content of the message that counts has results, and none takes those of others.
    #[test]
    fn results_of_other_contents_do_not_count(
        others in prop::collection::vec(prop::sample::select(vec![
            r#"{"role":"user"}"#,
            r#"{"role":"user","content":"text"}"#,
            r#"{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"u","content":"y"}]}"#,
            r#"{"content":[{"type":"tool_result","tool_use_id":"u","content":"y"}],"role":"user","content":7}"#,
            r#"{"type":"system","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":"y"}]}}"#,
        ]), 1..4),
        place in 0_usize..4,
    ) {
        let place = place.min(others.len());
        let mut messages = others;
        messages.insert(place, MESSAGE);
        let body = format!("[{}]", messages.join(","));
        let scan = Scan::of(body.as_bytes()).unwrap();
        let found = scan.results().iter();
        let found: Vec<_> = found.map(|it| (it.message_index, it.content.of(body.as_bytes()))).collect();
        prop_assert_eq!(found, [(place, &br#""x""#[..])]);
    }

    /// The last of several contents counts, wherever the others stand.
    #[test]
    fn the_last_content_counts(ids in prop::collection::vec("[a-z]", 1..4)) {
        let contents: Vec<String> = ids.iter().map(|id| format!(
            r#""content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{id}"}}]"#,
        )).collect();
        let body = format!(r#"[{{"role":"user",{}}},{MESSAGE}]"#, contents.join(","));
        let scan = Scan::of(body.as_bytes()).unwrap();
        let found = scan.results().iter();
        let found: Vec<_> = found.map(|it| it.tool_use_id.span.of(body.as_bytes())).collect();
        prop_assert_eq!(found, [ids[ids.len() - 1].as_bytes(), b"t"]);
    }
    /// What is skipped is checked as `serde_json` checks it, as far as that has no limits.
    #[test]
    fn grammar(text in r#"[\[\]{},:"\\ a0-9.eE+\-ntu]{0,12}"#) {
        let body = format!("[{{\"x\":{text}}}]");
        let expected = serde_json::from_str::<Vec<&serde_json::value::RawValue>>(&body);
        prop_assert_eq!(accepts(body.as_bytes()), expected.is_ok(), "{}", body);
    }
}
