//! Cache-aware scheduling (CONFIG_SCHED_CACHE, 7.2): the threads of a process are drawn together on one last-level
//! cache.
//!
//! Problem: threads that share data run faster on one cache, but a cache that gets all threads of a process is
//! overloaded, and NUMA balancing has an opinion of its own on where they belong.
//! Approach: occupancy of caches is kept per process and epoch ([`epoch`]). It elects a preferred cache, unless the
//! process is too big for one ([`size`]). The load balancer asks whether a move between caches may go on
//! ([`decide`]). Wake-up and fork placement ask nothing.
//! Invariants: all of this is inactive where no node has more than one cache. Decisions are pure.

pub mod decide;
pub mod epoch;
pub mod size;
pub(in crate::sched) mod state;
mod tunables;

pub use tunables::{CacheAwareTunables, Precedence};
