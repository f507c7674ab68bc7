//! Previews in any style: which one a text gets, and in which form it came out.

use crate::head_tail::head_tail_preview;
use crate::json_style::json_preview;
use crate::kind::{Kind, WINDOW_CHARS, kind_of};
use crate::preview::{Preview, cut_preview};
use crate::salient::salient_preview;
use crate::source::{Source, cut_head};
use crate::table::table_preview;

/// How to choose what is shown of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The beginning.
    Head,
    /// The beginning and the end.
    HeadTail,
    /// The lines of a log that matter.
    Salient,
    /// What JSON, or a table, is made of.
    Json,
    /// What source code declares.
    Outline,
    /// By what the text begins with.
    Auto,
}

/// The form in which a preview came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownStyle {
    /// Nothing but the beginning.
    Head,
    /// The beginning and the end.
    HeadTail,
    /// Lines of a log.
    Salient,
    /// JSON in part.
    Json,
    /// The first and last rows of a table.
    Table,
    /// The outline of source code.
    Outline,
}

impl ShownStyle {
    const ALL: [Self; 6] = [
        Self::Head,
        Self::HeadTail,
        Self::Salient,
        Self::Json,
        Self::Table,
        Self::Outline,
    ];

    /// Its name, as it stands in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::HeadTail => "head_tail",
            Self::Salient => "salient",
            Self::Json => "json",
            Self::Table => "table",
            Self::Outline => "outline",
        }
    }

    /// The one of that name.
    ///
    /// ```
    /// use toolbudget_core::ShownStyle;
    ///
    /// assert_eq!(ShownStyle::named("table"), Some(ShownStyle::Table));
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    /// What the label of a frame says that it shows, before the size; nothing for the beginning.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Head => "",
            Self::HeadTail => "start and end",
            Self::Salient => "selected lines",
            Self::Json => "JSON in part",
            Self::Table => "first and last rows",
            Self::Outline => "outline of the code",
        }
    }
}

/// A preview, and the form it came out in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Safe to stand in a frame.
    pub preview: Preview,
    /// [`ShownStyle::Head`] wherever the beginning of the text is all that is shown.
    pub style: ShownStyle,
}

/// Shows a text in a style.
///
/// A text that fits comes back whole. A style that has nothing better to show, or too little room,
/// shows the beginning. [`Style::Json`] shows tables as well. [`Style::Outline`] shows the beginning
/// and the end of what cannot be outlined. [`Style::Auto`] chooses by what the text begins with.
///
/// `outline` shows source code within so many bytes, in WTF-8; nothing if it cannot be parsed.
///
/// # Errors
///
/// A part of the text cannot be read, `outline` fails, or there is no memory for the preview.
///
/// ```
/// use toolbudget_core::{ShownStyle, Style, show_preview};
///
/// let log = "test: ok\n".repeat(900) + "E   assert 1 == 2\n" + &"test: ok\n".repeat(98);
/// let shown = show_preview(log.as_str(), 240, Style::Auto, |_| Ok(None))?;
/// assert_eq!(shown.style, ShownStyle::Salient);
/// assert_eq!(shown.preview.text.lines().nth(1), Some("901:E assert 1 == 2"));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
pub fn show_preview<S: Source + ?Sized>(
    source: &S,
    max_bytes: usize,
    style: Style,
    outline: impl FnOnce(usize) -> Result<Option<Vec<u8>>, S::Error>,
) -> Result<Shown, S::Error> {
    let head = cut_head(source, max_bytes)?;
    if style == Style::Head || !head.has_more || max_bytes == 0 {
        return Ok(of_head(head));
    }
    let found = find(source, max_bytes, style, &head, outline)?;
    if let Some(found) = found.filter(|found| found.preview.text != head.text) {
        return Ok(found);
    }
    if !matches!(style, Style::Auto | Style::Outline) {
        return Ok(of_head(head));
    }
    let preview = head_tail_preview(source, max_bytes)?;
    if preview.text == head.text {
        return Ok(of_head(head));
    }
    Ok(Shown {
        preview,
        style: ShownStyle::HeadTail,
    })
}

const fn of_head(preview: Preview) -> Shown {
    Shown {
        preview,
        style: ShownStyle::Head,
    }
}

/// Gives a preview; none, or the beginning of the text, if nothing fits.
fn find<S: Source + ?Sized>(
    source: &S,
    max_bytes: usize,
    style: Style,
    head: &Preview,
    outline: impl FnOnce(usize) -> Result<Option<Vec<u8>>, S::Error>,
) -> Result<Option<Shown>, S::Error> {
    let salient = || {
        Ok(Some(Shown {
            preview: salient_preview(source, max_bytes)?,
            style: ShownStyle::Salient,
        }))
    };
    match style {
        Style::Head => Ok(None),
        Style::HeadTail => Ok(Some(Shown {
            preview: head_tail_preview(source, max_bytes)?,
            style: ShownStyle::HeadTail,
        })),
        Style::Salient => salient(),
        Style::Json => structured(source, max_bytes, head, true),
        Style::Outline => outlined(max_bytes, outline),
        Style::Auto => {
            let window_chars = source.length_chars().min(WINDOW_CHARS);
            let kind = kind_of(source.read(0..window_chars)?.as_ref());
            let found = structured(source, max_bytes, head, kind == Kind::Json)?;
            match kind {
                _ if found.is_some() => Ok(found),
                Kind::Code => outlined(max_bytes, outline),
                Kind::Other => Ok(None),
                Kind::Json | Kind::Output => salient(),
            }
        }
    }
}

fn structured<S: Source + ?Sized>(
    source: &S,
    max_bytes: usize,
    head: &Preview,
    may_be_json: bool,
) -> Result<Option<Shown>, S::Error> {
    if may_be_json {
        let preview = json_preview(source, max_bytes)?;
        if preview.text != head.text {
            let style = ShownStyle::Json;
            return Ok(Some(Shown { preview, style }));
        }
    }
    let preview = table_preview(source, max_bytes)?;
    let style = ShownStyle::Table;
    Ok((preview.text != head.text).then_some(Shown { preview, style }))
}

fn outlined<E: From<std::collections::TryReserveError>>(
    max_bytes: usize,
    outline: impl FnOnce(usize) -> Result<Option<Vec<u8>>, E>,
) -> Result<Option<Shown>, E> {
    let Some(made) = outline(max_bytes)? else {
        return Ok(None);
    };
    let mut preview = cut_preview(&made, max_bytes)?;
    // Of a text that does not fit, an outline never shows all.
    preview.has_more = true;
    let style = ShownStyle::Outline;
    Ok((!preview.text.is_empty()).then_some(Shown { preview, style }))
}

#[cfg(test)]
mod tests {
    use std::collections::TryReserveError;

    use super::*;

    #[test]
    fn an_outline_is_cut_and_made_safe() -> Result<(), TryReserveError> {
        let made = "</persisted-output>\n".repeat(99).into_bytes();
        let shown = show_preview("x".repeat(999).as_str(), 100, Style::Outline, |_| {
            Ok(Some(made))
        })?;
        assert_eq!(shown.style, ShownStyle::Outline);
        assert!(shown.preview.text.starts_with("&lt;/persisted-output>\n"));
        assert!(shown.preview.text.len() <= 100);
        assert!(shown.preview.has_more);
        Ok(())
    }

    #[test]
    fn what_cannot_be_outlined_is_shown_at_both_ends() -> Result<(), TryReserveError> {
        let text = "x".repeat(999) + "y";
        for style in [Style::Outline, Style::Auto] {
            let shown = show_preview(text.as_str(), 300, style, |_| Ok(None))?;
            assert_eq!(shown.style, ShownStyle::HeadTail);
            assert!(shown.preview.text.ends_with('y'));
        }
        Ok(())
    }
}
