//! What is told of a line that is too long.

const CUT: char = '…';

/// Gives a line without its end, cut around a position if it has more than `max_chars` characters.
///
/// What is not UTF-8, and NUL, which no request may hold, is U+FFFD.
pub(crate) fn excerpt(line: &[u8], position: usize, max_chars: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let position = position.min(line.len());
    // A character has four bytes at most, so this is enough of both sides, however long the line.
    let before_chars = max_chars / 4;
    let start = boundary(line, position.saturating_sub(before_chars * 4));
    let end = boundary(line, position.saturating_add(max_chars * 4).min(line.len()));
    let (before, after) = (
        &line[start..boundary(line, position)],
        &line[boundary(line, position)..end],
    );
    let (before, after) = (
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    );
    let (before_count, after_count) = (before.chars().count(), after.chars().count());
    if start == 0 && end == line.len() && before_count + after_count <= max_chars {
        return clean(before.chars().chain(after.chars()));
    }
    let shown_before = before_count.min(before_chars.max(max_chars.saturating_sub(after_count)));
    let shown_after = after_count.min(max_chars - shown_before);
    let mut text = String::new();
    if start > 0 || shown_before < before_count {
        text.push(CUT);
    }
    let skipped = before_count - shown_before;
    text.push_str(&clean(
        before
            .chars()
            .skip(skipped)
            .chain(after.chars().take(shown_after)),
    ));
    if end < line.len() || shown_after < after_count {
        text.push(CUT);
    }
    text
}

fn clean(characters: impl Iterator<Item = char>) -> String {
    characters
        .map(|character| {
            if character == '\0' {
                '\u{fffd}'
            } else {
                character
            }
        })
        .collect()
}

/// The position itself, or the beginning of the character that it is within.
fn boundary(line: &[u8], position: usize) -> usize {
    (position.saturating_sub(3)..=position)
        .rev()
        .find(|&at| line.get(at).is_none_or(|byte| byte & 0xc0 != 0x80))
        .unwrap_or(position)
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn a_short_line_is_told_whole() {
        assert_eq!(excerpt("é\0x\r\n".as_bytes(), 1, 3), "é\u{fffd}x");
        assert_eq!(excerpt(b"", 0, 1), "");
        assert_eq!(excerpt(b"a\xffb", 0, 9), "a\u{fffd}b");
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let line = format!("{}needle{}", "é".repeat(1000), "🎉".repeat(1000));
        let position = line.find("needle").unwrap_or_default();
        let text = excerpt(line.as_bytes(), position, 40);
        assert_eq!(
            text,
            format!("…{}needle{}…", "é".repeat(10), "🎉".repeat(24))
        );
        let end = excerpt(b"aaaaaaaaaaaaaaaaaaaaaaaaaaz", 26, 8);
        assert_eq!(end, "…aaaaaaaz");
        assert_eq!(excerpt(b"zaaaaaaaaaaaaaaaaaaaa", 0, 8), "zaaaaaaa…");
    }
}
