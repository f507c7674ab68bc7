use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

fn call(name: &str, is_for_code: bool) -> Call<String> {
    Call {
        tool_name: Some(name.to_owned()),
        is_for_code,
    }
}

fn found(tool_use_id: &str) -> Found<String> {
    Found {
        tool_use_id: tool_use_id.to_owned(),
        size_chars: 5,
        has_toolset: false,
    }
}

fn side(agent_id: &str) -> Chain<String> {
    Chain {
        is_sidechain: true,
        agent_id: Some(agent_id.to_owned()),
    }
}

fn finish(collector: Collector<String>) -> Survey<String> {
    let Ok(survey) = collector.finish(|name| Ok::<_, Infallible>(name == "Read"));
    survey
}

fn names(survey: &Survey<String>) -> Vec<Option<&str>> {
    let names = survey.candidates.iter();
    names.map(|item| item.tool_name.as_deref()).collect()
}

#[test]
fn the_nearest_call_before_a_result_names_its_tool() {
    let mut collector = Collector::new();
    for name in ["Bash", "Grep", "Read"] {
        collector.begin_assistant(Chain::default(), None);
        collector.add_call("t".to_owned(), call(name, false));
        collector.begin_user(Chain::default());
        collector.add_result(found("t"));
    }
    let survey = finish(collector);
    assert_eq!(names(&survey), [Some("Bash"), Some("Grep"), Some("Read")]);
    let is_exempt: Vec<bool> = survey.candidates.iter().map(|it| it.is_exempt).collect();
    assert_eq!(is_exempt, [false, false, true]);
}

#[test]
fn without_a_call_before_it_the_first_one_behind_names_the_tool() {
    let mut collector = Collector::new();
    collector.begin_user(Chain::default());
    collector.add_result(found("t"));
    collector.add_result(found("unknown"));
    for name in ["Bash", "Grep"] {
        collector.begin_assistant(Chain::default(), None);
        collector.add_call("t".to_owned(), call(name, false));
    }
    assert_eq!(names(&finish(collector)), [Some("Bash"), None]);
}

#[test]
fn calls_of_another_chain_name_nothing() {
    let mut collector = Collector::new();
    collector.begin_assistant(side("a"), None);
    collector.add_call("t".to_owned(), call("Bash", false));
    for chain in [Chain::default(), side("b"), side("a")] {
        collector.begin_user(chain);
        collector.add_result(found("t"));
    }
    let survey = finish(collector);
    assert_eq!(names(&survey), [None, None, Some("Bash")]);
    assert_eq!(survey.groups.len(), 3);
}

#[test]
fn data_for_code_toolset_members_and_the_memory_tool_are_exempt() {
    let mut collector = Collector::new();
    collector.begin_assistant(Chain::default(), None);
    collector.add_call("code".to_owned(), call("Bash", true));
    collector.add_call("memory".to_owned(), call("memory", false));
    collector.begin_user(Chain::default());
    for id in ["code", "memory"] {
        collector.add_result(found(id));
    }
    collector.add_result(Found {
        has_toolset: true,
        ..found("member")
    });
    let survey = finish(collector);
    assert!(survey.candidates.iter().all(|item| item.is_exempt));
}

#[test]
fn each_name_is_asked_about_once_and_only_if_it_decides() {
    let mut collector = Collector::new();
    collector.begin_assistant(Chain::default(), None);
    for (id, name, is_for_code) in [
        ("a", "Bash", false),
        ("b", "Bash", false),
        ("c", "Data", true),
    ] {
        collector.add_call(id.to_owned(), call(name, is_for_code));
    }
    collector.begin_user(Chain::default());
    for id in ["a", "b", "c", "d"] {
        collector.add_result(found(id));
    }
    let mut asked = Vec::new();
    let Ok(_) = collector.finish(|name| {
        asked.push(name.clone());
        Ok::<_, Infallible>(false)
    });
    assert_eq!(asked, ["Bash"]);
}

#[test]
fn an_error_of_the_question_is_handed_on() {
    let mut collector = Collector::new();
    collector.begin_assistant(Chain::default(), None);
    collector.add_call("t".to_owned(), call("Bash", false));
    collector.begin_user(Chain::default());
    collector.add_result(found("t"));
    assert_eq!(collector.finish(|_| Err("no")), Err("no"));
}

#[test]
fn reasons_are_counted_in_the_order_they_came() {
    let mut collector = Collector::<String>::new();
    for reason in [SkipReason::Object, SkipReason::Empty, SkipReason::Object] {
        collector.skip(reason);
    }
    let skipped: Vec<_> = finish(collector).skipped.iter().collect();
    assert_eq!(skipped, [(SkipReason::Object, 2), (SkipReason::Empty, 1)]);
}

proptest! {
    /// Every result stands in one group, and groups do not mix chains.
    #[test]
    fn groups_share_out_the_results(
        turns in prop::collection::vec((0_u8..4, any::<bool>(), 0_u8..3), 0..40)
    ) {
        let mut collector = Collector::new();
        let mut chains = Vec::new();
        for &(kind, is_side, id) in &turns {
            let chain = if is_side { side("a") } else { Chain::default() };
            if kind == 0 {
                collector.begin_assistant(chain, Some(id.to_string()));
            } else {
                collector.begin_user(chain);
                collector.add_result(found(&id.to_string()));
                chains.push(is_side);
            }
        }
        let survey = finish(collector);
        let mut all: Vec<usize> = survey.groups.iter().flat_map(|it| it.candidates.iter()).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..chains.len()).collect::<Vec<_>>());
        for group in &survey.groups {
            let mut of_group = group.candidates.iter().map(|index| chains[index]);
            let first = of_group.next();
            prop_assert!(of_group.all(|chain| Some(chain) == first));
        }
    }
}

proptest! {
    /// Ids are said to be distinct where they are, and surely where each answers a call of its own.
    #[test]
    fn ids_are_distinct_where_each_answers_its_own_call(
        steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0_u8..6), 0..14)
    ) {
        let mut collector = Collector::new();
        let (mut calls, mut results, mut sides) = (Vec::new(), Vec::new(), Vec::new());
        for &(is_call, is_side, id) in &steps {
            let chain = if is_side { side("a") } else { Chain::default() };
            if is_call {
                collector.begin_assistant(chain, None);
                collector.add_call(id.to_string(), call("Bash", false));
                calls.push((is_side, id));
            } else {
                collector.begin_user(chain);
                collector.add_result(found(&id.to_string()));
                results.push(id);
                sides.push(is_side);
            }
        }
        let is_each_once = finish(collector).has_distinct_ids();
        let mut distinct = results.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let are_distinct = distinct.len() == results.len();
        let is_of_one_chain = sides.windows(2).all(|pair| pair[0] == pair[1]);
        let has_call = |(id, side): (&u8, &bool)| calls.contains(&(*side, *id));
        let are_answers = results.iter().zip(&sides).all(has_call);
        prop_assert_eq!(is_each_once, are_distinct && is_of_one_chain && are_answers);
    }
}

#[test]
fn counts_are_added_in_the_order_of_one_pass() {
    let counted = |reasons: &[SkipReason]| {
        let mut skipped = Skipped::default();
        for &reason in reasons {
            skipped.add(reason);
        }
        skipped
    };
    let mut skipped = counted(&[SkipReason::Empty, SkipReason::Reference]);
    skipped.add_all(&counted(&[
        SkipReason::NotText,
        SkipReason::Empty,
        SkipReason::Exempt,
    ]));
    let expected = [
        (SkipReason::Empty, 2),
        (SkipReason::NotText, 1),
        (SkipReason::Reference, 1),
        (SkipReason::Exempt, 1),
    ];
    assert!(skipped.iter().eq(expected));
}
