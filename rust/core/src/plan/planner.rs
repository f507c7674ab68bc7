//! The running state of one call: what its earlier groups decided holds for its later ones.

use super::fresh::{Fresh, FreshResults};
use super::{Choice, Knowledge, Options, Plan};
use crate::choose::{Built as _, Choosable, Chosen, Totals, choose};
use crate::collect::{Candidate, SkipReason, Survey};
use crate::decision::{Decision, Key, Recorded as _, Rule};
use crate::hash::{KeyMap, KeySet};
use crate::replacement::REFERENCE_MAX_CHARS;
use crate::unit::Unit;

/// What holds about a result, wherever it was decided.
#[derive(Clone)]
enum Decided<R> {
    Earlier(Decision<R>),
    /// Chosen in an earlier group of this call: an index into the plan's choices.
    Chosen(usize),
}

pub(super) struct Planner<'a, K: Knowledge> {
    survey: &'a Survey<K::Text>,
    options: &'a Options,
    knowledge: &'a mut K,
    plan: Plan<K::Recorded, K::Built>,
    decided: KeyMap<Key<K::Text>, Decided<K::Recorded>>,
    /// Ids whose unapplied replacement was applied in this call.
    applied: KeySet<K::Text>,
}

impl<'a, K: Knowledge> Planner<'a, K> {
    pub(super) fn new(
        survey: &'a Survey<K::Text>,
        options: &'a Options,
        knowledge: &'a mut K,
    ) -> Self {
        Self {
            survey,
            options,
            knowledge,
            plan: Plan {
                choices: Vec::new(),
                kept: Vec::new(),
                adoptions: Vec::new(),
                changes: Vec::new(),
                totals: Vec::with_capacity(survey.groups().len()),
                skipped: survey.skipped().clone(),
                candidates: 0,
                chars_before: 0,
                chars_gained: 0,
            },
            decided: KeyMap::default(),
            applied: KeySet::default(),
        }
    }

    pub(super) fn finish(self) -> Plan<K::Recorded, K::Built> {
        self.plan
    }

    /// Partitions one group by earlier decisions, then chooses among its fresh results.
    pub(super) fn judge(&mut self, group: usize) -> Result<(), K::Error> {
        let survey = self.survey;
        let mut totals = Totals::default();
        let mut fresh = FreshResults::new();
        let of_group = &survey.groups()[group];
        for &index in &of_group.candidates {
            let candidate = &survey.candidates()[index];
            self.plan.chars_before += i128::from(candidate.size_chars);
            // As long as this call has decided nothing, only earlier ones can have done.
            let is_untouched = fresh.is_empty() && self.decided.is_empty();
            if is_untouched && !candidate.is_exempt && self.knowledge.is_surely_kept(index)? {
                self.count_kept(index, false, &mut totals)?;
                continue;
            }
            let fingerprint = self.knowledge.fingerprint(index)?;
            if is_untouched && let Some(earlier) = self.knowledge.earlier(index)? {
                self.follow(index, Decided::Earlier(earlier), group, &mut totals)?;
                continue;
            }
            let key = Key {
                tool_use_id: candidate.tool_use_id.clone(),
                fingerprint,
            };
            if fresh.add_occurrence(&key, index) {
                self.plan.candidates += 1;
            } else if let Some(decided) = self.decided(index, &key)? {
                self.follow(index, decided, group, &mut totals)?;
            } else if let Some(key) = self.settle(index, key, of_group.is_followed, &mut totals)? {
                fresh.insert(key, index);
                self.plan.candidates += 1;
            }
        }
        self.decide(fresh.into_items(), group, &mut totals)?;
        self.plan.totals.push(totals);
        Ok(())
    }

    fn decided(
        &mut self,
        index: usize,
        key: &Key<K::Text>,
    ) -> Result<Option<Decided<K::Recorded>>, K::Error> {
        if let Some(decided) = self.decided.get(key) {
            return Ok(Some(decided.clone()));
        }
        let earlier = self.knowledge.earlier(index)?;
        Ok(earlier.map(Decided::Earlier))
    }

    /// Applies the decision that was taken about the same result before.
    fn follow(
        &mut self,
        index: usize,
        decided: Decided<K::Recorded>,
        group: usize,
        totals: &mut Totals,
    ) -> Result<(), K::Error> {
        match decided {
            Decided::Earlier(Decision::Kept) => {
                let is_exempt = self.candidate(index).is_exempt;
                let is_reference = !is_exempt && self.is_reference(index)?;
                return self.count_kept(index, is_reference, totals);
            }
            Decided::Earlier(Decision::Replaced(replacement)) => {
                self.reapply(index, replacement, totals)?;
            }
            Decided::Chosen(choice) => {
                let choice = &mut self.plan.choices[choice];
                choice.followers.push((index, group));
                totals.standing += i128::from(choice.replacement.size(self.options.budget.unit));
            }
        }
        self.plan.candidates += 1;
        Ok(())
    }

    fn reapply(
        &mut self,
        index: usize,
        replacement: K::Recorded,
        totals: &mut Totals,
    ) -> Result<(), K::Error> {
        let replacement_chars = i128::from(replacement.size_chars());
        totals.standing += match self.options.budget.unit {
            Unit::Chars => replacement_chars,
            unit => self.knowledge.measure_recorded(&replacement, unit)?.into(),
        };
        self.plan.chars_gained += i128::from(self.candidate(index).size_chars) - replacement_chars;
        self.plan.changes.push((index, replacement));
        Ok(())
    }

    /// Counts a kept result: an exempt one not at all, a reference as a standing replacement.
    fn count_kept(
        &mut self,
        index: usize,
        is_reference: bool,
        totals: &mut Totals,
    ) -> Result<(), K::Error> {
        if self.candidate(index).is_exempt {
            self.plan.skipped.add(SkipReason::Exempt);
        } else if is_reference {
            self.plan.skipped.add(SkipReason::Reference);
            totals.standing += i128::from(self.size(index)?);
        } else {
            self.plan.candidates += 1;
            totals.frozen += i128::from(self.size(index)?);
        }
        Ok(())
    }

    /// The size of a candidate in the unit of the limit.
    #[inline]
    fn size(&mut self, index: usize) -> Result<u64, K::Error> {
        match self.options.budget.unit {
            Unit::Chars => Ok(self.candidate(index).size_chars),
            unit => self.measure(index, unit),
        }
    }

    /// Apart, so that what is asked for every result is small enough to be inlined.
    #[cold]
    fn measure(&mut self, index: usize, unit: Unit) -> Result<u64, K::Error> {
        self.knowledge.measure(index, unit)
    }

    /// Decides at once about a result that no selection is needed for; gives back the key of one
    /// that is fresh.
    fn settle(
        &mut self,
        index: usize,
        key: Key<K::Text>,
        is_followed: bool,
        totals: &mut Totals,
    ) -> Result<Option<Key<K::Text>>, K::Error> {
        let is_reference = self.is_reference(index)?;
        if !is_reference && let Some(foreign) = self.applicable(index)? {
            self.applied.insert(key.tool_use_id.clone());
            let decision = Decision::Replaced(foreign.clone());
            self.decided.insert(key, Decided::Earlier(decision));
            self.plan.adoptions.push((index, foreign.clone()));
            self.plan.candidates += 1;
            self.reapply(index, foreign, totals)?;
            return Ok(None);
        }
        let is_seen = match self.options.rule {
            Rule::Running => false,
            Rule::Resumed => is_followed,
            Rule::Seen => true,
        };
        if !(is_seen || self.candidate(index).is_exempt || is_reference) {
            return Ok(Some(key));
        }
        self.keep(index, key);
        self.count_kept(index, is_reference, totals)?;
        Ok(None)
    }

    /// The replacement of another program, known by its id alone, that fits a result.
    fn applicable(&mut self, index: usize) -> Result<Option<K::Recorded>, K::Error> {
        let candidate = self.candidate(index);
        if self.applied.contains(&candidate.tool_use_id) {
            return Ok(None);
        }
        let foreign = self.knowledge.unapplied(index)?;
        Ok(foreign.filter(|foreign| {
            let foreign_chars = foreign.size_chars();
            foreign_chars <= REFERENCE_MAX_CHARS && foreign_chars < candidate.size_chars
        }))
    }

    fn keep(&mut self, index: usize, key: Key<K::Text>) {
        self.decided.insert(key, Decided::Earlier(Decision::Kept));
        self.plan.kept.push(index);
    }

    fn is_reference(&mut self, index: usize) -> Result<bool, K::Error> {
        Ok(self.knowledge.is_known_replacement(index)?
            || self.candidate(index).size_chars <= REFERENCE_MAX_CHARS
                && self.knowledge.is_framed(index)?)
    }

    /// Decides about the fresh results of a group: chosen, or kept.
    fn decide(
        &mut self,
        mut fresh: Vec<Fresh<K::Text>>,
        group: usize,
        totals: &mut Totals,
    ) -> Result<(), K::Error> {
        let items = self.choosable(&fresh)?;
        totals.fresh = items.iter().map(|item| item.total()).sum();
        if self.options.leaves_fresh {
            return Ok(());
        }
        let mut choices: Vec<Option<usize>> = vec![None; fresh.len()];
        if let Some(chosen) = self.choose(&fresh, &items, totals)? {
            for (position, replacement) in chosen.taken {
                choices[position] = Some(self.plan.choices.len());
                self.plan.choices.push(Choice {
                    group,
                    occurrences: std::mem::take(&mut fresh[position].occurrences),
                    preview_bytes: chosen.preview_bytes,
                    replacement,
                    followers: Vec::new(),
                });
            }
        }
        for (item, choice) in fresh.into_iter().zip(choices) {
            if let Some(choice) = choice {
                self.decided.insert(item.key, Decided::Chosen(choice));
            } else {
                self.keep(item.occurrences[0], item.key);
            }
        }
        Ok(())
    }

    /// Chooses if the group is over its limit. What is taken are positions in `fresh`.
    fn choose(
        &mut self,
        fresh: &[Fresh<K::Text>],
        choosable: &[Choosable],
        totals: &mut Totals,
    ) -> Result<Option<Chosen<K::Built>>, K::Error> {
        let budget = &self.options.budget;
        let visible = totals.visible(budget.accounting);
        if fresh.is_empty() || !budget.limit.is_exceeded_by(visible) {
            return Ok(None);
        }
        let mut usable: Vec<usize> = Vec::with_capacity(fresh.len());
        for (position, item) in fresh.iter().enumerate() {
            if self.knowledge.prepare(item.occurrences[0])? {
                usable.push(position);
            }
        }
        let items: Vec<Choosable> = usable.iter().map(|&index| choosable[index]).collect();
        let mut chosen = choose(&items, totals, budget, |item, preview_bytes| {
            let candidate = fresh[usable[item]].occurrences[0];
            self.knowledge.build(candidate, preview_bytes)
        })?;
        for (item, _) in &mut chosen.taken {
            *item = usable[*item];
        }
        Ok(Some(chosen))
    }

    fn choosable(&mut self, fresh: &[Fresh<K::Text>]) -> Result<Vec<Choosable>, K::Error> {
        let mut items = Vec::with_capacity(fresh.len());
        for item in fresh {
            let first = item.occurrences[0];
            items.push(Choosable {
                size_chars: self.candidate(first).size_chars,
                size: self.size(first)?,
                occurrences: item.occurrences.len(),
            });
        }
        Ok(items)
    }

    fn candidate(&self, index: usize) -> &'a Candidate<K::Text> {
        &self.survey.candidates()[index]
    }
}
