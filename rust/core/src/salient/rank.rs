//! In which order findings are shown: how bad, how new, where.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::scan::{Finding, Scan, Section};
use super::severity::{CERTAIN, WEAK};

pub(super) const SHOWN_FIRST: u64 = 4_500;
pub(super) const SHOWN_LAST: u64 = 1_500;

const SCALE: u64 = 100;
const WHOLE_PERCENT: u64 = 100;
const BEFORE_SECTIONS_PERCENT: u64 = 40;
const AFTER_SECTIONS_PERCENT: u64 = 20;
const START_PERCENT: u64 = 70;
const WEAK_START_PERCENT: u64 = 0;
const EDGE_PERCENT: u64 = 180;
const NEW_KIND_PERCENT: u64 = 180;
const NEW_KIND_FROM: u64 = 3_500;
const KNOWN_KIND_PERCENT: u64 = 35;
const BEFORE_EXIT_BONUS: u64 = 1_500;
const BEFORE_EXIT_LINES: usize = 2;

/// A finding's place in the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    pub(super) weight: u64,
    pub(super) number: usize,
}

/// Gives all findings, the weightiest first, else in text order.
pub(super) fn rank(found: &Scan, line_count: usize) -> Vec<Ranked> {
    let findings = found.findings();
    let sections: Vec<Section> = found.sections.iter().copied().collect();
    let edges = edges(&findings, &sections);
    let near_exit = near_exit(found);
    let mut known = HashSet::new();
    let mut ranked = Vec::with_capacity(findings.len());
    for finding in findings {
        let number = finding.number;
        let percent = place_percent(number, &sections);
        let mut weight = placed_weight(finding, percent, line_count);
        if edges.contains(&Some(number)) {
            weight = weight * EDGE_PERCENT / 100;
        }
        if near_exit.contains(&number) {
            weight += BEFORE_EXIT_BONUS;
        }
        if !known.insert((&finding.kind, percent == WHOLE_PERCENT)) {
            weight = weight * KNOWN_KIND_PERCENT / 100;
        } else if weight >= NEW_KIND_FROM {
            weight = weight * NEW_KIND_PERCENT / 100;
        }
        ranked.push(Ranked { weight, number });
    }
    ranked.sort_by_key(|ranked| (Reverse(ranked.weight), ranked.number));
    ranked
}

/// What a finding weighs where it stands.
fn placed_weight(finding: &Finding, percent: u64, line_count: usize) -> u64 {
    let weight = finding.severity * SCALE * percent / 100;
    let start = if finding.severity > WEAK {
        START_PERCENT
    } else {
        WEAK_START_PERCENT
    };
    let nearness = (100 - start) * finding.number as u64 / (line_count as u64).max(1);
    weight * (start + nearness) / 100
}

/// Finds the first and the last certain failure: people look at these.
fn edges(findings: &[&Finding], sections: &[Section]) -> [Option<usize>; 2] {
    let certain = findings
        .iter()
        .filter(|finding| finding.severity >= CERTAIN);
    let certain: Vec<usize> = certain.map(|finding| finding.number).collect();
    let is_inside = |number: &&usize| is_in_section(**number, sections);
    let first_inside = certain.iter().find(is_inside);
    let last_inside = certain.iter().rev().find(is_inside);
    [
        first_inside.or(certain.first()).copied(),
        last_inside.or(certain.last()).copied(),
    ]
}

/// The lines right before an exit.
fn near_exit(found: &Scan) -> HashSet<usize> {
    let exits = found.exits.iter();
    exits
        .flat_map(|exit| [1, BEFORE_EXIT_LINES].map(|back| exit.checked_sub(back)))
        .flatten()
        .collect()
}

fn is_in_section(number: usize, sections: &[Section]) -> bool {
    sections.iter().any(|section| section.contains(number))
}

fn place_percent(number: usize, sections: &[Section]) -> u64 {
    match sections.last() {
        Some(last) if !is_in_section(number, sections) => {
            if number < last.last {
                BEFORE_SECTIONS_PERCENT
            } else {
                AFTER_SECTIONS_PERCENT
            }
        }
        _ => WHOLE_PERCENT,
    }
}
