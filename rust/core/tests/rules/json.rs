//! Bodies of pieces that are often JSON, and often messages.

use proptest::prelude::*;

use crate::oracle::json::check;

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\n",
        "\"messages\":[",
        "{\"role\":\"user\",\"content\":[",
        "{\"role\":\"user\"}",
        ",\"content\":[",
        "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"a\\n\\ud83d\\ude00\"}",
        "{\"type\":\"tool_result\",\"tool_use_id\":\"t2\",\"content\":[{\"type\":\"text\",\"text\":\"日\\u65e5\"}]}",
        "]}",
        "\"\\x\"",
        "\"text\"",
        "\"\\u12aF\\\\\\\"\"",
        "-0.5e+9",
        "01",
        "null",
        "NaN",
        "\"é",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// A body whose beginning and end are right, whatever is in between.
fn bodies() -> impl Strategy<Value = String> {
    let message = "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"x\"}]}";
    (pieces(), pieces(), 0_usize..4).prop_map(move |(inside, outside, count)| {
        let messages = vec![message; count].join(",");
        format!("{{\"messages\":[{messages}{inside}],\"a\":[{outside}]}}")
    })
}

proptest! {
    #[test]
    fn any_pieces(body in pieces(), before in pieces()) {
        check(body.as_bytes(), before.as_bytes());
    }

    #[test]
    fn whole_bodies(body in bodies(), before in bodies(), cut in 0_usize..200) {
        check(body.as_bytes(), before.as_bytes());
        let cut = cut.min(before.len());
        check(before.as_bytes(), &before.as_bytes()[..before.len() - cut]);
        check(&before.as_bytes()[..before.len() - cut], before.as_bytes());
    }
}
