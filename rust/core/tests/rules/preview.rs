//! Previews against the rules.

use proptest::prelude::*;
use toolbudget_core::{Preview, cut_preview, preview_window_chars};

use crate::oracle::preview::cut;

/// Text in which line breaks, wide characters, NUL and tags in odd spellings are frequent.
fn hostile_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z\n\0<é日😀]{0,6}",
        "</?[pP][eE]r[sSſ][iİı]sted-outpu[tT]",
        "[<ſ/]{1,2}persisted-[a-z]{1,6}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn one_pass_gives_what_three_steps_give(text in hostile_text(), max_bytes in 0_usize..80) {
        let Preview { text: shown, has_more } = cut_preview(text.as_bytes(), max_bytes).unwrap();
        prop_assert_eq!((shown, has_more), cut(&text, max_bytes));
    }

    #[test]
    fn the_window_is_enough(text in hostile_text(), max_bytes in 0_usize..40) {
        let window: String = text.chars().take(preview_window_chars(max_bytes)).collect();
        prop_assert_eq!(
            cut_preview(window.as_bytes(), max_bytes).unwrap(),
            cut_preview(text.as_bytes(), max_bytes).unwrap()
        );
    }

    #[test]
    fn any_bytes_give_a_preview_within_its_bound(
        head in prop::collection::vec(any::<u8>(), 0..60),
        max_bytes in 0_usize..80,
    ) {
        let preview = cut_preview(&head, max_bytes).unwrap();
        prop_assert!(preview.text.len() <= max_bytes);
        prop_assert!(!preview.text.contains('\0'));
    }
}
