//! Page faults.

pub(crate) mod concurrent_first_touch;
pub(crate) mod fault_ahead;
pub(crate) mod first_touch;
pub(crate) mod handle_fault;
pub(crate) mod hugetlb_fault;
pub(crate) mod object_fault;
pub(crate) mod touch_pages;
pub(crate) mod zero_page;
