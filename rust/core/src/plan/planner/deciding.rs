//! Deciding about the fresh results of one group.

use super::{OpenGroup, Planner};
use crate::choose::{Choosable, Chosen, ReplacementSize, ReplacementSizes, Totals, choose};
use crate::collect::Members;
use crate::decision::Decision;
use crate::plan::fresh::Fresh;
use crate::plan::met::Decided;
use crate::plan::{Choice, Knowledge};
use crate::replacement::Outlook;
use crate::unit::Unit;

impl<K: Knowledge> Planner<'_, K> {
    /// Keeps all of a group that is within the limit and surely fresh, as most are on a first pass;
    /// tells whether it did.
    pub(super) fn keep_if_surely_fresh(
        &mut self,
        members: &Members,
        open: &mut OpenGroup,
    ) -> Result<bool, K::Error> {
        let budget = &self.options.budget;
        let is_counted = budget.unit == Unit::Chars && !self.options.leaves_fresh;
        if !(is_counted && self.survey.has_distinct_ids() && self.knowledge.knows_nothing()) {
            return Ok(false);
        }
        let sizes = members.iter().map(|index| self.candidate(index).size_chars);
        let size = sizes.map(i128::from).sum();
        if budget.limit.is_exceeded_by(size) {
            return Ok(false);
        }
        for index in members.iter() {
            if !self.is_surely_fresh(index, open)? {
                return Ok(false);
            }
        }
        open.totals.fresh = size;
        self.plan.chars_before += size;
        self.plan.candidates += members.len() as u64;
        self.plan.kept.extend(members.iter());
        Ok(true)
    }

    /// Decides about the fresh results of a group: chosen, or kept.
    pub(super) fn decide(&mut self, open: &mut OpenGroup) -> Result<(), K::Error> {
        let OpenGroup {
            group,
            totals,
            fresh,
            ..
        } = open;
        for item in &mut *fresh {
            item.size = self.size(item.first)?;
            totals.fresh += self.choosable(item).total();
        }
        let budget = &self.options.budget;
        if self.options.leaves_fresh || fresh.is_empty() {
            return Ok(());
        }
        let mut choices: Vec<Option<usize>> = Vec::new();
        if budget
            .limit
            .is_exceeded_by(totals.visible(budget.accounting))
        {
            choices.resize(fresh.len(), None);
            let chosen = self.choose(fresh, totals)?;
            self.plan.choices.reserve(chosen.taken.len());
            for position in chosen.taken {
                choices[position] = Some(self.plan.choices.len());
                let item = &mut fresh[position];
                let preview_bytes = chosen.preview_bytes;
                self.plan.choices.push(Choice {
                    group: *group,
                    preview_bytes,
                    replacement: self.knowledge.build(item.first, preview_bytes)?,
                    first: item.first,
                    later: item.take_later(),
                    followers: Vec::new(),
                });
            }
        }
        if choices.is_empty() && self.survey.has_distinct_ids() {
            self.plan.kept.extend(fresh.iter().map(|item| item.first));
        } else {
            self.note_choices(fresh, &choices);
        }
        Ok(())
    }

    /// Takes note of what became of fresh results; without a choice they are kept.
    fn note_choices(&mut self, fresh: &[Fresh], choices: &[Option<usize>]) {
        for (position, item) in fresh.iter().enumerate() {
            let choice = choices.get(position).copied().flatten();
            if choice.is_none() {
                self.plan.kept.push(item.first);
            }
            if let Some(place) = item.place {
                let kept = Decided::Earlier(Decision::Kept);
                self.met.get_mut(place).decided = choice.map_or(kept, Decided::Chosen);
            }
        }
    }

    /// Chooses in a group that is over its limit. What is taken are positions in `fresh`.
    fn choose(&mut self, fresh: &[Fresh], totals: &mut Totals) -> Result<Chosen, K::Error> {
        let budget = &self.options.budget;
        let mut usable: Vec<usize> = Vec::with_capacity(fresh.len());
        let mut items: Vec<Choosable> = Vec::with_capacity(fresh.len());
        for (position, item) in fresh.iter().enumerate() {
            if self.knowledge.prepare(item.first)? {
                usable.push(position);
                items.push(self.choosable(item));
            }
        }
        let sizes = FreshSizes {
            knowledge: &mut *self.knowledge,
            unit: budget.unit,
            fresh,
            usable: &usable,
        };
        let mut chosen = choose(&items, totals, budget, sizes)?;
        for item in &mut chosen.taken {
            *item = usable[*item];
        }
        Ok(chosen)
    }

    /// A fresh result with its sizes.
    fn choosable(&self, item: &Fresh) -> Choosable {
        Choosable {
            size_chars: self.candidate(item.first).size_chars,
            size: item.size,
            occurrences: item.count(),
        }
    }
}

/// Sizes of the replacements of those fresh results that may be chosen.
struct FreshSizes<'a, K> {
    knowledge: &'a mut K,
    unit: Unit,
    fresh: &'a [Fresh],
    /// Positions in `fresh`, by item.
    usable: &'a [usize],
}

impl<K> FreshSizes<'_, K> {
    fn candidate(&self, item: usize) -> usize {
        self.fresh[self.usable[item]].first
    }
}

impl<K: Knowledge> ReplacementSizes for FreshSizes<'_, K> {
    type Error = K::Error;

    fn outlook_of_all(&self) -> Outlook {
        self.knowledge.outlook_of_all()
    }

    fn outlook(&mut self, item: usize, preview_bytes: i128) -> Result<Outlook, K::Error> {
        let candidate = self.candidate(item);
        self.knowledge.outlook(candidate, preview_bytes)
    }

    /// Only the size in characters is known before a replacement is built.
    fn size(&mut self, item: usize, preview_bytes: i128) -> Result<ReplacementSize, K::Error> {
        let candidate = self.candidate(item);
        match self.unit {
            Unit::Chars => {
                let chars = self.knowledge.replacement_chars(candidate, preview_bytes)?;
                Ok(ReplacementSize::in_chars(chars))
            }
            unit => {
                let built = self.knowledge.build(candidate, preview_bytes)?;
                Ok(ReplacementSize::of(&built, unit))
            }
        }
    }
}
