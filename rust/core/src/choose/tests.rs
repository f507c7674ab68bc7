use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

fn items(sizes: &[u64]) -> Vec<Choosable> {
    let choosable = |&size_chars| Choosable {
        size_chars,
        size: size_chars,
        occurrences: 1,
    };
    sizes.iter().map(choosable).collect()
}

fn budget(limit: i128, preview_bytes: i128) -> Budget {
    Budget {
        limit: limit.into(),
        preview_bytes,
        accounting: Accounting::Visible,
        unit: Unit::Chars,
    }
}

/// Characters of a replacement beside its preview.
const FRAME: u64 = 100;

/// Chooses where a replacement has a hundred characters beside its preview.
fn choose_simply(items: &[Choosable], totals: &mut Totals, budget: &Budget) -> Chosen {
    let Ok(chosen) = choose(items, totals, budget, |_, preview_bytes| {
        let chars = FRAME + u64::try_from(preview_bytes).unwrap();
        Ok::<_, Infallible>(ReplacementSize::in_chars(chars))
    });
    chosen
}

fn fresh(sizes: &[u64]) -> Totals {
    Totals {
        fresh: sizes.iter().map(|&size| i128::from(size)).sum(),
        ..Totals::default()
    }
}

#[test]
fn previews_count() {
    let sizes = [1_000, 1_000, 1_000];
    let mut totals = fresh(&sizes);
    let chosen = choose_simply(&items(&sizes), &mut totals, &budget(2_400, 300));
    assert_eq!((chosen.taken, chosen.preview_bytes), (vec![0], 300));
    assert_eq!(totals.gained, 600);
    let mut totals = fresh(&sizes);
    let chosen = choose_simply(&items(&sizes), &mut totals, &budget(2_399, 300));
    assert_eq!(chosen.taken, [0, 1]);
}

#[test]
fn previews_shrink_until_the_group_fits() {
    let sizes = [1_000, 1_000];
    for (limit, preview_bytes, gained) in [
        (1_000, 400, 1_000),
        (999, 200, 1_400),
        (600, 200, 1_400),
        (599, 100, 1_600),
        (399, 40, 1_720),
        (200, 0, 1_800),
        (1, 0, 1_800),
    ] {
        let mut totals = fresh(&sizes);
        let chosen = choose_simply(&items(&sizes), &mut totals, &budget(limit, 400));
        assert_eq!(
            (chosen.preview_bytes, totals.gained),
            (preview_bytes, gained),
            "{limit}"
        );
    }
}

#[test]
fn what_gains_nothing_is_passed_over() {
    let sizes = [500, 500, 499];
    let mut totals = fresh(&sizes);
    let chosen = choose_simply(&items(&sizes), &mut totals, &budget(1_497, 399));
    assert_eq!((chosen.taken, chosen.preview_bytes), (vec![0, 1], 399));
    let mut totals = fresh(&sizes);
    let chosen = choose_simply(&items(&sizes), &mut totals, &budget(1_497, 400));
    assert_eq!((chosen.taken, chosen.preview_bytes), (vec![0], 200));
}

#[test]
fn shrinking_is_not_tried_in_vain() {
    let mut totals = Totals {
        frozen: 600,
        standing: 401,
        ..fresh(&[1_000])
    };
    let chosen = choose_simply(&items(&[1_000]), &mut totals, &budget(1_000, 400));
    assert_eq!((chosen.taken, chosen.preview_bytes), (vec![0], 400));
}

#[test]
fn the_plain_rule_counts_originals_only() {
    let sizes = [1_000, 900];
    let mut totals = Totals {
        standing: 10_000,
        ..fresh(&sizes)
    };
    let plain = Budget {
        accounting: Accounting::Originals,
        ..budget(1_000, 400)
    };
    let chosen = choose_simply(&items(&sizes), &mut totals, &plain);
    assert_eq!((chosen.taken, chosen.preview_bytes), (vec![0], 400));
    assert_eq!(totals.visible(Accounting::Originals), 900);
}

#[test]
fn every_occurrence_gains() {
    let item = Choosable {
        size_chars: 1_000,
        size: 1_000,
        occurrences: 3,
    };
    let mut totals = fresh(&[3_000]);
    choose_simply(&[item], &mut totals, &budget(2_999, 400));
    assert_eq!(totals.gained, 1_500);
}

#[test]
fn nothing_is_measured_for_what_is_no_longer_than_a_frame() {
    let mut measured = Vec::new();
    let sizes = [FRAME_CHARS, FRAME_CHARS + 1];
    let Ok(chosen) = choose(
        &items(&sizes),
        &mut fresh(&sizes),
        &budget(0, 9),
        |index, _| {
            measured.push(index);
            Ok::<_, Infallible>(ReplacementSize::in_chars(FRAME_CHARS))
        },
    );
    // Both together never fit: only the smallest preview is measured.
    assert_eq!((measured, chosen.taken), (vec![1], vec![1]));
}

/// The sizes that replacements of plain texts have, and a note of each that was measured.
struct Noting<'a> {
    of_all: Outlook,
    outlook: Outlook,
    measured: &'a mut Vec<(usize, i128)>,
}

impl ReplacementSizes for Noting<'_> {
    type Error = Infallible;

    fn outlook_of_all(&self) -> Outlook {
        self.of_all
    }

    fn outlook(&mut self, _: usize, _: i128) -> Result<Outlook, Infallible> {
        Ok(self.outlook)
    }

    fn size(&mut self, item: usize, preview_bytes: i128) -> Result<ReplacementSize, Infallible> {
        self.measured.push((item, preview_bytes));
        let chars = FRAME_CHARS + 40 + u64::try_from(preview_bytes).unwrap();
        Ok(ReplacementSize::in_chars(chars))
    }
}

#[test]
fn a_preview_with_which_nothing_fits_is_not_measured() {
    let mut measured = Vec::new();
    let sizes = [1_000, 1_000];
    let noting = Noting {
        of_all: Outlook::Unknown,
        outlook: Outlook::Plain,
        measured: &mut measured,
    };
    let totals = &mut fresh(&sizes);
    // Both with half of 200 would be more, with half of 100 less.
    let limit = 2 * i128::from(FRAME_CHARS) + 200;
    let Ok(chosen) = choose(&items(&sizes), totals, &budget(limit, 400), noting);
    assert_eq!((chosen.preview_bytes, chosen.taken), (40, vec![0, 1]));
    let expected = [100, 40].map(|size| [(0, size), (1, size)]).concat();
    assert_eq!(measured, expected);
}

proptest! {
    /// To know how long replacements are at least changes nothing but what is measured.
    #[test]
    fn passing_previews_over_changes_no_choice(
        sizes in prop::collection::vec((0_u64..900, 1_usize..4), 0..12),
        limit in 0_i128..4_000,
        preview_bytes in 0_i128..500,
        outlook in prop::sample::select(vec![Outlook::Plain, Outlook::Beginning]),
        is_told_of_all in any::<bool>(),
    ) {
        let choosable = |&(size, occurrences)| Choosable { size_chars: size, size, occurrences };
        let items: Vec<Choosable> = sizes.iter().map(choosable).collect();
        let of_group = Totals {
            fresh: items.iter().map(|item| item.total()).sum(),
            ..Totals::default()
        };
        let budget = budget(limit, preview_bytes);
        let [known, unknown] = [outlook, Outlook::Unknown].map(|outlook| {
            let (mut totals, mut measured) = (of_group, Vec::new());
            let of_all = if is_told_of_all { outlook } else { Outlook::Unknown };
            let noting = Noting { of_all, outlook, measured: &mut measured };
            let Ok(chosen) = choose(&items, &mut totals, &budget, noting);
            (chosen, totals, measured.len())
        });
        prop_assert_eq!((&known.0, known.1), (&unknown.0, unknown.1));
        prop_assert!(known.2 <= unknown.2);
    }
}
