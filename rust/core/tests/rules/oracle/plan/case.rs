//! One call with everything that it depends on.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use toolbudget_core::{
    Accounting, Budget, Call, Chain, Collector, Found, Limit, Measure, Options, Rule, Survey, Unit,
    count_chars,
};

/// One text result.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Groups follow each other.
    pub(crate) group: usize,
    pub(crate) id: u8,
    pub(crate) text: String,
    pub(crate) is_exempt: bool,
    /// The host's hook fails on it.
    pub(crate) is_refused: bool,
}

impl Item {
    pub(crate) fn size(&self) -> i128 {
        i128::from(count_chars(self.text.as_bytes()))
    }
}

/// What was decided before, by id and text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    pub(crate) decisions: HashMap<(u8, String), Option<String>>,
    pub(crate) replacements: HashSet<String>,
    pub(crate) unapplied: HashMap<u8, String>,
}

impl Past {
    pub(crate) fn is_nothing(&self) -> bool {
        self.decisions.is_empty() && self.replacements.is_empty() && self.unapplied.is_empty()
    }
}

/// The arguments of one plan.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// In the order of their groups, which begin at 0 and leave none out.
    pub(crate) items: Vec<Item>,
    pub(crate) past: Past,
    pub(crate) limit: i128,
    pub(crate) preview_bytes: i128,
    pub(crate) accounting: Accounting,
    pub(crate) unit: Unit,
    pub(crate) rule: Rule,
    pub(crate) leaves_fresh: bool,
    /// Whether an assistant message stands behind the last group.
    pub(crate) is_answered: bool,
    /// Whether a call of each id stands before all of them.
    pub(crate) has_calls: bool,
}

impl Case {
    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.items.last().map_or(0, |item| item.group + 1)
    }

    /// Whether a later group follows.
    pub(crate) fn is_followed(&self, group: usize) -> bool {
        group + 1 < self.groups() || self.is_answered
    }

    /// What a text counts towards the limit.
    pub(crate) fn weight(&self, text: &[u8]) -> i128 {
        i128::from(match self.unit {
            Unit::Chars => count_chars(text),
            Unit::Tokens => Measure::of(text, Unit::Tokens),
            Unit::Bytes => text.len() as u64,
        })
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            budget: Budget {
                limit: Limit::from(self.limit),
                preview_bytes: self.preview_bytes,
                accounting: self.accounting,
                unit: self.unit,
            },
            rule: self.rule,
            leaves_fresh: self.leaves_fresh,
        }
    }

    /// The items as a message list would give them.
    pub(crate) fn survey(&self) -> Survey<String> {
        let mut collector = Collector::new();
        if self.has_calls {
            collector.begin_assistant(Chain::default(), None);
            for item in &self.items {
                let call = Call {
                    tool_name: None,
                    is_for_code: false,
                };
                collector.add_call(item.id.to_string(), call);
            }
        }
        for group in 0..self.groups() {
            collector.begin_user(Chain::default());
            for item in self.items.iter().filter(|item| item.group == group) {
                collector.add_result(Found {
                    tool_use_id: item.id.to_string(),
                    size_chars: count_chars(item.text.as_bytes()),
                    has_toolset: item.is_exempt,
                });
            }
            if self.is_followed(group) {
                collector.begin_assistant(Chain::default(), None);
            }
        }
        let Ok(survey) = collector.finish(|_| Ok::<_, Infallible>(false));
        survey
    }
}
