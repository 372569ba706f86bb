//! Moving pages of the workload to other nodes (`move_pages(2)`).

use crate::sys;
use numalab_nouns::workload::MovePages;

/// Pages of one system call: a block, so that a huge page is asked for once.
const PAGES: usize = (MovePages::BLOCK_BYTES / sys::PAGE_BYTES) as usize;

/// Moves the present pages of a range of this process. Aligned blocks of [`MovePages::BLOCK_BYTES`] go to `nodes` in
/// turn. Pages that the kernel leaves where they are, because they are held or shared, are no error.
///
/// # Errors
/// The kernel's error, as a sentence: no such node, a node outside the cpuset, a kernel without the call.
pub fn run(address: u64, bytes: u64, nodes: &[i32]) -> Result<(), String> {
    let (mut pages, mut to, mut status) = ([0u64; PAGES], [0i32; PAGES], [0i32; PAGES]);
    let end = address + bytes;
    let first = address / MovePages::BLOCK_BYTES;
    let mut at = address;
    while at < end {
        let block = at / MovePages::BLOCK_BYTES;
        let block_end = ((block + 1) * MovePages::BLOCK_BYTES).min(end);
        let count = ((block_end - at) / sys::PAGE_BYTES) as usize;
        let node = nodes[((block - first) % nodes.len() as u64) as usize];
        for (i, page) in pages[..count].iter_mut().enumerate() {
            *page = at + i as u64 * sys::PAGE_BYTES;
        }
        to[..count].fill(node);
        sys::move_pages(&pages[..count], &to[..count], &mut status[..count])
            .map_err(|e| format!("move_pages of {count} pages to node {node}: {e}"))?;
        at = block_end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of this process with a page that is present; `None` where the kernel has no such call.
    fn on_node(address: u64) -> Option<i32> {
        let mut node = [0];
        sys::page_nodes(0, &[address], &mut node).ok().map(|()| node[0])
    }

    #[test]
    fn pages_stay_on_the_node_that_they_are_on_and_bad_nodes_are_told() {
        let memory = vec![1u8; 3 * sys::PAGE_BYTES as usize];
        let start = (memory.as_ptr() as u64).next_multiple_of(sys::PAGE_BYTES);
        let Some(node) = on_node(start).filter(|n| *n >= 0) else { return };
        run(start, 2 * sys::PAGE_BYTES, &[node]).unwrap();
        assert_eq!(on_node(start), Some(node));
        let why = run(start, sys::PAGE_BYTES, &[1023]).unwrap_err();
        assert!(why.contains("move_pages of 1 pages to node 1023"), "{why}");
        assert_eq!(memory[sys::PAGE_BYTES as usize], 1);
    }
}
