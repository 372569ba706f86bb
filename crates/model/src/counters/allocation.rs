//! Counters of allocation policy, faults and the page allocator (thp-and-allocation.md §1.3).

use super::doc::{CounterDoc, Kind, Since, Unit};

use Kind::{AllocationPolicy, Allocator, Faults};

/// In print order.
pub(super) const COUNTERS: &[CounterDoc] = &[
    CounterDoc::new(
        "numa_hit",
        Unit::Allocations,
        AllocationPolicy,
        Since::Always,
        "Allocations that got the node they preferred; a huge page counts 1.",
        "accesses and hinting faults: these counters say where memory was allocated, not where it is used.",
    )
    .neutral(),
    CounterDoc::new(
        "numa_miss",
        Unit::Allocations,
        AllocationPolicy,
        Since::Always,
        "Allocations on this node that had preferred another one.",
        "remote accesses.",
    ),
    CounterDoc::new(
        "numa_foreign",
        Unit::Allocations,
        AllocationPolicy,
        Since::Always,
        "Allocations that preferred this node and got another one; in the sum over nodes equal to numa_miss.",
        "remote accesses.",
    ),
    CounterDoc::new(
        "numa_interleave",
        Unit::Allocations,
        AllocationPolicy,
        Since::Always,
        "Interleaved allocations that got the node whose turn it was.",
        "interleaved allocations that fell back to another node.",
    )
    .neutral(),
    CounterDoc::new(
        "numa_local",
        Unit::Allocations,
        AllocationPolicy,
        Since::Always,
        "Allocations on the node of the CPU that asked.",
        "whether the thread stayed there.",
    )
    .neutral(),
    CounterDoc::new(
        "numa_other",
        Unit::Allocations,
        AllocationPolicy,
        Since::Always,
        "Allocations on another node than that of the CPU that asked.",
        "remote accesses; most are remote by policy, not for lack of memory.",
    ),
    CounterDoc::new(
        "pgfault",
        Unit::Faults,
        Faults,
        Since::Always,
        "Page faults of every kind, hinting faults among them.",
        "faults that the kernel resolved for itself outside user addresses.",
    ),
    CounterDoc::new(
        "pgmajfault",
        Unit::Faults,
        Faults,
        Since::Always,
        "Page faults that had to wait for a device.",
        "waits for a page under migration.",
    ),
    CounterDoc::new(
        "pgreuse",
        Unit::Events,
        Faults,
        Since::About("5.9"),
        "Write-protection faults resolved by making the page writable again, among them writes after a migration.",
        "faults that copied the page.",
    ),
    CounterDoc::new(
        "pgalloc_dma",
        Unit::Pages,
        Allocator,
        Since::Always,
        "Pages allocated from zone DMA.",
        "pages handed out from per-CPU lists a second time without going back to the zone.",
    )
    .neutral(),
    CounterDoc::new(
        "pgalloc_dma32",
        Unit::Pages,
        Allocator,
        Since::Always,
        "Pages allocated from zone DMA32.",
        "which node the pages are on; DMA32 is normally on node 0 only.",
    )
    .neutral(),
    CounterDoc::new(
        "pgalloc_normal",
        Unit::Pages,
        Allocator,
        Since::Always,
        "Pages allocated from zone Normal.",
        "which node the pages are on.",
    )
    .neutral(),
    CounterDoc::new(
        "pgalloc_movable",
        Unit::Pages,
        Allocator,
        Since::Always,
        "Pages allocated from zone Movable, which exists only where it was configured or memory was hot-added.",
        "movable pages in other zones.",
    )
    .neutral(),
    CounterDoc::new(
        "allocstall",
        Unit::Events,
        Allocator,
        Since::Always,
        "Allocations that had to reclaim memory themselves.",
        "how long the allocations took.",
    )
    .until("4.7"),
    CounterDoc::new(
        "allocstall_dma",
        Unit::Events,
        Allocator,
        Since::In("4.8"),
        "Allocations limited to zone DMA that had to reclaim memory themselves.",
        "allocations that could use a higher zone.",
    ),
    CounterDoc::new(
        "allocstall_dma32",
        Unit::Events,
        Allocator,
        Since::In("4.8"),
        "Allocations limited to zone DMA32 that had to reclaim memory themselves.",
        "allocations that could use a higher zone.",
    ),
    CounterDoc::new(
        "allocstall_normal",
        Unit::Events,
        Allocator,
        Since::In("4.8"),
        "Allocations up to zone Normal that had to reclaim memory themselves.",
        "user pages, which could use zone Movable.",
    ),
    CounterDoc::new(
        "allocstall_movable",
        Unit::Events,
        Allocator,
        Since::In("4.8"),
        "Allocations of user pages that had to reclaim memory themselves, whether or not there is a zone Movable.",
        "how long the allocations took.",
    ),
    CounterDoc::new(
        "fragment_stall",
        Unit::Events,
        Allocator,
        Since::Never,
        "Allocations that waited rather than fragment memory; proposed in 2018 and withdrawn before a release.",
        "anything on a released kernel; the row stays 0.",
    ),
];
