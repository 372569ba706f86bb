//! The pool of hugetlb pages: huge pages set aside on each node before a program starts (`nr_hugepages`).
//!
//! A page of the pool is counted when it is set aside. Taking it for a fault is no allocation, so `numa_hit` and its
//! kin do not count it. It is on no LRU list: nothing reclaims, splits or collapses it.

use super::account::PageClass;
use super::alloc::take_page::Mark;
use super::alloc::AllocatedPage;
use super::pageblock::frame::Frame;
use super::physical_memory::PhysicalMemory;
use super::policy::policy_nodes::PolicyNodes;
use numalab_base::node_mask::NodeMask;

impl PhysicalMemory {
    /// Sets `pages` huge pages of a node aside, without counting (`alloc_pool_huge_folio` before the run).
    ///
    /// # Errors
    /// The number of pages that the node had room for.
    pub fn fill_hugetlb_pool(&mut self, node: usize, pages: u64) -> Result<(), u64> {
        let req = self.request_on(node, node, PageClass::Hugetlb);
        for done in 0..pages {
            let zone = self.first_zone_above(&req, Mark::Low).ok_or(done)?;
            let got = self.take_page_uncounted(&req, zone);
            self.hugetlb_pool[node].push(got.frame);
        }
        Ok(())
    }
    /// Takes a page of the pool for a fault on node `policy_nodes.preferred` or, if that has none left, the nearest
    /// that policy and cpuset allow (`dequeue_hugetlb_folio_nodemask`). `None` if no such node has one.
    pub fn take_hugetlb(&mut self, policy_nodes: &PolicyNodes, mems: NodeMask) -> Option<AllocatedPage> {
        let strict = policy_nodes.mask.filter(|_| !policy_nodes.preferred_many);
        // Preferred-many tries its own nodes first, and then all of the cpuset.
        let masks = [policy_nodes.mask.map_or(mems, |m| m.and(&mems)), strict.map_or(mems, |m| m.and(&mems))];
        let order = masks.iter().flat_map(|mask| {
            self.fallback(policy_nodes.preferred).iter().map(|n| usize::from(*n)).filter(|n| mask.contains(*n))
        });
        let node = order.into_iter().find(|n| !self.hugetlb_pool[*n].is_empty())?;
        self.hugetlb_pool[node].pop().map(|frame| AllocatedPage { node, frame })
    }
    /// Gives a page back to the pool of its node.
    pub fn put_hugetlb(&mut self, node: usize, frame: Frame) {
        self.hugetlb_pool[node].push(frame);
    }
    /// Pages of the pool of a node that nobody has mapped (`free_hugepages`).
    pub fn free_hugetlb(&self, node: usize) -> u64 {
        self.hugetlb_pool[node].len() as u64
    }
}
