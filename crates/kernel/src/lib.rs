//! The modelled kernel's decisions, pure: no clock of its own, no I/O.
//!
//! `numa` scan pace, VMA and page filters, hint faults, placement, groups;
//! `sched` domains, PELT, run queues, placement, load balance, imbalance rules;
//! `mm` frames, page tables, VMAs, fault paths; `hw` latency, bandwidth, caches, TLB, operation costs.
//! `damon` watches accesses and migrates what is hot or cold, where an administrator has set that up.
//! `userspace_balance` the same decisions for a daemon that moves pages and threads from outside.
//! Time comes in as arguments (`now` in jiffies or ns); the caller owns the event loop.

pub mod damon;
pub mod hw;
pub mod mm;
pub mod numa;
pub mod registry;
pub mod sched;
pub mod userspace_balance;
