//! The order in which names of a catalog are listed.

use std::cmp::Ordering;

/// Compares names as people sort them: runs of digits compare as numbers.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    while !a_rest.is_empty() && !b_rest.is_empty() {
        let (x, a_next) = token(a_rest);
        let (y, b_next) = token(b_rest);
        let order = match (number(x), number(y)) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => x.cmp(y),
        };
        if order != Ordering::Equal {
            return order;
        }
        (a_rest, b_rest) = (a_next, b_next);
    }
    // Equal so far: the shorter name is first, then the text decides, so that 01 and 1 have an order.
    a_rest.len().cmp(&b_rest.len()).then_with(|| a.cmp(b))
}

/// The first run of digits, or of other characters, and the rest.
fn token(s: &str) -> (&str, &str) {
    let digit = s.starts_with(|c: char| c.is_ascii_digit());
    s.split_at(s.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(s.len()))
}

fn number(s: &str) -> Option<u128> {
    s.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natural_order() {
        let mut v = vec!["6.12", "6.3", "off", "6.4-rc2+x", "6.4-rc2", "4.15", "2x10", "2x9"];
        v.sort_by(|a, b| natural(a, b));
        assert_eq!(v, ["2x9", "2x10", "4.15", "6.3", "6.4-rc2", "6.4-rc2+x", "6.12", "off"]);
        assert_eq!(natural("1", "01"), Ordering::Greater);
        assert_eq!(natural("1", "1"), Ordering::Equal);
    }
}
