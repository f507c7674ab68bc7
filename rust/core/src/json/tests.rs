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

proptest! {
    /// What is skipped is checked as `serde_json` checks it, as far as that has no limits.
    #[test]
    fn grammar(text in r#"[\[\]{},:"\\ a0-9.eE+\-ntu]{0,12}"#) {
        let body = format!("[{{\"x\":{text}}}]");
        let expected = serde_json::from_str::<Vec<&serde_json::value::RawValue>>(&body);
        prop_assert_eq!(accepts(body.as_bytes()), expected.is_ok(), "{}", body);
    }
}
