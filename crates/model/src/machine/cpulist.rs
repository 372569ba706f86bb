//! CPU and node lists as the kernel writes them: `0-7,64-71`.
//!
//! Problem: sysfs, machine files and people use the same notation. A wrong or hostile list (`0-4294967295`) must be
//! refused without allocating memory for it.
//! Invariant: a parsed list is ascending and free of duplicates. It has at most [`MAX_COUNT`] ids, each at most
//! [`MAX_ID`].

use crate::spec::clip;

/// Largest id a list may name.
pub const MAX_ID: u32 = 65_535;

/// Most entries a list may have.
pub const MAX_COUNT: usize = 8_192;

/// Parses a list; the empty text is the empty list.
///
/// # Errors
/// Wrong syntax, a range that runs backwards, an id above [`MAX_ID`], an id given twice, or more than [`MAX_COUNT`]
/// ids. The text can end a sentence that starts with the place.
pub fn parse(text: &str) -> Result<Vec<u32>, String> {
    let mut ids = Vec::new();
    if text.trim().is_empty() {
        return Ok(ids);
    }
    for part in text.trim().split(',') {
        let (first, last) = match part.split_once('-') {
            Some((a, b)) => (id(a)?, id(b)?),
            None => (id(part)?, id(part)?),
        };
        if first > last {
            return Err(format!("range `{}` runs backwards", part.trim()));
        }
        if ids.len() + (last - first) as usize >= MAX_COUNT {
            return Err(format!("more than {MAX_COUNT} ids"));
        }
        ids.extend(first..=last);
    }
    ids.sort_unstable();
    if let Some(w) = ids.windows(2).find(|w| w[0] == w[1]) {
        return Err(format!("{} is named twice", w[0]));
    }
    Ok(ids)
}

fn id(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<u32>() {
        Ok(n) if digits && n <= MAX_ID => Ok(n),
        Ok(_) if digits => Err(format!("id {text} is above {MAX_ID}")),
        _ if digits => Err(format!("an id above {MAX_ID}")),
        _ => Err(format!("`{}` is not an id", clip(text))),
    }
}

/// An ascending list as text with ranges: `0-7,64-71`. The empty list is the empty text.
pub fn format(ids: &[u32]) -> String {
    let mut out = String::new();
    let mut rest = ids;
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(&a, b)| a == *b).count();
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&first.to_string());
        if run > 1 {
            out.push_str(&format!("-{}", rest[run - 1]));
        }
        rest = &rest[run..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip() {
        for text in ["", "0", "0-7", "0-7,64-71", "3,5,9-10"] {
            assert_eq!(format(&parse(text).unwrap()), text);
        }
        assert_eq!(parse(" 4 , 0-1\n").unwrap(), [0, 1, 4]);
    }

    #[test]
    fn wrong_lists_are_refused_with_a_reason() {
        for (text, reason) in [
            ("0-", "`` is not an id"),
            ("a", "`a` is not an id"),
            ("-1", "`` is not an id"),
            ("+1", "`+1` is not an id"),
            ("7-3", "range `7-3` runs backwards"),
            ("1,0-2", "1 is named twice"),
            ("0-4294967295", "id 4294967295 is above 65535"),
            ("0-99999999999999999999", "an id above 65535"),
            ("0-65535", "more than 8192 ids"),
            ("0,,1", "`` is not an id"),
        ] {
            let e = parse(text).unwrap_err();
            assert!(e.contains(reason), "{text}: {e}");
        }
        assert_eq!(parse("0-8191").unwrap().len(), MAX_COUNT);
    }
}
