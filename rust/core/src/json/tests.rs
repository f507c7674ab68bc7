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

/// Members of a block, in all the forms that are told apart; `@` stands for what is another text in
/// each block.
const MEMBERS: [&str; 22] = [
    r#""type":"tool_result""#,
    r#""type": "tool_result""#,
    r#""type":"tool_use""#,
    r#""type":"te\u0078t""#,
    r#""type":7"#,
    r#""tool_use_id":"@""#,
    r#""tool_use_id" :"@""#,
    r#""tool_use_id":null"#,
    r#""id":"@""#,
    r#""id":[1]"#,
    r#""content":"@""#,
    r#""content": "@""#,
    r#""content":"""#,
    r#""content":null"#,
    r#""content":[{"type":"text","text":"@"},{"type":"text","text":"@","cache_control":{}}]"#,
    r#""content":[{"type":"image"}]"#,
    r#""name":"Bash""#,
    r#""name":"@""#,
    r#""caller":{"type":"code_execution_1"}"#,
    r#""toolset_name":"a""#,
    r#""toolset_name":null"#,
    r#""x":{"a":["}",1.5e3,"@"]}"#,
];

/// What a body holds, by its texts and not by their places.
fn told(body: &str) -> Vec<String> {
    let bytes = body.as_bytes();
    let scan = Scan::of(bytes).unwrap();
    let text = |name| scan.name_text(name, bytes).into_owned();
    let events = scan.events().iter().filter_map(|event| match *event {
        Event::Call(call) => Some(format!(
            "call {:?} {:?} {}",
            text(call.tool_use_id),
            call.tool_name.map(text),
            call.is_for_code
        )),
        Event::Result(index) => {
            let result = &scan.results()[index];
            let texts = scan.texts_of(result).iter();
            let texts: Vec<_> = texts.map(|it| it.span.of(bytes)).collect();
            Some(format!(
                "result {:?} {:?} {:?} {texts:?} {:?} {}",
                text(result.name),
                text_of(result.tool_use_id, bytes),
                result.content.of(bytes),
                result.cache_control.map(|it| it.of(bytes)),
                result.has_toolset,
            ))
        }
        Event::Skipped(reason) => Some(format!("{reason:?}")),
        Event::Assistant(_) | Event::User(_) => None,
    });
    events.collect()
}

fn message(role: &str, blocks: &[String]) -> String {
    format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
}

/// Blocks of which some look like those before, in what they have or in how they are written.
fn blocks() -> impl Strategy<Value = Vec<String>> {
    let usual = prop::sample::select(vec![
        vec![
            r#""type":"tool_result""#,
            r#""tool_use_id":"@""#,
            r#""content":"@""#,
        ],
        vec![
            MEMBERS[14],
            r#""tool_use_id":"@""#,
            r#""type":"tool_result""#,
        ],
        vec![r#""type":"tool_use""#, r#""id":"@""#, r#""name":"Bash""#],
        vec![],
    ]);
    let other = prop::collection::vec(prop::sample::select(MEMBERS.to_vec()), 0..4);
    let layout = (usual, other, any::<bool>()).prop_map(|(usual, other, is_after)| {
        if is_after {
            [usual, other].concat()
        } else {
            [other, usual].concat()
        }
    });
    let layouts = prop::collection::vec(layout, 1..4);
    let block = (
        any::<prop::sample::Index>(),
        "[a-c]{1,2}|\\\\n|x{40}|é",
        "|(, )",
    );
    (layouts, prop::collection::vec(block, 1..12)).prop_map(|(layouts, blocks)| {
        let written = blocks.into_iter().map(|(layout, text, comma)| {
            let comma = if comma.is_empty() { "," } else { ", " };
            let members = layouts[layout.index(layouts.len())].join(comma);
            format!("{{{}}}", members.replace('@', &text))
        });
        written.collect()
    })
}

/// Messages that do not count if others follow, with a call as others begin, too.
const OTHER_MESSAGES: &str = r#""messages":[{"role":"assistant","content":[
    {"type":"tool_use","id":"o","name":"Bash"},{"type":"tool_result","tool_use_id":"o","content":"o"}
]}],"#;

/// Only the last messages of a body count: no name that they have may stand in others, which the
/// next body need not have.
#[test]
fn names_stand_in_the_messages_that_count() {
    let call = r#"{"type":"tool_use","id":"t","name":"Bash"}"#;
    let messages = format!(
        "\"messages\":[{}]",
        message("assistant", &[call.to_owned()])
    );
    let bodies = [
        format!("{{{OTHER_MESSAGES}{messages}}}"),
        format!("{{{messages}}}"),
    ];
    let [earlier, body] = bodies.each_ref().map(String::as_bytes);
    let (scan, _) = Scan::of(earlier).unwrap().after(earlier, body).unwrap();
    let Some(Event::Call(call)) = scan.events().get(1) else {
        panic!("a call was expected");
    };
    let name = scan.name_text(call.tool_name.unwrap(), body);
    assert_eq!(*name, *b"Bash");
}

proptest! {
    /// What is known of the blocks before says nothing else about a block than the block itself.
    #[test]
    fn blocks_alike_are_read_as_each_alone(
        blocks in blocks(),
        role in prop::sample::select(vec!["user", "assistant"]),
    ) {
        let together = told(&format!("[{}]", message(role, &blocks)));
        let alone = blocks.iter().flat_map(|block| {
            told(&format!("[{}]", message(role, std::slice::from_ref(block))))
        });
        prop_assert_eq!(together, alone.collect::<Vec<_>>());
    }

    /// Messages that stood in an earlier body are what they are without it, wherever they stood.
    #[test]
    fn what_stands_elsewhere_is_taken_over(
        messages in prop::collection::vec(blocks(), 0..5),
        kept in 0_usize..6,
        beginnings in prop::array::uniform2(prop::sample::select(vec![
            "", r#""model":"m","#, r#""a":{"messages":[1]}, "#, r#""messages":[{}],"#, OTHER_MESSAGES,
        ])),
        ends in prop::array::uniform2(prop::sample::select(vec![
            "}", r#","x":1}"#, r#","messages":[]}"#, "}{}",
        ])),
    ) {
        let messages: Vec<String> = messages.iter().enumerate().map(|(index, blocks)| {
            message(["assistant", "user"][index % 2], blocks)
        }).collect();
        let shorter = &messages[..kept.min(messages.len())];
        let write = |messages: &[String], at: usize| format!(
            r#"{{{}"messages":[{}]{}"#, beginnings[at], messages.join(","), ends[at],
        );
        let (earlier, body) = (write(shorter, 0), write(&messages, 1));
        let before = Scan::of(earlier.as_bytes()).unwrap();
        let (results, events) = (before.results().len(), before.events().to_vec());
        let (scan, leftover) = before.after(earlier.as_bytes(), body.as_bytes()).unwrap();
        prop_assert!(scan.reused_results() <= leftover.first());
        prop_assert_eq!(leftover.first() + leftover.results().len(), results);
        let fresh = Scan::of(body.as_bytes()).unwrap();
        let scan = scan.reusing(0);
        prop_assert_eq!(&scan, &fresh);
        if leftover.is_nothing_else() {
            prop_assert_eq!(scan.events(), events);
        }
    }

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

#[test]
fn exempt_tools_are_asked_for_anew() {
    let call = |id: &str, tool: &str| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{}}}}"#)
    };
    let result = |id: &str, more: &str| {
        format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"text"{more}}}"#)
    };
    let body = format!(
        r#"[{{"role":"assistant","content":[{},{},{},{}]}},{{"role":"user","content":[{},{},{},{}]}}]"#,
        call("1", "Bash"),
        call("2", "Read"),
        call("3", "Bash"),
        call("4", "memory"),
        result("1", ""),
        result("2", ""),
        result("3", r#","toolset_name":"a""#),
        result("4", ""),
    );
    let body = body.as_bytes();
    let scan = Scan::of(body).unwrap();
    let fingerprints = recall(&scan, body, None).fingerprints;
    let mut surveyed = survey(&scan, body, &fingerprints);
    let mut exempting = |tools: &[&[u8]]| {
        let mut asked = Vec::new();
        let survey = surveyed.exempting(|name| {
            let name = scan.name_text(name, body).into_owned();
            asked.push(name.clone());
            Ok::<_, ()>(tools.contains(&name.as_slice()))
        });
        let candidates = survey.unwrap().candidates().iter();
        let exempt: Vec<bool> = candidates.map(|candidate| candidate.is_exempt).collect();
        assert_eq!(asked, [b"Bash", b"Read"]);
        exempt
    };
    assert_eq!(exempting(&[]), [false, false, true, true]);
    assert_eq!(exempting(&[b"Bash"]), [true, false, true, true]);
    assert_eq!(exempting(&[b"Read"]), [false, true, true, true]);
    assert_eq!(exempting(&[]), [false, false, true, true]);
}
