//! Which tool each id of a chain called last, in a few bytes for each id.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

use super::NO_TOOL;
use crate::text::Text;

/// What a result needs to know of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    /// The number of its name.
    pub(super) name: i32,
    pub(super) is_for_code: bool,
}

/// An id that has results and no call yet, or whose last call names no tool.
const NONE: Tool = Tool {
    name: NO_TOOL,
    is_for_code: false,
};

/// The calls of one chain.
#[derive(Debug)]
pub(super) struct CallTable<T> {
    hasher: RandomState,
    /// Into `ids` and `tools`.
    index: HashTable<u32>,
    ids: Vec<T>,
    /// Where the id of the next result stands, if results come in the order of their calls.
    expected: u32,
    /// The last call of each id; `None` before the first one.
    tools: Vec<PackedTool>,
    /// Rows whose id had no call yet, each with its id.
    early: Vec<(u32, i32)>,
    /// The first call of ids that had results before it.
    late: HashMap<u32, Tool>,
}

impl<T: Text> CallTable<T> {
    pub(super) fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            index: HashTable::new(),
            ids: Vec::new(),
            expected: 0,
            tools: Vec::new(),
            early: Vec::new(),
            late: HashMap::new(),
        }
    }

    pub(super) fn add(&mut self, tool_use_id: T, tool: Tool) {
        let known = self.ids.len();
        let at = self.place(tool_use_id);
        let Some(last) = self.tools.get_mut(at as usize) else {
            return;
        };
        if (at as usize) < known && last.tool().is_none() {
            self.late.insert(at, tool);
        }
        *last = PackedTool::of(tool);
    }

    /// The last call before a result; a row without one is taken note of.
    pub(super) fn tool_of(&mut self, tool_use_id: T, row: i32) -> Tool {
        let at = if self.ids.get(self.expected as usize) == Some(&tool_use_id) {
            self.expected
        } else {
            self.place(tool_use_id)
        };
        self.expected = at.saturating_add(1);
        let called = self.tools.get(at as usize).and_then(|last| last.tool());
        called.unwrap_or_else(|| {
            self.early.push((at, row));
            NONE
        })
    }

    /// Rows that came before the first call of their id, each with that call.
    pub(super) fn into_late(self) -> impl Iterator<Item = (i32, Tool)> {
        let late = self.late;
        let early = self.early.into_iter();
        early.filter_map(move |(at, row)| Some((row, *late.get(&at)?)))
    }

    /// Where an id stands, perhaps from now on.
    fn place(&mut self, tool_use_id: T) -> u32 {
        let hash = self.hasher.hash_one(&tool_use_id);
        let is_it = |at: &u32| self.ids.get(*at as usize) == Some(&tool_use_id);
        if let Some(at) = self.index.find(hash, is_it) {
            return *at;
        }
        let at = position(self.ids.len());
        self.ids.push(tool_use_id);
        self.tools.push(PackedTool::NONE);
        if self.index.len() == self.index.capacity() {
            self.grow();
        } else {
            insert(&mut self.index, hash, at);
        }
        at
    }

    /// Makes room. The index is made anew from the ids in their order: what a table would do by
    /// itself reads them in no order, and holds the old one meanwhile.
    fn grow(&mut self) {
        let capacity = (2 * self.index.capacity()).max(1);
        self.index = HashTable::new();
        self.index = HashTable::with_capacity(capacity);
        for (at, id) in self.ids.iter().enumerate() {
            insert(&mut self.index, self.hasher.hash_one(id), position(at));
        }
    }
}

/// A chain with more ids than this has more messages than can be numbered.
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Puts in what has room.
fn insert(index: &mut HashTable<u32>, hash: u64, at: u32) {
    index.insert_unique(hash, at, |_| hash);
}

/// A tool in four bytes, or none.
#[derive(Clone, Copy, Debug)]
struct PackedTool(i32);

impl PackedTool {
    const NONE: Self = Self(i32::MIN);

    /// A name's number is -1 or more; its complement stands for a call by running code.
    const fn of(tool: Tool) -> Self {
        let number = tool.name + 1;
        Self(if tool.is_for_code { !number } else { number })
    }

    const fn tool(self) -> Option<Tool> {
        if self.0 == Self::NONE.0 {
            return None;
        }
        let is_for_code = self.0 < 0;
        let number = if is_for_code { !self.0 } else { self.0 };
        Some(Tool {
            name: number - 1,
            is_for_code,
        })
    }
}
