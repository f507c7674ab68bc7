//! Which tool each id of a chain called last, in a few bytes for each id.

use super::Tool;
use crate::hash::KeyMap;
use crate::ids::IdTable;
use crate::text::Text;

/// An id that has results and no call yet, or whose last call names no tool.
const NONE: Tool = Tool {
    name: None,
    is_for_code: false,
};

/// The calls of one chain.
#[derive(Debug)]
pub(super) struct CallTable<T> {
    ids: IdTable<T>,
    /// The number of the next result's id, if results come in the order of their calls.
    expected: u32,
    /// By number of an id its last call.
    tools: Vec<PackedTool>,
    /// Rows whose id had no call yet, each with its id.
    early: Vec<(u32, i32)>,
    /// The first call of ids that had results before it.
    late: KeyMap<u32, Tool>,
}

impl<T: Text> CallTable<T> {
    pub(super) fn new() -> Self {
        Self {
            ids: IdTable::new(),
            expected: 0,
            tools: Vec::new(),
            early: Vec::new(),
            late: KeyMap::default(),
        }
    }

    pub(super) fn add(&mut self, tool_use_id: T, tool: Tool) {
        let (number, is_new) = self.number_of(tool_use_id);
        let Some(last) = self.tools.get_mut(number as usize) else {
            return;
        };
        if !is_new && last.tool().is_none() {
            self.late.insert(number, tool);
        }
        *last = PackedTool::of(tool);
    }

    /// The last call before a result; a row without one is taken note of.
    pub(super) fn tool_of(&mut self, tool_use_id: T, row: i32) -> Tool {
        let number = if self.ids.get(self.expected) == Some(&tool_use_id) {
            self.expected
        } else {
            self.number_of(tool_use_id).0
        };
        self.expected = number.saturating_add(1);
        let called = self.tools.get(number as usize).and_then(|last| last.tool());
        called.unwrap_or_else(|| {
            self.early.push((number, row));
            NONE
        })
    }

    /// Rows that came before the first call of their id, each with that call.
    pub(super) fn into_late(self) -> impl Iterator<Item = (i32, Tool)> {
        let late = self.late;
        let early = self.early.into_iter();
        early.filter_map(move |(number, row)| Some((row, *late.get(&number)?)))
    }

    /// The number of an id, perhaps from now on.
    fn number_of(&mut self, tool_use_id: T) -> (u32, bool) {
        let (number, is_new) = self.ids.number_of(tool_use_id);
        if is_new {
            self.tools.push(PackedTool::NONE);
        }
        (number, is_new)
    }
}

/// A call in four bytes, or none.
#[derive(Clone, Copy, Debug)]
struct PackedTool(i32);

impl PackedTool {
    const NONE: Self = Self(i32::MIN);

    /// A name's number counts from 1 here; the complement stands for a call by running code.
    const fn of(tool: Tool) -> Self {
        let number = match tool.name {
            Some(name) => name.saturating_add(1),
            None => 0,
        };
        Self(if tool.is_for_code { !number } else { number })
    }

    const fn tool(self) -> Option<Tool> {
        if self.0 == Self::NONE.0 {
            return None;
        }
        let is_for_code = self.0 < 0;
        let number = if is_for_code { !self.0 } else { self.0 };
        let name = if number == 0 { None } else { Some(number - 1) };
        Some(Tool { name, is_for_code })
    }
}
