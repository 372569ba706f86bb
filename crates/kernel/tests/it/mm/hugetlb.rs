//! The pool of hugetlb pages.

use crate::mm::setup::small_naples;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::policy::PolicyNodes;
use numalab_kernel::mm::{PageClass, CHUNK_PAGES};

#[test]
fn the_nearest_allowed_node_gives_and_gets_back() {
    let mut memory = small_naples(&[]);
    memory.fill_hugetlb_pool(0, 1).unwrap();
    memory.fill_hugetlb_pool(1, 2).unwrap();
    let (all, local) = (memory.memory_nodes(), PolicyNodes::local(0));
    let first = memory.take_hugetlb(&local, all).unwrap();
    assert_eq!(first.node, 0);
    assert_eq!(memory.take_hugetlb(&local, NodeMask::of([0])), None, "the cpuset has node 0 alone");
    assert_eq!(memory.take_hugetlb(&local, all).unwrap().node, 1);
    let bound = PolicyNodes { mask: Some(NodeMask::of([0])), ..local };
    assert_eq!(memory.take_hugetlb(&bound, all), None, "the policy binds to node 0");
    let many = PolicyNodes { preferred_many: true, ..bound };
    memory.put_hugetlb(0, first.frame);
    assert_eq!(memory.take_hugetlb(&many, all).unwrap().node, 0);
    assert_eq!(memory.take_hugetlb(&many, all).unwrap().node, 1, "others follow its own nodes");
    assert_eq!(memory.counters.numa_hit + memory.counters.numa_foreign, 0, "a pool counts no allocation");
    assert_eq!(memory.account(1).pages(PageClass::Hugetlb), 2 * CHUNK_PAGES);
    memory.check().unwrap();
}

#[test]
fn a_pool_larger_than_its_node_says_how_much_there_was() {
    let mut memory = small_naples(&[]);
    let room = memory.fill_hugetlb_pool(0, u64::MAX).unwrap_err();
    assert!(room > 0);
    assert_eq!(memory.free_hugetlb(0), room);
    memory.check().unwrap();
}
