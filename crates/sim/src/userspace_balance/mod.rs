//! The daemon that balances from user space, `numalab balance`, on the simulated machine.
//!
//! The decisions are those of [`numalab_kernel::userspace_balance`], as the real daemon makes them. This folder
//! supplies what the daemon would see ([`look`]) and does what it would ask the kernel for ([`act`]): `move_pages` and
//! `sched_setaffinity`. The daemon's work takes CPU time of the nodes that it works for.

pub(crate) mod act;
pub(crate) mod balance_timer;
pub(crate) mod observe;
