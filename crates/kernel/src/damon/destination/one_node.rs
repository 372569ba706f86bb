//! One node for all pages of a scheme (6.11 on; b51820ebea65, b696722d784f).

/// The node that the scheme names.
pub(super) fn node(target_nid: u16) -> usize {
    usize::from(target_nid)
}
