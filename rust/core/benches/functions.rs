//! Times of functions that are too short to be measured through Python, as lines of JSON.
#![expect(
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a bench reads the clock and says what it found"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use toolbudget_core::{count_chars, select_largest};

/// What is too short for the clock is done again and again, for as many results or bytes.
const UNITS_OF_A_ROUND: usize = 4_000_000;
const ROUNDS: usize = 15;

fn main() {
    for results in [1_000, 100_000] {
        for (share, percent) in [("a tenth", 10), ("half", 50), ("nearly all", 98)] {
            let sizes = log_normal(results);
            let total: i128 = sizes.iter().copied().map(i128::from).sum();
            let limit = (total - total * percent / 100).into();
            let name = format!("{share} of the volume of {results}");
            measure("selection", &name, results, || {
                black_box(select_largest(black_box(&sizes), total, limit));
            });
        }
    }
    for (name, line) in [
        ("code", "    return self.value  # as it was before\n"),
        ("not ASCII", "Prüfprotokoll, Zeile für Zeile: 日本語 😀\n"),
    ] {
        let text = line.repeat(20_000);
        measure("counting", name, text.len(), || {
            black_box(count_chars(black_box(text.as_bytes())));
        });
    }
}

/// Prints the seconds of each round; in one `units` are worked on many times.
fn measure(group: &str, name: &str, units: usize, mut work: impl FnMut()) {
    let times = UNITS_OF_A_ROUND.div_ceil(units);
    work();
    let mut seconds = String::new();
    for round in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..times {
            work();
        }
        let comma = if round == 0 { "" } else { ", " };
        let _ = write!(seconds, "{comma}{:e}", started.elapsed().as_secs_f64());
    }
    let units = units * times;
    println!(
        r#"{{"group": "{group}", "name": "{name}", "units": {units}, "seconds": [{seconds}]}}"#
    );
}

/// Sizes as they are met: most are small, and a few make up most of the volume.
fn log_normal(results: usize) -> Vec<i64> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut dice = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f64::from(u32::try_from(state >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
    };
    let mut size = || {
        // The sum of twelve even numbers is as good as normal.
        let normal: f64 = (0..12).map(|_| dice()).sum::<f64>() - 6.0;
        #[expect(clippy::cast_possible_truncation, reason = "a size is whole")]
        let size = normal.mul_add(1.2, 7.5).exp() as i64;
        size
    };
    (0..results).map(|_| size()).collect()
}
