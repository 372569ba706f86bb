//! Lines of a screen: pieces of text, each with its style, in columns.

use crossterm::style::{ContentStyle, StyledContent};
use unicode_width::UnicodeWidthChar;

/// A line: pieces from left to right.
pub type Line = Vec<StyledContent<String>>;

/// A text in a style.
pub fn piece(text: impl Into<String>, style: ContentStyle) -> StyledContent<String> {
    StyledContent::new(style, text.into())
}

/// Cells in columns of these widths with a space between them. Cells beyond the widths take what they need.
pub fn row(cells: Vec<StyledContent<String>>, widths: &[usize]) -> Line {
    let mut out = Line::new();
    for (i, cell) in cells.into_iter().enumerate() {
        match widths.get(i) {
            Some(width) => {
                let (text, used) = clip(cell.content(), *width);
                out.push(piece(text, *cell.style()));
                out.push(piece(" ".repeat(width - used + 1), ContentStyle::new()));
            }
            None => out.push(cell),
        }
    }
    out
}

/// The line with all its text in one style, and filled up to `width` columns.
pub fn whole(line: &Line, style: ContentStyle, width: usize) -> Line {
    let text: String = line.iter().map(|p| p.content().as_str()).collect();
    let (text, used) = clip(&text, width);
    vec![piece(text + &" ".repeat(width - used), style)]
}

/// The line up to `width` columns.
pub fn cut(line: &Line, width: usize) -> Line {
    let mut left = width;
    let pieces = line.iter().map(|p| {
        let (text, used) = clip(p.content(), left);
        left -= used;
        piece(text, *p.style())
    });
    pieces.collect()
}

/// The start of a text that fits `width` columns, and how many it takes.
fn clip(text: &str, width: usize) -> (String, usize) {
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns > width {
            break;
        }
        out.push(c);
        used += columns;
    }
    (out, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(clip("a\u{6f22}b", 2), ("a".into(), 1));
        assert_eq!(clip("a\u{6f22}b", 3), ("a\u{6f22}".into(), 3));
        let line = row(vec![piece("\u{6f22}\u{6f22}", ContentStyle::new()), piece("x", ContentStyle::new())], &[3]);
        let text: String = line.iter().map(|p| p.content().as_str()).collect();
        assert_eq!(text, "\u{6f22}  x");
    }
}
