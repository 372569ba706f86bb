//! How long page faults waited for locks: the simulator's counterpart of `/proc/lock_stat`.

use super::doc::{CounterDoc, Kind, Since, Unit};

/// Counters of waits for locks. A run has those that it waited for.
pub(super) const COUNTERS: &[CounterDoc] = &[
    CounterDoc::new(
        "mmap_lock_wait_ns",
        Unit::Ns,
        Kind::Locks,
        Since::Model,
        "Time that page faults spent on the lock of their address space, taken for reading: until its cache line \
         came to them, and until it was their turn. Up to 6.3 every fault takes it.",
        "waits behind khugepaged, which sleep (blocked time), and writers of the lock.",
    ),
    CounterDoc::new(
        "vma_lock_wait_ns",
        Unit::Ns,
        Kind::Locks,
        Since::Model,
        "The same for the lock of the mapping (vm_lock, from 6.15 on vm_refcnt), which faults take from 6.4 on.",
        "the fallback to mmap_lock.",
    ),
    CounterDoc::new(
        "ptlock_wait_ns",
        Unit::Ns,
        Kind::Locks,
        Since::Model,
        "Time that threads which filled the same missing page spent on the lock of its page table.",
        "faults that meet nobody at their page.",
    ),
    CounterDoc::new(
        "zone_lock_wait_ns",
        Unit::Ns,
        Kind::Locks,
        Since::Model,
        "Time that CPUs spent on the locks of zones as they refilled their lists of free pages.",
        "work under the lock, which is part of a fault, and freeing.",
    ),
    CounterDoc::new(
        "lru_lock_wait_ns",
        Unit::Ns,
        Kind::Locks,
        Since::Model,
        "Time that CPUs spent on the locks of LRU lists as they added a full batch.",
        "work under the lock, reclaim, and pages that migrate.",
    ),
];
