//! The kernel's memory management: allocation, reclaim, huge pages, locks.

pub(crate) mod contenders;
pub(crate) mod cow_fault;
pub(crate) mod daemon_time;
pub(crate) mod daemons;
pub(crate) mod deferred_split;
pub(crate) mod discard;
pub(crate) mod fault_lock;
pub(crate) mod fill;
pub(crate) mod khugepaged;
pub(crate) mod kswapd;
pub(crate) mod lru;
pub(crate) mod mmap_lock;
pub(crate) mod move_page;
pub(crate) mod move_pages;
pub(crate) mod page_alloc;
pub(crate) mod page_lock;
pub(crate) mod pins;
pub(crate) mod policy;
pub(crate) mod reclaim;
pub(crate) mod reuse;
pub(crate) mod swap_in;
pub(crate) mod work;
