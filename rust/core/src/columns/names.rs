//! Names by a number.

use super::numbers::Numbers;
use crate::hash::KeyMap;
use crate::text::Text;

#[derive(Debug)]
pub(super) struct Names<T> {
    codes: KeyMap<T, i32>,
    all: Vec<T>,
    /// Calls of one tool follow each other as a rule.
    last: i32,
}

impl<T: Text> Names<T> {
    pub(super) fn new() -> Self {
        Self {
            codes: KeyMap::default(),
            all: Vec::new(),
            last: 0,
        }
    }

    pub(super) fn code(&mut self, name: T) -> i32 {
        if self.get(self.last) == Some(&name) {
            return self.last;
        }
        // So many names would not fit into memory.
        let next = i32::try_from(self.all.len()).unwrap_or(i32::MAX);
        let code = *self.codes.entry(name.clone()).or_insert(next);
        if code == next {
            self.all.push(name);
        }
        self.last = code;
        code
    }

    /// Numbers the names anew as they occur in a column, where 0 stands for none and each counts
    /// from 1, and leaves out those that do not occur.
    pub(super) fn in_order_of(&self, column: &Numbers) -> (Vec<T>, Numbers) {
        let mut renumbered = vec![0; self.all.len()];
        let mut names: Vec<T> = Vec::new();
        let mut codes = Numbers::new();
        for code in column.iter() {
            let known = code
                .checked_sub(1)
                .and_then(|code| usize::try_from(code).ok())
                .filter(|code| *code < renumbered.len());
            let Some(known) = known else {
                codes.push(0);
                continue;
            };
            if renumbered[known] == 0 {
                names.push(self.all[known].clone());
                renumbered[known] = names.len() as u64;
            }
            codes.push(renumbered[known]);
        }
        (names, codes)
    }

    fn get(&self, code: i32) -> Option<&T> {
        self.all.get(usize::try_from(code).ok()?)
    }
}
