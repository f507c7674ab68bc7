//! Whole calls.

#![no_main]

#[path = "../../core/tests/rules/oracle/plan/mod.rs"]
mod oracle;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use toolbudget_core::{Accounting, Rule};

use oracle::{Case, Item, Past, check};

const FRAME: &str = "<persisted-output>\nsaved\n</persisted-output>";

fuzz_target!(|bytes: &[u8]| {
    if let Ok(case) = read_case(&mut Unstructured::new(bytes)) {
        check(&case);
    }
});

fn read_case(input: &mut Unstructured<'_>) -> Result<Case> {
    let mut case = Case {
        items: Vec::new(),
        past: Past::default(),
        limit: input.int_in_range(-5..=3_000)?,
        preview_bytes: input.int_in_range(0..=500)?,
        accounting: *input.choose(&[Accounting::Visible, Accounting::Originals])?,
        rule: *input.choose(&[Rule::Running, Rule::Resumed, Rule::Seen])?,
        leaves_fresh: input.ratio(1, 8)?,
        is_answered: input.arbitrary()?,
        has_calls: input.arbitrary()?,
    };
    let mut group = 0;
    while !input.is_empty() && case.items.len() < 40 {
        group += usize::from(!case.items.is_empty() && input.ratio(1, 4)?);
        let item = read_item(input, group)?;
        remember(input, &item, &mut case.past)?;
        case.items.push(item);
    }
    Ok(case)
}

fn read_item(input: &mut Unstructured<'_>, group: usize) -> Result<Item> {
    let length = *input.choose(&[1, 90, 150, 151, 400, 900])?;
    let unit = *input.choose(&["a", "é", "b\n", "<", "\0", FRAME])?;
    let text: String = unit.chars().cycle().take(length).collect();
    Ok(Item {
        group,
        id: input.int_in_range(0..=4)?,
        text: if unit == FRAME { unit.to_owned() } else { text },
        is_exempt: input.ratio(1, 8)?,
        is_refused: input.ratio(1, 8)?,
    })
}

/// Decides about the item before the call, or not.
fn remember(input: &mut Unstructured<'_>, item: &Item, past: &mut Past) -> Result<()> {
    let identity = (item.id, item.text.clone());
    match input.int_in_range(0..=9)? {
        0 => drop(past.decisions.insert(identity, None)),
        1 => drop(past.decisions.insert(identity, Some("recorded".to_owned()))),
        2 => drop(past.replacements.insert(item.text.clone())),
        3 => {
            let length = *input.choose(&[5, 90, 149, 16_384, 16_385])?;
            drop(past.unapplied.insert(item.id, "f".repeat(length)));
        }
        _ => {}
    }
    Ok(())
}
