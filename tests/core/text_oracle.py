"""The rules of texts once more: previews, replacements, frames; slow, short, independent."""

from __future__ import annotations

__all__ = ["is_frame", "label", "make_wire_safe", "preview", "replacement"]

TAG = "persisted-output"
LETTERS = set("abcdefghijklmnopqrstuvwxyz")


def make_wire_safe(text: str) -> str:
    """Take out of a text what must not stand in a preview (P3)."""
    safe = ""
    for position, character in enumerate(text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            safe += "\ufffd"
        elif character == "<" and opens_tag(text[position + 1 :]):
            safe += "&lt;"
        else:
            safe += character
    return safe


def opens_tag(behind: str) -> bool:
    """Tell whether what stands behind a ``<`` makes it a tag of the frame, in any case."""
    letters = "".join(map(fold, behind[: 1 + len(TAG)]))
    return letters.startswith((TAG, "/" + TAG))


def fold(character: str) -> str:
    """Give the small letter of which a character is a case; the character itself if of none."""
    cases = (character.lower()[:1], character.upper().lower(), character.casefold())
    return next((case for case in cases if case in LETTERS), character)


def preview(text: str, max_bytes: int) -> tuple[str, bool]:
    """Cut the wire-safe text, at a line end if one lies past the middle (P2)."""
    data = make_wire_safe(text).encode()
    if len(data) <= max_bytes:
        return data.decode(), False
    head = data[:max_bytes].decode(errors="ignore").encode()
    line_end = head.rfind(b"\n")
    if line_end * 2 > max_bytes:
        head = head[:line_end]
    return head.decode(), True


def label(size_bytes: int) -> str:
    """Write a size for a reader (P1)."""
    if size_bytes < 1024:
        return f"{size_bytes} bytes"
    for unit, name in ((1024**3, "GB"), (1024**2, "MB"), (1024, "KB")):
        if size_bytes >= unit:
            tenths = (size_bytes * 10 * 2 + unit) // (unit * 2)
            return f"{tenths // 10}.{tenths % 10}".removesuffix(".0") + name
    raise AssertionError(size_bytes)


def replacement(text: str, path: str, preview_bytes: int, reader_hint: str | None = None) -> str:
    """Write the string that stands in for a text (P1, P6)."""
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    lines = [f"<{TAG}>"]
    lines += [f"Output too large ({label(size_bytes)}). Full output saved to: {path}"]
    if reader_hint is not None:
        lines += [reader_hint]
    if preview_bytes > 0:
        shown, has_more = preview(text, preview_bytes)
        lines += ["", f"Preview (first {label(preview_bytes)}):", shown]
        if has_more:
            lines += ["..."]
    return "\n".join([*lines, f"</{TAG}>"])


def is_frame(text: str) -> bool:
    """Tell a reference by its frame (S8)."""
    is_framed = text.startswith(f"<{TAG}>\n") and text.rstrip().endswith(f"\n</{TAG}>")
    return is_framed and len(text) <= 16_384
