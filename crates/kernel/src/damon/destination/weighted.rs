//! Several nodes with weights (6.17 on; 19c1dc15c859).
//!
//! The place of a page in its mapping decides, as with weighted interleave. So a page that is where it belongs stays
//! there when the scheme comes back to it, and neighbouring huge pages go by the weights too.

/// The node of the page number `index` of its mapping, counted in pages of its own size.
pub(super) fn node(dests: &[(u16, u16)], index: u64) -> Option<usize> {
    let all: u64 = dests.iter().map(|d| u64::from(d.1)).sum();
    let mut left = index.checked_rem(all)?;
    for &(node, weight) in dests {
        match left.checked_sub(u64::from(weight)) {
            Some(rest) => left = rest,
            None => return Some(usize::from(node)),
        }
    }
    None
}
