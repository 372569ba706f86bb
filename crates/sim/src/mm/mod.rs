//! The kernel's memory management: allocation, reclaim, huge pages, locks.

pub(crate) mod collapse;
pub(crate) mod contenders;
pub(crate) mod cow_fault;
pub(crate) mod daemon_time;
pub(crate) mod discard;
pub(crate) mod fault_lock;
pub(crate) mod fill;
pub(crate) mod lru;
pub(crate) mod mm_threads;
pub(crate) mod mmap_lock;
pub(crate) mod move_page;
pub(crate) mod move_pages;
pub(crate) mod page_alloc;
pub(crate) mod page_lock;
pub(crate) mod pins;
pub(crate) mod reclaim_threads;
pub(crate) mod reuse;
pub(crate) mod shrink_pages;
pub(crate) mod split_partial;
pub(crate) mod swap_in;
pub(crate) mod vma_policy;
pub(crate) mod work;
