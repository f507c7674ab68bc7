//! Columns: the results of a message list as numbers alone, for audits of millions of them.
//!
//! What a row is made of, its group and its tool, is what a [`Collector`](crate::Collector) finds;
//! but nothing of a result is kept except its numbers, and of a call its id and a number.

use std::num::TryFromIntError;

use crate::calls::Call;
use crate::collect::{Found, MEMORY_TOOL, SkipReason, Skipped};
use crate::fingerprint::Fingerprint;
use crate::group::{Chain, ChainIndex, Grouper};
use crate::replacement::is_applicable;
use crate::text::Text;
use call_table::CallTable;
use claims::{Claim, granted};
use names::Names;

pub use numbers::Numbers;

mod call_table;
mod claims;
mod names;
mod numbers;

/// What holds about a result; the numbers are those of the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Standing {
    /// It is undecided.
    Fresh = 0,
    /// It was decided to stay.
    Kept = 1,
    /// A recorded replacement stands in for it.
    Replaced = 2,
    /// Neither limit touches it.
    Exempt = 3,
    /// It is a replacement already.
    Reference = 4,
}

/// What held about a result before, its tool aside.
#[derive(Clone, Copy, Debug)]
pub enum Before {
    /// Nothing was decided about it.
    Fresh,
    /// It was decided to stay.
    Kept,
    /// A recorded replacement of so many characters stands in for it.
    Replaced(u64),
    /// It is a replacement already.
    Reference,
    /// Nothing was decided about its text, but another program recorded a replacement of so many
    /// characters for its id.
    Claimed(Fingerprint, u64),
}

impl Before {
    const fn standing(self) -> Standing {
        match self {
            Self::Fresh | Self::Claimed(..) => Standing::Fresh,
            Self::Kept => Standing::Kept,
            Self::Replaced(_) => Standing::Replaced,
            Self::Reference => Standing::Reference,
        }
    }
}

/// The columns of a list, in the order of its results; a [`ColumnCollector`] makes them.
#[derive(Debug)]
pub struct Columns<T> {
    /// The group of each row, numbered in the order in which they begin.
    pub group: Vec<i32>,
    /// Position of its message.
    pub message: Vec<i32>,
    /// Position of its block in the message.
    pub block: Numbers,
    /// Characters of its text.
    pub size_chars: Numbers,
    /// Its tool, the how-manieth of `tool_names`; 0 if there is no name.
    pub tool: Numbers,
    /// What holds about it.
    pub standing: Vec<Standing>,
    /// Rows that are replaced, each with the characters of its replacement.
    pub replaced: Vec<(i32, u64)>,
    /// By group: whether an assistant message that starts a later one of its chain follows.
    pub is_followed: Vec<bool>,
    /// Names in the order of the rows.
    pub tool_names: Vec<T>,
    /// Results that have no row.
    pub skipped: Skipped,
}

/// What a result needs to know of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tool {
    /// The number of its name.
    name: Option<i32>,
    is_for_code: bool,
}

impl Tool {
    /// What stands in the column, where 0 is no name.
    fn cell(self) -> u64 {
        let number = self.name.and_then(|name| u64::try_from(name).ok());
        number.map_or(0, |number| number + 1)
    }
}

/// Gathers the columns of a message list that is walked over once.
///
/// ```
/// use toolbudget_core::{Before, Call, Chain, ColumnCollector, Found, Standing};
///
/// let mut collector = ColumnCollector::new();
/// collector.begin_assistant(Chain::default(), None);
/// let tool_name = Some("Read".to_owned());
/// collector.add_call("t1".to_owned(), Call { tool_name, is_for_code: false });
/// collector.begin_user(1, Chain::default())?;
/// let found = Found { tool_use_id: "t1".to_owned(), size_chars: 9, has_toolset: false };
/// collector.add_result(found, 0, Before::Fresh)?;
/// let columns = collector.finish(|name| Ok::<_, ()>(name == "Read")).unwrap();
/// assert_eq!(columns.message, [1]);
/// assert_eq!(columns.standing, [Standing::Exempt]);
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Debug)]
pub struct ColumnCollector<T> {
    grouper: Grouper<T>,
    chain: ChainIndex,
    message: i32,
    /// By chain.
    calls: Vec<CallTable<T>>,
    names: Names<T>,
    claims: Vec<Claim<T>>,
    columns: Columns<T>,
}

impl<T: Text> ColumnCollector<T> {
    /// Starts before the first message.
    #[must_use]
    pub fn new() -> Self {
        let mut grouper = Grouper::new();
        Self {
            chain: grouper.chain(Chain::default()),
            grouper,
            message: 0,
            calls: Vec::new(),
            names: Names::new(),
            claims: Vec::new(),
            columns: Columns {
                group: Vec::new(),
                message: Vec::new(),
                block: Numbers::new(),
                size_chars: Numbers::new(),
                tool: Numbers::new(),
                standing: Vec::new(),
                replaced: Vec::new(),
                is_followed: Vec::new(),
                tool_names: Vec::new(),
                skipped: Skipped::default(),
            },
        }
    }

    /// Goes on with an assistant message.
    pub fn begin_assistant(&mut self, chain: Chain<T>, message_id: Option<T>) {
        self.chain = self.grouper.chain(chain);
        if let Some(ended) = self.grouper.ended_by(self.chain, message_id)
            && let Some(is_followed) = self.columns.is_followed.get_mut(ended)
        {
            *is_followed = true;
        }
    }

    /// Goes on with a user message.
    ///
    /// # Errors
    ///
    /// The index does not fit into a column.
    pub fn begin_user(
        &mut self,
        message_index: usize,
        chain: Chain<T>,
    ) -> Result<(), TryFromIntError> {
        self.message = i32::try_from(message_index)?;
        self.chain = self.grouper.chain(chain);
        Ok(())
    }

    /// Adds a call of the message that was begun last.
    pub fn add_call(&mut self, tool_use_id: T, call: Call<T>) {
        let tool = Tool {
            name: call.tool_name.map(|name| self.names.code(name)),
            is_for_code: call.is_for_code,
        };
        self.calls_of_chain().add(tool_use_id, tool);
    }

    /// Counts a result that gets no row.
    pub fn skip(&mut self, reason: SkipReason) {
        self.columns.skipped.add(reason);
    }

    /// Adds a text result of the message that was begun last, with what held about it before.
    ///
    /// # Errors
    ///
    /// A number does not fit into a column.
    pub fn add_result(
        &mut self,
        found: Found<T>,
        block_index: usize,
        before: Before,
    ) -> Result<(), TryFromIntError> {
        let row = i32::try_from(self.columns.group.len())?;
        i32::try_from(block_index)?;
        let group_index = self.grouper.group_of(self.chain);
        let group = i32::try_from(group_index)?;
        if let Before::Claimed(fingerprint, replacement_chars) = before
            && is_applicable(replacement_chars, found.size_chars)
        {
            self.claims.push(Claim {
                group,
                row,
                tool_use_id: found.tool_use_id.clone(),
                fingerprint,
                replacement_chars,
            });
        }
        let tool = self.calls_of_chain().tool_of(found.tool_use_id, row);
        let columns = &mut self.columns;
        if group_index == columns.is_followed.len() {
            columns.is_followed.push(false);
        }
        columns.group.push(group);
        columns.message.push(self.message);
        columns.block.push(block_index as u64);
        columns.size_chars.push(found.size_chars);
        columns.tool.push(tool.cell());
        if let Before::Replaced(replacement_chars) = before {
            columns.replaced.push((row, replacement_chars));
        }
        let standing = before.standing();
        let is_exempt = found.has_toolset || tool.is_for_code;
        columns.standing.push(if is_exempt {
            exempted(standing)
        } else {
            standing
        });
        Ok(())
    }

    /// Joins the results that came before their calls, and asks which tools are exempt.
    ///
    /// # Errors
    ///
    /// Those of `is_exempt_tool`, which is asked once for each name.
    pub fn finish<E>(
        mut self,
        is_exempt_tool: impl FnMut(&T) -> Result<bool, E>,
    ) -> Result<Columns<T>, E> {
        for calls in std::mem::take(&mut self.calls) {
            for (row, tool) in calls.into_late() {
                self.join(row, tool);
            }
        }
        let (tool_names, tool) = self.names.in_order_of(&self.columns.tool);
        self.columns.tool_names = tool_names;
        self.columns.tool = tool;
        self.exempt_tools(is_exempt_tool)?;
        self.grant_claims();
        Ok(self.columns)
    }

    fn grant_claims(&mut self) {
        if self.claims.is_empty() {
            return;
        }
        let columns = &mut self.columns;
        for (row, replacement_chars) in granted(std::mem::take(&mut self.claims)) {
            if let Some(standing) = at(&mut columns.standing, row) {
                *standing = Standing::Replaced;
            }
            columns.replaced.push((row, replacement_chars));
        }
        columns.replaced.sort_unstable();
    }

    fn join(&mut self, row: i32, tool: Tool) {
        if let Ok(row) = usize::try_from(row) {
            self.columns.tool.set(row, tool.cell());
        }
        if tool.is_for_code
            && let Some(standing) = at(&mut self.columns.standing, row)
        {
            *standing = exempted(*standing);
        }
    }

    fn exempt_tools<E>(
        &mut self,
        mut is_exempt_tool: impl FnMut(&T) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut is_exempt = Vec::with_capacity(self.columns.tool_names.len());
        for name in &self.columns.tool_names {
            is_exempt.push(name == MEMORY_TOOL || is_exempt_tool(name)?);
        }
        if !is_exempt.contains(&true) {
            return Ok(());
        }
        let rows = self.columns.tool.iter().zip(&mut self.columns.standing);
        for (cell, standing) in rows {
            let tool = usize::try_from(cell)
                .ok()
                .and_then(|cell| cell.checked_sub(1));
            if tool.is_some_and(|tool| is_exempt[tool]) {
                *standing = exempted(*standing);
            }
        }
        Ok(())
    }

    fn calls_of_chain(&mut self) -> &mut CallTable<T> {
        let chain = self.chain.number();
        while self.calls.len() <= chain {
            self.calls.push(CallTable::new());
        }
        &mut self.calls[chain]
    }
}

impl<T: Text> Default for ColumnCollector<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// What holds about an exempt result: an earlier replacement goes before exemption.
const fn exempted(standing: Standing) -> Standing {
    match standing {
        Standing::Replaced => Standing::Replaced,
        _ => Standing::Exempt,
    }
}

fn at<V>(column: &mut [V], row: i32) -> Option<&mut V> {
    column.get_mut(usize::try_from(row).ok()?)
}

#[cfg(test)]
mod tests;
