//! What the state of memory takes in the simulator, bytes, known before there is any.
//!
//! Problem: a run that does not fit into the host's memory must be refused before it starts.
//! Approach: small samples are built and asked for their own size, so that the figures follow the layout by themselves.

use super::object::SharedBlock;
use super::page_nodes::PageNodes;
use super::pageblock::frame::Frame;
use super::pageblock::pageblocks::Pageblocks;
use super::units::{CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use super::vma::{Vma, VmaKind};
use numalab_base::node_mask::NodeId;

/// Chunks of a sample: a power of two, so that no vector has room to spare.
const CHUNKS: usize = 64;

/// Pageblocks of a sample: many, so that the upper levels of its sets hardly count.
const BLOCKS: u64 = 1 << 12;

/// Bytes of state for each part of memory, on a machine with a certain number of nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateSizes {
    /// Of a chunk of a mapping, 512 pages, untouched or with a huge page.
    pub chunk: f64,
    /// Besides that, of a chunk with base pages: the entries, and the counts by node.
    pub entries: f64,
    /// Besides both, of a chunk with base pages of the mapping's own.
    pub own: f64,
    /// Of a chunk of a shared object, touched or not.
    pub object_chunk: f64,
    /// Besides that, of a chunk of a shared object with pages.
    pub object_block: f64,
    /// Of a pageblock of physical memory.
    pub pageblock: f64,
    /// Of the mapping of a stack, of which the last chunk is in use.
    pub stack: f64,
}

impl StateSizes {
    /// The sizes on a machine with `nodes` nodes; `stack_pages` is the length of a stack, at least one page.
    pub fn new(nodes: usize, stack_pages: u64) -> Self {
        let each = |vma: &Vma| vma.state_bytes() as f64 / CHUNKS as f64;
        let mut vma = mapping(nodes, CHUNKS as u64 * CHUNK_BYTES);
        let chunk = each(&vma);
        (0..CHUNKS).for_each(|c| vma.map_shared(c, 0, 0, false));
        let with_entries = each(&vma);
        // Pages of the last nodes take most.
        let last = nodes - 1;
        (0..CHUNKS).for_each(|c| vma.populate(c, 1, last, Frame(0)));
        let with_own = each(&vma);
        let mut stack = mapping(nodes, stack_pages.max(1) * PAGE_BYTES);
        stack.populate(stack.chunk_count() - 1, 0, last, Frame(0));
        let zone = Pageblocks::new(0, BLOCKS * CHUNK_PAGES);
        Self {
            chunk,
            entries: with_entries - chunk,
            own: with_own - with_entries,
            object_chunk: std::mem::size_of::<Option<Box<SharedBlock>>>() as f64,
            object_block: (std::mem::size_of::<SharedBlock>() + more_bytes(last)) as f64,
            pageblock: zone.state_bytes() as f64 / BLOCKS as f64,
            stack: (stack.state_bytes() + std::mem::size_of::<Vma>()) as f64,
        }
    }
    /// Of a resident base page that belongs to one mapping, in a full chunk.
    pub fn page(&self) -> f64 {
        (self.chunk + self.entries + self.own) / CHUNK_PAGES as f64
    }
    /// Of a huge page that nobody touches, with its pageblock.
    pub fn huge_page(&self) -> f64 {
        self.chunk + self.pageblock
    }
}

/// Bytes that the nodes of 512 pages take beside their block, once one of them is `node`.
fn more_bytes(node: usize) -> usize {
    let mut nodes = PageNodes::ZERO;
    nodes.set(0, node as NodeId);
    nodes.more_bytes()
}

fn mapping(nodes: usize, bytes: u64) -> Vma {
    Vma::new(0, bytes, VmaKind::PrivateAnon, true, nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_takes_what_its_size_says() {
        let sizes = StateSizes::new(4, 2048);
        let chunks = 512;
        let mut vma = mapping(4, chunks * CHUNK_BYTES);
        let empty = sizes.chunk * chunks as f64;
        assert_eq!(vma.state_bytes() as f64, empty, "nothing but chunks");
        (0..chunks as usize).for_each(|c| vma.populate_huge(c, 1, Frame(7)));
        assert_eq!(vma.state_bytes() as f64, empty, "huge pages add nothing");
        let mut vma = mapping(4, chunks * CHUNK_BYTES);
        for chunk in 0..chunks as usize {
            (0..CHUNK_PAGES as usize).for_each(|page| vma.populate(chunk, page, 1, Frame(7)));
        }
        let full = sizes.page() * (chunks * CHUNK_PAGES) as f64;
        assert!((vma.state_bytes() as f64 / full - 1.0).abs() < 0.001, "{} {full}", vma.state_bytes());
    }

    /// The targets are 8 bytes for a page and 64 for an idle huge page. What is missed is told by `make bench`; here it
    /// may not become worse.
    #[test]
    fn state_per_page_does_not_grow() {
        // A block of 512 pages has a count of 2 bytes for each node.
        for (nodes, page_bytes) in [(2, 9.9), (64, 9.9 + 0.25), (256, 9.9 + 1.0), (1024, 9.9 + 1.0 + 4.0)] {
            let sizes = StateSizes::new(nodes, 2048);
            assert!(sizes.page() <= page_bytes, "{} bytes for a page of 4 KiB on {nodes} nodes", sizes.page());
            assert!(sizes.huge_page() <= 64.0, "{} bytes for an idle huge page on {nodes} nodes", sizes.huge_page());
        }
    }
}
