//! Text of unknown origin, such as the command line of another user's process, as it may be shown.

/// Whether `c` is not seen but may change how the text around it looks, by which a name could look like another one:
/// control and format characters (directions of writing, zero width, soft hyphens, tags), separators of lines and
/// paragraphs, and what Unicode has not assigned or leaves to private use.
///
/// The tables are those of the standard library, which escapes what it does not print. Spaces of any width are seen.
pub fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_ignorable(c) {
        return true;
    }
    // A letter stands before it, since combining marks are escaped at the beginning of a text.
    !c.is_whitespace() && String::from_iter(['a', c]).escape_debug().nth(2).is_some()
}

/// Letters and marks without a shape (`Default_Ignorable_Code_Point` of Unicode), which the standard library prints.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// `text` with every character that [`is_invisible`] as its code, such as `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_invisible(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_becomes_its_code() {
        let hidden = [
            0..=0x1f,
            0x7f..=0x9f,
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x200b..=0x200f,
            0x2028..=0x202e,
            0x2060..=0x206f,
            0x3164..=0x3164,
            0xe000..=0xe000,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xfff9..=0xfffb,
            0xffff..=0xffff,
            0xe0001..=0xe007f,
            0x10ffff..=0x10ffff,
        ];
        for c in hidden.into_iter().flatten().filter_map(char::from_u32) {
            assert!(is_invisible(c), "{}", c.escape_unicode());
            assert_eq!(visible(&format!("a{c}b")), format!("a\\u{{{:x}}}b", u32::from(c)));
        }
    }

    #[test]
    fn what_can_be_seen_stays() {
        for text in [
            "postgres: \"a\\b\" 'c' {d}",
            "Größe",
            "データ\u{3000}x",
            "e\u{301}",
            "हिन्दी",
            "a\u{a0}b",
            "\u{1f600}",
            "\u{fffd}",
        ] {
            assert_eq!(visible(text), text);
        }
    }
}
