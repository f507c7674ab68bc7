//! Planning: what one call decides, before anything is stored, recorded or changed.

mod fresh;
mod met;
mod planner;

use std::hash::Hash;

use crate::choose::{Budget, Built, Totals};
use crate::collect::{Skipped, Survey};
use crate::decision::{Decision, Recorded, Rule};
use crate::fingerprint::Fingerprint;
use crate::replacement::Outlook;
use crate::unit::Unit;
use planner::Planner;

/// By which rules to decide.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The limit of each group.
    pub budget: Budget,
    /// What an undecided result is.
    pub rule: Rule,
    /// Decide nothing about fresh results: only what the rule settles.
    pub leaves_fresh: bool,
}

/// What planning has to ask about the candidates of a survey, which it knows by their indices.
///
/// Nothing is asked that is not needed, so that answers may be worked out when they are.
pub trait Knowledge {
    /// Ids and names.
    type Text: Clone + Eq + Hash;
    /// Replacements that were recorded.
    type Recorded: Recorded;
    /// Replacements that are built now.
    type Built: Built;
    /// What may go wrong; planning ends with the first one.
    type Error;

    /// Whether nothing at all is known of earlier decisions, replacements and records, so that they
    /// need not be asked for. To say no is never wrong.
    fn knows_nothing(&self) -> bool {
        false
    }

    /// Whether a candidate is surely one that was decided to be kept and is no replacement, so that
    /// nothing else need be asked about it. To say no is never wrong.
    ///
    /// # Errors
    ///
    /// The text, or earlier decisions, cannot be read.
    fn is_surely_kept(&mut self, candidate: usize) -> Result<bool, Self::Error> {
        let _ = candidate;
        Ok(false)
    }

    /// The size of a candidate's text in a unit, which is not that of characters.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn measure(&mut self, candidate: usize, unit: Unit) -> Result<u64, Self::Error>;

    /// The size of a recorded replacement in such a unit.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn measure_recorded(
        &mut self,
        recorded: &Self::Recorded,
        unit: Unit,
    ) -> Result<u64, Self::Error>;

    /// The fingerprint of a candidate's text. It is asked where ids alone do not tell results apart.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn fingerprint(&mut self, candidate: usize) -> Result<Fingerprint, Self::Error>;

    /// The decision about a candidate's id and fingerprint.
    ///
    /// # Errors
    ///
    /// Earlier decisions cannot be read.
    fn earlier(
        &mut self,
        candidate: usize,
    ) -> Result<Option<Decision<Self::Recorded>>, Self::Error>;

    /// A replacement that another program recorded for a candidate's id, without a fingerprint.
    ///
    /// # Errors
    ///
    /// Earlier decisions cannot be read.
    fn unapplied(&mut self, candidate: usize) -> Result<Option<Self::Recorded>, Self::Error>;

    /// Whether a candidate's text is a replacement that this conversation or its parents made.
    ///
    /// # Errors
    ///
    /// Earlier decisions cannot be read.
    fn is_known_replacement(&mut self, candidate: usize) -> Result<bool, Self::Error>;

    /// Whether a candidate's text is framed; see
    /// [`is_framed_reference`](crate::is_framed_reference). It is asked about short texts only.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn is_framed(&mut self, candidate: usize) -> Result<bool, Self::Error>;

    /// Makes the text of a candidate ready to be stored and shown; `false` passes it over.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn prepare(&mut self, candidate: usize) -> Result<bool, Self::Error>;

    /// What is known of every text that would be shown, without a look at it.
    fn outlook_of_all(&self) -> Outlook {
        Outlook::Unknown
    }

    /// What is known of the text that would be shown of a prepared candidate, at most so many bytes
    /// of it; see [`Outlook`]. To know nothing is never wrong.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn outlook(&mut self, candidate: usize, preview_bytes: i128) -> Result<Outlook, Self::Error> {
        let _ = (candidate, preview_bytes);
        Ok(Outlook::Unknown)
    }

    /// Characters of the replacement that [`build`](Self::build) would build.
    ///
    /// # Errors
    ///
    /// What the replacement says cannot be found out.
    fn replacement_chars(
        &mut self,
        candidate: usize,
        preview_bytes: i128,
    ) -> Result<u64, Self::Error> {
        Ok(self.build(candidate, preview_bytes)?.size_chars())
    }

    /// Builds the replacement of a prepared candidate with a preview of so many bytes.
    ///
    /// # Errors
    ///
    /// What the replacement says cannot be found out.
    fn build(&mut self, candidate: usize, preview_bytes: i128) -> Result<Self::Built, Self::Error>;
}

/// A fresh result to be replaced, once it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<B> {
    /// The group in which it was chosen.
    pub group: usize,
    /// The first candidate of that group that it is about.
    pub first: usize,
    /// The others that it is about, in order; as a rule none.
    pub later: Vec<usize>,
    /// Size of the preview at the step that was chosen.
    pub preview_bytes: i128,
    /// What is to stand in for it.
    pub replacement: B,
    /// Candidates of later groups that follow the choice, each with its group.
    pub followers: Vec<(usize, usize)>,
}

/// What a call decides, and what it would change. Candidates are indices into the survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<R, B> {
    /// Fresh results to be replaced.
    pub choices: Vec<Choice<B>>,
    /// Results decided to be kept.
    pub kept: Vec<usize>,
    /// Decisions of another program that were applied for the first time.
    pub adoptions: Vec<(usize, R)>,
    /// Recorded replacements to be put in again.
    pub changes: Vec<(usize, R)>,
    /// Sizes by group, in the unit of the limit.
    pub totals: Vec<Totals>,
    /// Results that are no candidates, by reason.
    pub skipped: Skipped,
    /// How many results this call decided about, or had been decided about.
    pub candidates: u64,
    /// Characters of all text results as given.
    pub chars_before: i128,
    /// Characters that `changes` save.
    pub chars_gained: i128,
}

/// Decides about every result of a survey that is not decided yet.
///
/// # Errors
///
/// Those of `knowledge`.
///
/// ```
/// use std::collections::TryReserveError;
/// use toolbudget_core::{
///     Accounting, Budget, Chain, Collector, Decision, Fingerprint, Found, Knowledge, Measure,
///     Options, Original, Replacement, Rule, Unit, plan,
/// };
///
/// /// Texts of which nothing is known yet.
/// struct Unknown([String; 2]);
///
/// type Answer<T> = Result<T, TryReserveError>;
///
/// impl Knowledge for Unknown {
///     type Text = String;
///     type Recorded = Replacement;
///     type Built = Replacement;
///     type Error = TryReserveError;
///
///     fn measure(&mut self, candidate: usize, unit: Unit) -> Answer<u64> {
///         Ok(Measure::of(self.0[candidate].as_bytes(), unit))
///     }
///     fn measure_recorded(&mut self, recorded: &Replacement, unit: Unit) -> Answer<u64> {
///         Ok(Measure::of(&recorded.text, unit))
///     }
///     fn fingerprint(&mut self, candidate: usize) -> Answer<Fingerprint> {
///         let text = self.0[candidate].as_bytes();
///         Ok(Fingerprint::of(text, text.len() as u64))
///     }
///     fn earlier(&mut self, _: usize) -> Answer<Option<Decision<Replacement>>> {
///         Ok(None)
///     }
///     fn unapplied(&mut self, _: usize) -> Answer<Option<Replacement>> {
///         Ok(None)
///     }
///     fn is_known_replacement(&mut self, _: usize) -> Answer<bool> {
///         Ok(false)
///     }
///     fn is_framed(&mut self, _: usize) -> Answer<bool> {
///         Ok(false)
///     }
///     fn prepare(&mut self, _: usize) -> Answer<bool> {
///         Ok(true)
///     }
///     fn build(&mut self, candidate: usize, preview_bytes: i128) -> Answer<Replacement> {
///         let text = self.0[candidate].as_bytes();
///         let size_bytes = text.len() as i128;
///         Original { head: text, size_bytes, path: b"/t", reader_hint: None }
///             .build_replacement(preview_bytes)
///     }
/// }
///
/// let mut texts = Unknown(["a".repeat(500), "b".repeat(900)]);
/// let mut collector = Collector::new();
/// collector.begin_user(Chain::default());
/// for (id, text) in ["t1", "t2"].into_iter().zip(&texts.0) {
///     let (tool_use_id, size_chars) = (id.to_owned(), text.len() as u64);
///     collector.add_result(Found { tool_use_id, size_chars, has_toolset: false });
/// }
/// let survey = collector.finish(|_| Answer::Ok(false))?;
/// let options = Options {
///     budget: Budget {
///         limit: 1_000.into(),
///         preview_bytes: 100,
///         accounting: Accounting::Visible,
///         unit: Unit::Chars,
///     },
///     rule: Rule::Running,
///     leaves_fresh: false,
/// };
/// let plan = plan(&survey, &options, &mut texts)?;
/// assert_eq!(plan.choices[0].first, 1);
/// assert_eq!(plan.kept, [0]);
/// # Ok::<(), TryReserveError>(())
/// ```
pub fn plan<K: Knowledge>(
    survey: &Survey<K::Text>,
    options: &Options,
    knowledge: &mut K,
) -> Result<Plan<K::Recorded, K::Built>, K::Error> {
    let mut planner = Planner::new(survey, options, knowledge);
    for group in 0..survey.groups().len() {
        planner.judge(group)?;
    }
    Ok(planner.finish())
}
