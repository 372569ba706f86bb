//! Checks on an XML text before it is parsed.
//!
//! Problem: a hostile file can nest elements a hundred thousand deep, declare entities that multiply, or repeat
//! attributes until a parser's checks take hours.
//! Approach: one pass over the bytes counts what a parser would build and refuses what no hwloc file has. Only then the
//! parser runs, without DTDs. The document type line of hwloc, which declares nothing, is replaced by spaces, so that
//! positions stay correct.
//! Invariant: the pass takes linear time, and constant memory besides a copy of the text.

use crate::machine::MAX_FILE_BYTES;
use crate::spec::{position, SpecError};

/// Deepest nesting; hwloc's own hierarchies stay below 40.
const MAX_DEPTH: usize = 128;
/// Most elements of a file.
const MAX_ELEMENTS: usize = 1 << 18;
/// Most attributes of an element.
const MAX_ATTRIBUTES: usize = 64;

/// Checks a text and returns it without its document type line.
///
/// # Errors
/// The text is larger than 64 MiB, has a document type with declarations or a namespace, or exceeds a limit on nesting,
/// elements or attributes. Malformed text is left to the parser.
pub(super) fn gate(file: &str, text: &str) -> Result<String, SpecError> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(SpecError::plain(file, "more than 64 MiB", "an hwloc XML export"));
    }
    let refuse = |at: usize, what: &str, expected: &str| {
        let (line, column) = position(text, at);
        Err(SpecError { line, column, ..SpecError::plain(file, what, expected) })
    };
    let mut clean = text.to_string();
    let (mut depth, mut elements, mut at) = (0_usize, 0_usize, 0_usize);
    while let Some(open) = text[at..].find('<').map(|o| at + o) {
        let rest = &text[open..];
        if let Some(skip) = skipped(rest) {
            at = open + skip;
            continue;
        }
        let tag = tag(rest);
        if rest.starts_with("<!") {
            if tag.text.contains('[') || !rest.starts_with("<!DOCTYPE") {
                return refuse(
                    open,
                    "a document type with declarations (entities)",
                    "an hwloc file, which declares none",
                );
            }
            clean.replace_range(open..open + tag.text.len(), &blank(tag.text));
        } else if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else {
            elements += 1;
            depth += 1;
            if depth > MAX_DEPTH {
                return refuse(open, &format!("elements nested more than {MAX_DEPTH} deep"), "an hwloc file");
            }
            if elements > MAX_ELEMENTS {
                return refuse(open, &format!("more than {MAX_ELEMENTS} elements"), "an hwloc file");
            }
            if tag.attributes > MAX_ATTRIBUTES {
                return refuse(open, &format!("more than {MAX_ATTRIBUTES} attributes in an element"), "an hwloc file");
            }
            if tag.text.contains("xmlns") {
                return refuse(open, "a namespace", "an hwloc file, which has none");
            }
            depth -= usize::from(tag.text.ends_with("/>"));
        }
        at = open + tag.text.len();
    }
    Ok(clean)
}

/// Length of the comment, CDATA section or processing instruction at the start of `rest`; to the end of the text if it
/// is not closed. `None` if there is none.
fn skipped(rest: &str) -> Option<usize> {
    let pairs = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
    let (open, close) = pairs.into_iter().find(|(open, _)| rest.starts_with(open))?;
    Some(rest[open.len()..].find(close).map_or(rest.len(), |e| open.len() + e + close.len()))
}

/// A tag: its text with the closing `>`, and its number of attributes.
struct Tag<'a> {
    text: &'a str,
    attributes: usize,
}

fn tag(rest: &str) -> Tag<'_> {
    let (mut quote, mut attributes) = (None, 0);
    for (i, b) in rest.bytes().enumerate() {
        match (quote, b) {
            (None, b'"' | b'\'') => quote = Some(b),
            (None, b'=') => attributes += 1,
            (None, b'>') => return Tag { text: &rest[..=i], attributes },
            (Some(q), b) if q == b => quote = None,
            _ => {}
        }
    }
    Tag { text: rest, attributes }
}

/// The text with every byte except line breaks replaced by a space.
fn blank(text: &str) -> String {
    text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect()
}
