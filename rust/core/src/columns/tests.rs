use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::collect::{Collector, Survey};

/// One step of a walk.
#[derive(Clone, Debug)]
enum Step {
    Assistant(bool, Option<u8>),
    User(bool),
    Call(u8, Option<u8>, bool),
    Result(u8, u64, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = 0_u8..4;
    let step = prop_oneof![
        (any::<bool>(), prop::option::of(0_u8..3)).prop_map(|(side, id)| Step::Assistant(side, id)),
        any::<bool>().prop_map(Step::User),
        (id.clone(), prop::option::of(0_u8..3), any::<bool>())
            .prop_map(|(id, name, for_code)| Step::Call(id, name, for_code)),
        (id, 1_u64..9, prop::bool::weighted(0.1))
            .prop_map(|(id, size, toolset)| Step::Result(id, size, toolset)),
    ];
    prop::collection::vec(step, 0..40)
}

fn chain(is_sidechain: bool) -> Chain<String> {
    Chain {
        is_sidechain,
        agent_id: None,
    }
}

fn call(name: Option<u8>, is_for_code: bool) -> Call<String> {
    let names = ["Bash", "Read", MEMORY_TOOL];
    Call {
        tool_name: name.map(|name| names[usize::from(name)].to_owned()),
        is_for_code,
    }
}

fn found(id: u8, size_chars: u64, has_toolset: bool) -> Found<String> {
    Found {
        tool_use_id: id.to_string(),
        size_chars,
        has_toolset,
    }
}

/// Calls stand in assistant messages and results in user messages, as readers tell it.
fn both(steps: &[Step]) -> (Survey<String>, Columns<String>) {
    let mut collector = Collector::new();
    let mut columns = ColumnCollector::new();
    let mut is_user = true;
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Assistant(side, id) => {
                let id = id.map(|id| id.to_string());
                collector.begin_assistant(chain(side), id.clone());
                columns.begin_assistant(chain(side), id);
                is_user = false;
            }
            Step::User(side) => {
                collector.begin_user(chain(side));
                assert_eq!(columns.begin_user(index, chain(side)), Ok(()));
                is_user = true;
            }
            Step::Call(id, name, for_code) if !is_user => {
                collector.add_call(id.to_string(), call(name, for_code));
                columns.add_call(id.to_string(), call(name, for_code));
            }
            Step::Result(id, size, toolset) if is_user => {
                collector.add_result(found(id, size, toolset));
                let added = columns.add_result(found(id, size, toolset), index, Before::Fresh);
                assert_eq!(added, Ok(()));
            }
            Step::Call(..) | Step::Result(..) => {}
        }
    }
    let Ok(survey) = collector.finish(|name| Ok::<_, Infallible>(name == "Read"));
    let Ok(columns) = columns.finish(|name| Ok::<_, Infallible>(name == "Read"));
    (survey, columns)
}

proptest! {
    /// Rows, groups, names and exemptions are those of a survey.
    #[test]
    fn columns_are_a_survey_in_numbers(steps in steps()) {
        let (survey, columns) = both(&steps);
        prop_assert_eq!(columns.group.len(), survey.candidates().len());
        for (number, group) in survey.groups().iter().enumerate() {
            prop_assert_eq!(columns.is_followed[number], group.is_followed);
            for row in group.candidates.iter() {
                prop_assert_eq!(usize::try_from(columns.group[row]), Ok(number));
            }
        }
        let mut named = Vec::new();
        for (row, candidate) in survey.candidates().iter().enumerate() {
            let cell = columns.tool.get(row).and_then(|cell| usize::try_from(cell).ok());
            let code = cell.and_then(|cell| cell.checked_sub(1));
            let name = code.map(|code| &columns.tool_names[code]);
            prop_assert_eq!(name, candidate.tool_name.as_ref());
            let is_exempt = columns.standing[row] == Standing::Exempt;
            prop_assert_eq!(is_exempt, candidate.is_exempt);
            if let Some(code) = code && !named.contains(&code) {
                prop_assert_eq!(code, named.len());
                named.push(code);
            }
        }
        prop_assert_eq!(named.len(), columns.tool_names.len());
    }
}

#[test]
fn a_replacement_goes_before_exemption() {
    let mut columns = ColumnCollector::new();
    columns.begin_assistant(chain(false), None);
    columns.add_call("1".to_owned(), call(Some(1), false));
    assert_eq!(columns.begin_user(1, chain(false)), Ok(()));
    for (block, before) in (0..).zip([Before::Kept, Before::Replaced(4), Before::Reference]) {
        assert_eq!(columns.add_result(found(1, 9, true), block, before), Ok(()));
    }
    let Ok(columns) = columns.finish(|name| Ok::<_, Infallible>(name == "Read"));
    assert_eq!(
        columns.standing,
        [Standing::Exempt, Standing::Replaced, Standing::Exempt]
    );
    assert_eq!(columns.replaced, [(1, 4)]);
}

#[test]
fn the_first_text_of_the_first_group_gets_what_it_claims() {
    let mut columns = ColumnCollector::new();
    let text = |name: &str| Fingerprint::of(name.as_bytes(), 9);
    let claims = [
        (false, "no claim", 0),
        (true, "of the later group", 3),
        (false, "too short for it", 9),
        (false, "first", 3),
        (false, "first", 3),
        (false, "another text", 3),
    ];
    for (index, (side, name, replacement_chars)) in claims.into_iter().enumerate() {
        assert_eq!(columns.begin_user(index, chain(side)), Ok(()));
        let before = match replacement_chars {
            0 => Before::Fresh,
            chars => Before::Claimed(text(name), chars),
        };
        assert_eq!(columns.add_result(found(1, 9, false), 0, before), Ok(()));
    }
    let Ok(columns) = columns.finish(|_| Ok::<_, Infallible>(false));
    assert_eq!(columns.replaced, [(3, 3), (4, 3)]);
}
