//! The value of the tunable `thp.ladder`: distance classes and page sizes in the order in which a fault tries them.

/// Largest number of rungs in a list.
const MOST_RUNGS: usize = 32;
/// Number of distance classes that a list may name: D0 to D15.
const MOST_CLASSES: u8 = 16;

/// A list of rungs in the order in which a fault tries them, written `D0 THP | D0 4k | D1 THP`. A rung is a distance
/// class and a page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RungList {
    len: u8,
    /// Twice the distance class, plus 1 for a huge page.
    rungs: [u8; MOST_RUNGS],
}

impl RungList {
    /// No list; written `none`.
    pub const NONE: Self = Self { len: 0, rungs: [0; MOST_RUNGS] };

    /// Whether this is [`Self::NONE`].
    pub fn is_none(&self) -> bool {
        self.len == 0
    }
    /// The rungs as (distance class, huge) pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, bool)> + '_ {
        self.rungs[..usize::from(self.len)].iter().map(|r| (r >> 1, r & 1 != 0))
    }
    /// Reads a list like `D0 THP | D0 4k | D1 THP`, or `none`.
    ///
    /// # Errors
    /// A sentence that names the first bad rung and what is expected. A rung is bad if it cannot be read, appears
    /// twice or is one too many.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut out = Self::NONE;
        if text.trim() == "none" {
            return Ok(out);
        }
        for part in text.split('|') {
            let (class, huge) =
                rung(part).ok_or_else(|| format!("`{}` is no rung like `D1 THP` or `D0 4k`", part.trim()))?;
            let code = class << 1 | u8::from(huge);
            if out.iter().any(|known| known == (class, huge)) {
                return Err(format!("`{}` is in the list twice", part.trim()));
            }
            let Some(free) = out.rungs.get_mut(usize::from(out.len)) else {
                return Err(format!("more than {MOST_RUNGS} rungs"));
            };
            *free = code;
            out.len += 1;
        }
        Ok(out)
    }
}

impl std::fmt::Display for RungList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        for (i, (class, huge)) in self.iter().enumerate() {
            let bar = if i > 0 { " | " } else { "" };
            write!(f, "{bar}D{class} {}", if huge { "THP" } else { "4k" })?;
        }
        Ok(())
    }
}

fn rung(part: &str) -> Option<(u8, bool)> {
    let (class, size) = part.trim().split_once(char::is_whitespace)?;
    let class = class.strip_prefix(['D', 'd'])?.parse().ok().filter(|c| *c < MOST_CLASSES)?;
    match size.trim() {
        "THP" | "thp" => Some((class, true)),
        "4k" | "4K" => Some((class, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_are_read_and_bad_rungs_named() {
        let list = RungList::parse("D0 THP | D0 4k|D12  thp").unwrap();
        assert_eq!(list.iter().collect::<Vec<_>>(), [(0, true), (0, false), (12, true)]);
        assert_eq!(list.to_string(), "D0 THP | D0 4k | D12 THP");
        assert_eq!(RungList::parse(&list.to_string()), Ok(list));
        assert_eq!((RungList::parse(" none "), RungList::NONE.to_string()), (Ok(RungList::NONE), "none".into()));
        for bad in ["", "D0", "D0 2M", "X0 THP", "D0 THP |", "D16 THP", "none | D0 4k"] {
            assert!(RungList::parse(bad).is_err_and(|e| e.contains("is no rung")), "{bad}");
        }
        assert!(RungList::parse("D0 4k | d0 4K").is_err_and(|e| e.contains("twice")));
    }
}
