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
    assert_eq!((measured, chosen.taken), (vec![1; 5], vec![1]));
}

#[test]
fn an_error_of_the_measure_ends_the_choice() {
    let failed = choose(&items(&[900]), &mut fresh(&[900]), &budget(0, 1), |_, _| {
        Err("no")
    });
    assert_eq!(failed, Err("no"));
}

#[test]
fn extreme_numbers_do_not_overflow() {
    let item = Choosable {
        size_chars: u64::MAX,
        size: u64::MAX,
        occurrences: usize::MAX,
    };
    for preview_bytes in [i128::MIN, i128::MAX] {
        let mut totals = Totals {
            frozen: i128::MAX,
            ..Totals::default()
        };
        let Ok(chosen) = choose(&[item], &mut totals, &budget(0, preview_bytes), |_, _| {
            Ok::<_, Infallible>(ReplacementSize::in_chars(0))
        });
        assert_eq!(chosen.preview_bytes, preview_bytes);
    }
    assert_eq!(share_of(i128::MAX, 100), i128::MAX);
    assert_eq!(share_of(i128::MIN, 100), i128::MIN);
}

/// The rule as it is worded, each step from the start.
fn choose_naively(
    sizes: &[u64],
    fixed: i128,
    limit: i128,
    preview_bytes: i128,
) -> (i128, Vec<usize>) {
    let total = fixed + sizes.iter().map(|&size| i128::from(size)).sum::<i128>();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&index| (Reverse(sizes[index]), index));
    let mut result = (preview_bytes, Vec::new());
    for percent in [100, 50, 25, 10, 0] {
        let step = preview_bytes * percent / 100;
        let mut visible = total;
        let mut taken = Vec::new();
        for &index in &order {
            let gain = i128::from(sizes[index]) - i128::from(FRAME) - step;
            if visible > limit && gain > 0 {
                visible -= gain;
                taken.push(index);
            }
        }
        result = (step, taken);
        if visible <= limit || fixed > limit {
            break;
        }
    }
    result
}

proptest! {
    #[test]
    fn the_choice_is_that_of_the_rule(
        sizes in prop::collection::vec(1_u64..600, 1..12),
        fixed in 0_i128..1_000,
        limit in 0_i128..4_000,
        preview_bytes in 0_i128..800,
    ) {
        let mut totals = Totals { frozen: fixed, ..fresh(&sizes) };
        prop_assume!(totals.visible(Accounting::Visible) > limit);
        let chosen = choose_simply(&items(&sizes), &mut totals, &budget(limit, preview_bytes));
        let expected = choose_naively(&sizes, fixed, limit, preview_bytes);
        prop_assert_eq!((chosen.preview_bytes, chosen.taken), expected);
    }

    #[test]
    fn a_share_is_rounded_down(preview_bytes in -1_000_i128..100_000, percent in 0_i128..=100) {
        let product = preview_bytes * percent;
        prop_assert_eq!(share_of(preview_bytes, percent), product.div_euclid(100));
    }
}

#[test]
fn characters_order_and_the_unit_counts() {
    let items = [(1_000, 250), (900, 2_700), (400, 1_200)].map(|(size_chars, size)| Choosable {
        size_chars,
        size,
        occurrences: 1,
    });
    let bytes = Budget {
        unit: Unit::Bytes,
        ..budget(1_700, 0)
    };
    let mut totals = fresh(&[250, 2_700, 1_200]);
    let Ok(chosen) = choose(&items, &mut totals, &bytes, |_, _| {
        Ok::<_, Infallible>(ReplacementSize {
            chars: 399,
            size: 300,
        })
    });
    // The first one has the most characters, and more bytes behind it than before.
    assert_eq!(chosen.taken, [0, 1, 2]);
    assert_eq!(totals.gained, -50 + 2_400 + 900);
}
