//! Whole calls against the rules.

use proptest::collection::vec;
use proptest::prelude::*;
use toolbudget_core::{Accounting, Rule, Unit};

use crate::oracle::plan::{Case, Item, Past, check};

/// Texts of a few lengths, often equal; some are references by their frame.
fn text() -> impl Strategy<Value = String> {
    let plain = (0_usize..3, prop::sample::select(vec![1, 90, 150, 151, 400]));
    prop_oneof![
        9 => plain.prop_map(|(letter, length)| ["a", "é", "b\n"][letter].repeat(length)),
        1 => Just("<persisted-output>\nsaved\n</persisted-output>".to_owned()),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let is_refused = prop::bool::weighted(0.1);
    (
        any::<bool>(),
        // Each often stands for one result alone, and often for several.
        prop_oneof![0_u8..4, 4_u8..=255],
        text(),
        prop::bool::weighted(0.1),
        is_refused,
    )
        .prop_map(|(begins_group, id, text, is_exempt, is_refused)| Item {
            group: usize::from(begins_group),
            id,
            text,
            is_exempt,
            is_refused,
        })
}

/// Numbers the groups by the marks where one begins.
fn number(mut items: Vec<Item>) -> Vec<Item> {
    let mut group = 0;
    for (index, item) in items.iter_mut().enumerate() {
        group += if index == 0 { 0 } else { item.group };
        item.group = group;
    }
    items
}

/// What was decided about some of the items.
fn past(items: Vec<Item>) -> impl Strategy<Value = (Vec<Item>, Past)> {
    let count = items.len();
    (any::<bool>(), vec(0_u8..12, count)).prop_map(move |(is_first, marks)| {
        let mut past = Past::default();
        if is_first {
            return (items.clone(), past);
        }
        for (item, mark) in items.iter().zip(marks) {
            let identity = (item.id, item.text.clone());
            match mark {
                0 => drop(past.decisions.insert(identity, None)),
                1 => drop(past.decisions.insert(identity, Some("recorded".to_owned()))),
                2 => drop(past.replacements.insert(item.text.clone())),
                3 => drop(past.unapplied.insert(item.id, "f".repeat(90))),
                _ => {}
            }
        }
        (items.clone(), past)
    })
}

prop_compose! {
    fn case()(
        (items, past) in vec(item(), 0..12).prop_map(number).prop_flat_map(past),
        limit in 0_i128..1_500,
        preview_bytes in 0_i128..250,
        accounting in prop::sample::select(vec![Accounting::Visible, Accounting::Originals]),
        rule in prop::sample::select(vec![Rule::Running, Rule::Running, Rule::Resumed, Rule::Seen]),
        leaves_fresh in prop::bool::weighted(0.1),
        (is_answered, has_calls) in any::<(bool, bool)>(),
        unit in prop::sample::select(vec![Unit::Chars, Unit::Tokens, Unit::Bytes]),
    ) -> Case {
        // A token is worth several characters.
        let limit = if unit == Unit::Tokens { limit / 4 } else { limit };
        Case {
            items, past, limit, preview_bytes, accounting, unit, rule, leaves_fresh, is_answered,
            has_calls,
        }
    }
}

proptest! {
    #[test]
    fn a_call_decides_what_the_rules_say(case in case()) {
        check(&case);
    }
}
