use std::collections::TryReserveError;

use super::*;

fn note_of(text: &str) -> Result<String, TryReserveError> {
    let shown = json_preview(text, 300)?.text;
    Ok(shown.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn the_note_tells_how_the_text_ends() -> Result<(), TryReserveError> {
    let rows = "{\"a\": [1]}\n".repeat(100);
    let told = |end| format!("[JSON, shown in part: {end} bytes in all]");
    assert_eq!(note_of(&rows)?, told("100 values; 1,100"));
    assert_eq!(
        note_of(&(rows.clone() + "{\"a"))?,
        told("101 values, cut off at the end; 1,103")
    );
    assert_eq!(
        note_of(&(rows + "é: ok"))?,
        told("100 values, other text from character 1,101 on; 1,106")
    );
    Ok(())
}

#[test]
fn strings_are_cut_between_escapes() -> Result<(), TryReserveError> {
    let text = format!("[\"{}\", 1]", "\\u00e9".repeat(400));
    let shown = json_preview(text.as_str(), 300)?.text;
    let cut = format!("{}[... 400 characters]", "\\u00e9".repeat(24));
    assert!(shown.contains(&format!("\"{cut}\"")), "{shown}");
    Ok(())
}

#[test]
fn depth_is_not_followed() -> Result<(), TryReserveError> {
    let text = "[".repeat(100_000);
    assert!(
        json_preview(text.as_str(), 300)?
            .text
            .contains("\"[... 1 item ...]\"")
    );
    Ok(())
}

#[test]
fn other_text_shows_its_beginning() -> Result<(), TryReserveError> {
    for text in ["[INFO] one\n", "{color: red}\n", "\"a\" word\n"] {
        let text = text.repeat(99);
        let head = cut_head(text.as_str(), 300)?;
        assert_eq!(json_preview(text.as_str(), 300)?, head);
    }
    Ok(())
}
