//! Previews step by step: the whole text is made safe, then cut, then cut at a line break.

/// Cuts as the rule says; gives the preview and whether anything was left out.
pub(crate) fn cut(text: &str, max_bytes: usize) -> (String, bool) {
    let safe = make_wire_safe(text);
    let mut end = max_bytes.min(safe.len());
    while !safe.is_char_boundary(end) {
        end -= 1;
    }
    let has_more = end < safe.len();
    let head = &safe[..end];
    let line_end = head.rfind('\n');
    let shown = match line_end {
        Some(newline) if has_more && 2 * newline > max_bytes => &head[..newline],
        _ => head,
    };
    (shown.to_owned(), has_more)
}

/// Looks for each spelling of the tags in a copy that is folded character by character.
fn make_wire_safe(text: &str) -> String {
    let fold = |character: char| match character {
        'İ' | 'ı' => 'i',
        'ſ' => 's',
        other => other.to_ascii_lowercase(),
    };
    let characters: Vec<char> = text.chars().collect();
    let mut safe = String::new();
    for (position, &character) in characters.iter().enumerate() {
        let behind = characters[position..].iter().take(18);
        let folded: String = behind.copied().map(fold).collect();
        let tags = ["<persisted-output", "</persisted-output"];
        match character {
            '\0' => safe.push('\u{fffd}'),
            '<' if tags.iter().any(|tag| folded.starts_with(tag)) => safe.push_str("&lt;"),
            other => safe.push(other),
        }
    }
    safe
}
