//! Exact page placement, by `move_pages` without target nodes.

use crate::sys::{self, PAGE_BYTES};

/// Pages per call.
const BATCH: usize = 4096;

/// Pages of a range of the calling process on each node of `node_ids`. The last entry counts pages that are not present
/// or on another node.
pub fn count(address: u64, bytes: u64, node_ids: &[u32]) -> Vec<u64> {
    let mut out = vec![0; node_ids.len() + 1];
    let mut pages = Vec::with_capacity(BATCH);
    let mut nodes = vec![0i32; BATCH];
    let mut next = address;
    while next < address + bytes {
        pages.clear();
        while pages.len() < BATCH && next < address + bytes {
            pages.push(next);
            next += PAGE_BYTES;
        }
        if sys::page_nodes(0, &pages, &mut nodes).is_err() {
            out[node_ids.len()] += pages.len() as u64;
            continue;
        }
        for &node in &nodes[..pages.len()] {
            let i = node_ids.iter().position(|&id| i64::from(id) == i64::from(node));
            out[i.unwrap_or(node_ids.len())] += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_are_present_and_others_absent() {
        let address = 0x5100_0000_0000;
        sys::map_at(address, 8 * PAGE_BYTES, true, sys::Backing::Private).unwrap();
        // SAFETY: both pages were just mapped writable.
        unsafe {
            (address as *mut u8).write_volatile(1);
            ((address + PAGE_BYTES) as *mut u8).write_volatile(1);
        }
        let nodes: Vec<u32> = (0..64).collect();
        let counts = count(address, 8 * PAGE_BYTES, &nodes);
        // Kernels without NUMA return ENOSYS, and all pages count as absent.
        assert!(counts[64] == 6 || counts[64] == 8, "{counts:?}");
        assert_eq!(counts.iter().sum::<u64>(), 8);
    }
}
