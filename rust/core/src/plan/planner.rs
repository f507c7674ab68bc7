//! The running state of one call: what its earlier groups decided holds for its later ones.

mod deciding;

use std::hash::BuildHasher as _;
use std::mem;

use super::fresh::Fresh;
use super::met::{Decided, Met, Place};
use super::{Knowledge, Options, Plan};
use crate::choose::{Built as _, Totals};
use crate::collect::{Candidate, SkipReason, Survey};
use crate::decision::{Decision, Recorded as _, Rule};
use crate::hash::{KeySet, KeyState, Table};
use crate::replacement::{REFERENCE_MAX_CHARS, is_applicable};
use crate::unit::Unit;

/// The group that is judged.
struct OpenGroup {
    group: usize,
    is_followed: bool,
    totals: Totals,
    fresh: Vec<Fresh>,
}

pub(super) struct Planner<'a, K: Knowledge> {
    survey: &'a Survey<K::Text>,
    options: &'a Options,
    knowledge: &'a mut K,
    plan: Plan<K::Recorded, K::Built>,
    met: Table<Met<K::Recorded>>,
    /// Ids whose unapplied replacement was applied in this call.
    applied: KeySet<K::Text>,
    /// Room for the fresh results of the group that is judged next.
    room: Vec<Fresh>,
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
            met: Table::new(),
            applied: KeySet::default(),
            room: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Plan<K::Recorded, K::Built> {
        self.plan
    }

    /// Partitions one group by earlier decisions, then chooses among its fresh results.
    pub(super) fn judge(&mut self, group: usize) -> Result<(), K::Error> {
        let of_group = &self.survey.groups()[group];
        let mut open = OpenGroup {
            group,
            is_followed: of_group.is_followed,
            totals: Totals::default(),
            fresh: mem::take(&mut self.room),
        };
        if self.keep_if_surely_fresh(&of_group.candidates, &mut open)? {
            self.plan.totals.push(open.totals);
            self.room = open.fresh;
            return Ok(());
        }
        for index in of_group.candidates.iter() {
            let candidate = self.candidate(index);
            self.plan.chars_before += i128::from(candidate.size_chars);
            if !candidate.is_exempt && self.knowledge.is_surely_kept(index)? {
                self.count_kept(index, false, &mut open.totals)?;
            } else {
                self.judge_result(index, &mut open)?;
            }
        }
        self.decide(&mut open)?;
        self.plan.totals.push(open.totals);
        self.room = open.fresh;
        self.room.clear();
        Ok(())
    }

    fn judge_result(&mut self, index: usize, open: &mut OpenGroup) -> Result<(), K::Error> {
        if self.survey.has_distinct_ids() {
            if self.is_surely_fresh(index, open)? {
                self.add_fresh(Fresh::new(None, index), open);
                return Ok(());
            }
            return self.judge_new(index, None, open);
        }
        let place = self.find(index)?;
        match place.known.map(|known| &self.met.get(known).decided) {
            Some(&Decided::Fresh { group, position }) if group == open.group => {
                open.fresh[position].add_occurrence(index);
                self.plan.candidates += 1;
                return Ok(());
            }
            // A group whose fresh results were left decides nothing about a later one.
            None | Some(Decided::Fresh { .. }) => {}
            Some(Decided::Earlier(decision)) => {
                return self.follow(index, decision.clone(), open);
            }
            Some(&Decided::Chosen(choice)) => {
                self.follow_choice(index, choice, open);
                return Ok(());
            }
        }
        self.judge_new(index, Some(place), open)
    }

    /// Judges a result that this call has not met before; without a place, it does not meet it again.
    fn judge_new(
        &mut self,
        index: usize,
        place: Option<Place>,
        open: &mut OpenGroup,
    ) -> Result<(), K::Error> {
        if let Some(earlier) = self.knowledge.earlier(index)? {
            return self.follow(index, earlier, open);
        }
        let settled = self.settle(index, open)?;
        let is_fresh = settled.is_none();
        let fresh = Decided::Fresh {
            group: open.group,
            position: open.fresh.len(),
        };
        let place =
            place.map(|place| self.meet(place, index, settled.map_or(fresh, Decided::Earlier)));
        if is_fresh {
            self.add_fresh(Fresh::new(place, index), open);
        }
        Ok(())
    }

    /// Whether nothing can hold about a result but that it is fresh, as nearly always on a first pass.
    #[inline]
    fn is_surely_fresh(&mut self, index: usize, open: &OpenGroup) -> Result<bool, K::Error> {
        let is_decided_at_once = self.is_seen(open) || self.candidate(index).is_exempt;
        Ok(self.knowledge.knows_nothing() && !is_decided_at_once && !self.is_framed(index)?)
    }

    /// Whether the model has seen the results of a group, by the rule.
    const fn is_seen(&self, open: &OpenGroup) -> bool {
        match self.options.rule {
            Rule::Running => false,
            Rule::Resumed => open.is_followed,
            Rule::Seen => true,
        }
    }

    #[inline]
    fn add_fresh(&mut self, fresh: Fresh, open: &mut OpenGroup) {
        if open.fresh.is_empty() {
            let of_group = &self.survey.groups()[open.group];
            open.fresh.reserve(of_group.candidates.len());
        }
        open.fresh.push(fresh);
        self.plan.candidates += 1;
    }

    /// Finds the same result, if this call has met it. Texts are told apart if ids do not do it.
    fn find(&mut self, index: usize) -> Result<Place, K::Error> {
        let tool_use_id = &self.candidate(index).tool_use_id;
        let hash = KeyState.hash_one(tool_use_id);
        let is_of_id = |met: &Met<_>| self.candidate(met.candidate).tool_use_id == *tool_use_id;
        let first = self
            .met
            .find(hash, |met| met.fingerprint.is_none() && is_of_id(met));
        let Some(first) = first else {
            return Ok(Place {
                hash,
                fingerprint: None,
                known: None,
            });
        };
        self.find_by_text(index, hash, first)
    }

    /// Finds the same result among those with its id, of which `first` was met at first.
    #[cold]
    fn find_by_text(&mut self, index: usize, hash: u64, first: usize) -> Result<Place, K::Error> {
        let fingerprint = self.knowledge.fingerprint(index)?;
        let other = self.met.get(first).candidate;
        if self.knowledge.fingerprint(other)? == fingerprint {
            return Ok(Place {
                hash,
                fingerprint: None,
                known: Some(first),
            });
        }
        let tool_use_id = &self.candidate(index).tool_use_id;
        let hash = KeyState.hash_one((tool_use_id, fingerprint));
        let fingerprint = Some(Box::new(fingerprint));
        let known = self.met.find(hash, |met| {
            met.fingerprint == fingerprint
                && self.candidate(met.candidate).tool_use_id == *tool_use_id
        });
        Ok(Place {
            hash,
            fingerprint,
            known,
        })
    }

    /// Takes note of a result, in the place that it has if there is one; gives the place.
    fn meet(&mut self, place: Place, candidate: usize, decided: Decided<K::Recorded>) -> usize {
        let met = Met {
            candidate,
            fingerprint: place.fingerprint,
            decided,
        };
        if let Some(known) = place.known {
            *self.met.get_mut(known) = met;
            known
        } else {
            self.met.expect(self.survey.candidates().len() - candidate);
            self.met.add(place.hash, met)
        }
    }

    /// Applies the decision that was taken about the same result before.
    fn follow(
        &mut self,
        index: usize,
        decision: Decision<K::Recorded>,
        open: &mut OpenGroup,
    ) -> Result<(), K::Error> {
        match decision {
            Decision::Kept => {
                let is_exempt = self.candidate(index).is_exempt;
                let is_reference = !is_exempt && self.is_reference(index)?;
                self.count_kept(index, is_reference, &mut open.totals)
            }
            Decision::Replaced(replacement) => {
                self.plan.candidates += 1;
                self.reapply(index, replacement, &mut open.totals)
            }
        }
    }

    /// Applies a choice of an earlier group of this call.
    fn follow_choice(&mut self, index: usize, choice: usize, open: &mut OpenGroup) {
        let choice = &mut self.plan.choices[choice];
        choice.followers.push((index, open.group));
        open.totals.standing += i128::from(choice.replacement.size(self.options.budget.unit));
        self.plan.candidates += 1;
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

    /// Decides at once about a result that no selection is needed for; `None` for one that is fresh.
    fn settle(
        &mut self,
        index: usize,
        open: &mut OpenGroup,
    ) -> Result<Option<Decision<K::Recorded>>, K::Error> {
        let is_reference = self.is_reference(index)?;
        if !is_reference && let Some(foreign) = self.applicable(index)? {
            self.applied
                .insert(self.candidate(index).tool_use_id.clone());
            self.plan.adoptions.push((index, foreign.clone()));
            self.plan.candidates += 1;
            self.reapply(index, foreign.clone(), &mut open.totals)?;
            return Ok(Some(Decision::Replaced(foreign)));
        }
        if !(self.is_seen(open) || self.candidate(index).is_exempt || is_reference) {
            return Ok(None);
        }
        self.plan.kept.push(index);
        self.count_kept(index, is_reference, &mut open.totals)?;
        Ok(Some(Decision::Kept))
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
            is_applicable(foreign_chars, candidate.size_chars)
        }))
    }

    fn is_reference(&mut self, index: usize) -> Result<bool, K::Error> {
        Ok(self.knowledge.is_known_replacement(index)? || self.is_framed(index)?)
    }

    #[inline]
    fn is_framed(&mut self, index: usize) -> Result<bool, K::Error> {
        Ok(self.candidate(index).size_chars <= REFERENCE_MAX_CHARS
            && self.knowledge.is_framed(index)?)
    }

    fn candidate(&self, index: usize) -> &'a Candidate<K::Text> {
        &self.survey.candidates()[index]
    }
}
