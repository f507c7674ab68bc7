//! The rules, one by one.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use toolbudget_core::{Accounting, Rule, count_chars, is_framed_reference};

use super::case::{Case, Item};
use super::memory::build;

type Identity = (u8, String);

/// What a call decides. Items are meant by their indices.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What stands in for those that are replaced.
    pub(crate) texts: HashMap<usize, Vec<u8>>,
    /// The first of each result that is newly kept.
    pub(crate) kept: HashSet<usize>,
    pub(crate) adopted: Vec<usize>,
    /// What each group shows in the end.
    pub(crate) visible: Vec<i128>,
    decided: HashMap<Identity, Option<Vec<u8>>>,
    used: HashSet<u8>,
}

/// The state of one result when its group is judged.
enum Standing {
    Kept,
    Replaced(Vec<u8>),
    Fresh,
}

impl Outcome {
    pub(crate) fn of(case: &Case) -> Self {
        let mut outcome = Self::default();
        for group in 0..case.groups() {
            outcome.judge(case, group);
        }
        outcome
    }

    fn judge(&mut self, case: &Case, group: usize) {
        let mut fresh: Vec<(Identity, Vec<usize>)> = Vec::new();
        let mut fixed = 0;
        let indices = (0..case.items.len()).filter(|&index| case.items[index].group == group);
        for index in indices {
            let item = &case.items[index];
            let identity = identity(item);
            if let Some((_, places)) = fresh.iter_mut().find(|(known, _)| *known == identity) {
                places.push(index);
                continue;
            }
            match self.settle(case, index) {
                Standing::Fresh => fresh.push((identity, vec![index])),
                Standing::Kept if item.is_exempt => {}
                Standing::Kept => {
                    let is_standing = is_reference(case, item);
                    fixed += if is_standing {
                        standing(case, item.text.as_bytes())
                    } else {
                        case.weight(item.text.as_bytes())
                    };
                }
                Standing::Replaced(text) => {
                    fixed += standing(case, &text);
                    self.texts.insert(index, text);
                }
            }
        }
        self.decide(case, &fresh, fixed);
    }

    fn settle(&mut self, case: &Case, index: usize) -> Standing {
        let item = &case.items[index];
        if let Some(decided) = self.decided(case, item) {
            return decided;
        }
        let is_reference = is_reference(case, item);
        let foreign = case.past.unapplied.get(&item.id);
        if let Some(text) = foreign
            && !is_reference
            && !self.used.contains(&item.id)
            && text.chars().count() <= 16_384
            && size(text.as_bytes()) < item.size()
        {
            let text = text.clone().into_bytes();
            self.used.insert(item.id);
            self.adopted.push(index);
            self.decided.insert(identity(item), Some(text.clone()));
            return Standing::Replaced(text);
        }
        let is_seen = match case.rule {
            Rule::Running => false,
            Rule::Resumed => case.is_followed(item.group),
            Rule::Seen => true,
        };
        if is_seen || item.is_exempt || is_reference {
            self.kept.insert(index);
            self.decided.insert(identity(item), None);
            return Standing::Kept;
        }
        Standing::Fresh
    }

    fn decided(&self, case: &Case, item: &Item) -> Option<Standing> {
        let identity = identity(item);
        let decision = self.decided.get(&identity).cloned().or_else(|| {
            let earlier = case.past.decisions.get(&identity)?;
            Some(earlier.clone().map(String::into_bytes))
        });
        decision.map(|decision| decision.map_or(Standing::Kept, Standing::Replaced))
    }

    fn decide(&mut self, case: &Case, fresh: &[(Identity, Vec<usize>)], fixed: i128) {
        let whole =
            |places: &[usize]| case.weight(case.items[places[0]].text.as_bytes()) * count(places);
        let total = fixed + fresh.iter().map(|(_, places)| whole(places)).sum::<i128>();
        let mut visible = total;
        let mut taken = HashMap::new();
        if !case.leaves_fresh && total > case.limit {
            (taken, visible) = take(case, fresh, fixed, total);
        }
        self.visible.push(visible);
        for (position, (identity, places)) in fresh.iter().enumerate() {
            if case.leaves_fresh {
                continue;
            }
            let decision = taken.remove(&position);
            if let Some(text) = &decision {
                let texts = places.iter().map(|&index| (index, text.clone()));
                self.texts.extend(texts);
            } else {
                self.kept.insert(places[0]);
            }
            self.decided.insert(identity.clone(), decision);
        }
    }
}

/// Chooses by B6: the replacement of each one taken by its position, and what is visible then.
fn take(
    case: &Case,
    fresh: &[(Identity, Vec<usize>)],
    fixed: i128,
    total: i128,
) -> (HashMap<usize, Vec<u8>>, i128) {
    let mut order: Vec<usize> = (0..fresh.len()).collect();
    order.sort_by_key(|&position| Reverse(case.items[fresh[position].1[0]].size()));
    let may_shrink = case.accounting == Accounting::Visible && fixed <= case.limit;
    let mut result = (HashMap::new(), total);
    for percent in [100, 50, 25, 10, 0] {
        let mut taken = HashMap::new();
        let mut visible = total;
        for &position in &order {
            let places = &fresh[position].1;
            let item = &case.items[places[0]];
            let built = build(item, case.preview_bytes * percent / 100);
            let is_shorter = size(&built.text) < item.size();
            if visible > case.limit && is_shorter && !item.is_refused {
                let change = standing(case, &built.text) - case.weight(item.text.as_bytes());
                visible += change * count(places);
                taken.insert(position, built.text);
            }
        }
        result = (taken, visible);
        if visible <= case.limit || !may_shrink {
            break;
        }
    }
    result
}

/// What a replacement counts.
fn standing(case: &Case, text: &[u8]) -> i128 {
    match case.accounting {
        Accounting::Visible => case.weight(text),
        Accounting::Originals => 0,
    }
}

fn is_reference(case: &Case, item: &Item) -> bool {
    let text = item.text.as_bytes();
    case.past.replacements.contains(&item.text) || is_framed_reference(text, count_chars(text))
}

fn identity(item: &Item) -> Identity {
    (item.id, item.text.clone())
}

fn size(text: &[u8]) -> i128 {
    i128::from(count_chars(text))
}

fn count(places: &[usize]) -> i128 {
    i128::try_from(places.len()).unwrap()
}
