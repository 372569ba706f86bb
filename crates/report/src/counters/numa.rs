//! Counters of NUMA balancing, tiering and page migration (kernel-numa-balancing.md §15.2).

use super::{entry, CounterDoc, Kind, Since, Unit};

use Kind::{Migration, NumaBalancing, Tiering};

/// In print order.
pub(super) const COUNTERS: &[CounterDoc] = &[
    entry(
        "numa_pte_updates",
        Unit::Pages,
        NumaBalancing,
        Since::In("3.8"),
        "Base pages that the scanner made inaccessible, so that the next access takes a hinting fault; a huge page counts 512.",
        "entries that were visited but skipped or already marked; the cost of the walk. Before about 3.14 a huge page counted 1.",
    ),
    entry(
        "numa_huge_pte_updates",
        Unit::HugePages,
        NumaBalancing,
        Since::About("3.13"),
        "Huge entries that the scanner marked as a whole; each also counts 512 in numa_pte_updates.",
        "huge pages that are mapped by small entries.",
    ),
    entry(
        "numa_hint_faults",
        Unit::Faults,
        NumaBalancing,
        Since::In("3.8"),
        "Hinting faults that found a real page and an unchanged entry; a fault on a huge page counts 1.",
        "faults that lost a race, faults on device memory, and pages: per-task statistics add 512 for a huge page, this adds 1.",
    ),
    entry(
        "numa_hint_faults_local",
        Unit::Faults,
        NumaBalancing,
        Since::In("3.8"),
        "Hinting faults whose page was on the node of the faulting CPU, before any migration.",
        "pages that became local because the fault migrated them; accesses that took no fault, which are most of them.",
    )
    .more_is_better(),
    entry(
        "numa_pages_migrated",
        Unit::Pages,
        NumaBalancing,
        Since::In("3.8"),
        "Pages that a hinting fault moved to another node; a huge page counts 512.",
        "attempts that were refused or failed; pages moved by compaction, mbind or tiering demotion.",
    ),
    entry(
        "pgpromote_success",
        Unit::Pages,
        Tiering,
        Since::In("5.18"),
        "Pages that moved from a slow to a fast memory tier.",
        "moves between nodes of one tier; since 6.12 moves outside the tiering mode.",
    )
    .more_is_better(),
    entry(
        "pgpromote_candidate",
        Unit::Pages,
        Tiering,
        Since::In("6.1"),
        "Pages that were hot enough to be promoted, whether or not the rate limit let them.",
        "promotions that needed no threshold because the fast tier had room.",
    ),
    entry(
        "pgmigrate_success",
        Unit::Pages,
        Migration,
        Since::In("3.8"),
        "Pages migrated for any reason: NUMA balancing, compaction, mbind, hotplug, tiering; a huge page counts 512.",
        "the reason; subtract numa_pages_migrated to see what was not NUMA balancing.",
    ),
    entry(
        "pgmigrate_fail",
        Unit::Pages,
        Migration,
        Since::In("3.8"),
        "Pages whose migration was tried and failed; a huge page counts 512.",
        "pages refused before the attempt, such as for a full target node.",
    ),
    entry(
        "thp_migration_success",
        Unit::HugePages,
        Migration,
        Since::In("5.9"),
        "Huge pages migrated as a whole; each also counts 512 in pgmigrate_success.",
        "huge pages that were split first.",
    ),
    entry(
        "thp_migration_fail",
        Unit::HugePages,
        Migration,
        Since::In("5.9"),
        "Huge pages that could neither be migrated nor split for migration.",
        "huge pages refused before the attempt.",
    ),
    entry(
        "thp_migration_split",
        Unit::HugePages,
        Migration,
        Since::In("5.9"),
        "Huge pages that were split so that their small pages could be migrated.",
        "NUMA hinting migrations: they give up instead of splitting.",
    ),
];
