//! Interleaving by address (`interleave_nid`, `weighted_interleave_nid`).

use numalab_base::base_page::BasePage;
use numalab_base::node_mask::NodeId;

/// Interleave index of an address in a VMA that starts at `vm_start` with page offset `vm_pgoff`. For private
/// anonymous memory `vm_pgoff` is `vm_start` in pages, so the index depends on the address alone. `order` is
/// the order of the page.
pub fn interleave_index(page: BasePage, vm_pgoff: u64, vm_start: u64, addr: u64, order: u32) -> u64 {
    (vm_pgoff >> order) + (page.pages(addr - vm_start) >> order)
}

/// Node of interleave index `ilx` among `nodes`: round robin, or in runs of the given weights. `None` without nodes.
#[inline]
pub fn node_of_index(nodes: &[NodeId], weights: Option<&[u8]>, ilx: u64) -> Option<usize> {
    if nodes.is_empty() {
        return None;
    }
    let Some(weights) = weights else {
        return Some(usize::from(nodes[(ilx % nodes.len() as u64) as usize]));
    };
    let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    let mut left = ilx % total.max(1);
    for (node, weight) in nodes.iter().zip(weights) {
        if left < u64::from(*weight) {
            return Some(usize::from(*node));
        }
        left -= u64::from(*weight);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_12_huge_pages_step_by_2_mib() {
        let nodes = [0, 2, 5];
        let huge = interleave_index(BasePage::Kib4, 0, 0, 8 << 20, 9);
        assert_eq!((huge, node_of_index(&nodes, None, huge)), (4, Some(2)));
        let small = interleave_index(BasePage::Kib4, 0, 0, 20 << 10, 0);
        assert_eq!((small, node_of_index(&nodes, None, small)), (5, Some(5)));
    }

    #[test]
    fn the_pattern_belongs_to_the_address() {
        // Private anonymous memory has vm_pgoff = start / 4096, so two VMAs give the same index for an address.
        let index = |start: u64| interleave_index(BasePage::Kib4, start >> 12, start, 0x7f00_0040_3000, 0);
        assert_eq!(index(0x7f00_0000_0000), index(0x7f00_0040_0000));
        assert_eq!(node_of_index(&[], None, 3), None);
    }
}
