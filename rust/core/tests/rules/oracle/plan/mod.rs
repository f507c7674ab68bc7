//! Whole calls.

mod case;
mod memory;
mod rules;

pub(crate) use case::{Case, Item, Past};

use std::collections::HashMap;
use std::iter;

use toolbudget_core::{Choice, Plan, Replacement, plan};

use memory::{Memory, RecordedText};
use rules::Outcome;

/// Plans a case, and compares every decision with what the rules say, read one by one.
///
/// # Panics
///
/// They differ.
pub(crate) fn check(case: &Case) {
    let survey = case.survey();
    let Ok(plan) = plan(&survey, &case.options(), &mut Memory { case });
    let expected = Outcome::of(case);
    let kept: Vec<usize> = plan.kept.clone();
    assert_eq!(kept.len(), expected.kept.len());
    for index in kept {
        assert!(expected.kept.contains(&index));
    }
    assert_eq!(texts_of(&plan), expected.texts);
    let adopted: Vec<usize> = plan.adoptions.iter().map(|(index, _)| *index).collect();
    assert_eq!(adopted, expected.adopted);
    let visible: Vec<i128> = plan
        .totals
        .iter()
        .map(|totals| totals.visible(case.accounting))
        .collect();
    assert_eq!(visible, expected.visible);
    for choice in &plan.choices {
        assert!(occurrences(choice).all(|index| case.items[index].group == choice.group));
        assert!(
            choice
                .followers
                .iter()
                .all(|&(index, group)| case.items[index].group == group)
        );
    }
}

/// The candidates of its group that a choice is about.
fn occurrences(choice: &Choice<Replacement>) -> impl Iterator<Item = usize> {
    iter::once(choice.first).chain(choice.later.iter().copied())
}

/// What stands in for each replaced candidate.
fn texts_of(plan: &Plan<RecordedText, Replacement>) -> HashMap<usize, Vec<u8>> {
    let mut texts = HashMap::new();
    for (index, text) in &plan.changes {
        texts.insert(*index, text.0.clone().into_bytes());
    }
    for choice in &plan.choices {
        let followers = choice.followers.iter().map(|&(index, _)| index);
        for index in occurrences(choice).chain(followers) {
            texts.insert(index, choice.replacement.text.clone());
        }
    }
    texts
}
