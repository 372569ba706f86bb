//! Counters of DAMON's schemes that migrate pages (`stats/` of a scheme in sysfs; kernel-after-6.12.md §3.4).

use super::doc::{CounterDoc, Kind, Since, Unit};

use Kind::Damon;

/// In print order.
pub(super) const COUNTERS: &[CounterDoc] = &[
    CounterDoc::new(
        "damon_sampled",
        Unit::Pages,
        Damon,
        Since::Model,
        "Pages that DAMON looked at to see whether they are accessed: one of each region at every sampling.",
        "pages that a scheme looked at before it moved them.",
    ),
    CounterDoc::new(
        "damon_cpu_ns",
        Unit::Ns,
        Damon,
        Since::Model,
        "CPU time of DAMON's kernel thread: looks at pages, moves, and TLB flushes.",
        "time that tasks lost to it: it runs on an idle CPU if there is one.",
    ),
    CounterDoc::new(
        "damos_fallback",
        Unit::Pages,
        Damon,
        Since::Model,
        "Pages that a scheme moved to another node than it names, since that one had no room.",
        "pages that stayed for lack of room, as all do since 7.3-rc (pgmigrate_fail).",
    ),
    CounterDoc::new(
        "damos_hot_nr_tried",
        Unit::Events,
        Damon,
        Since::In("6.11"),
        "Regions that the scheme migrate_hot took (stats/nr_tried of the scheme in sysfs).",
        "regions that its quota or its access pattern left out.",
    )
    .neutral(),
    CounterDoc::new(
        "damos_hot_pages_tried",
        Unit::Pages,
        Damon,
        Since::In("6.11"),
        "Pages of those regions, mapped or not (stats/sz_tried, in bytes there). The quota bounds it.",
        "pages that moved (damos_hot_pages_applied).",
    )
    .neutral(),
    CounterDoc::new(
        "damos_hot_nr_applied",
        Unit::Events,
        Damon,
        Since::In("6.11"),
        "Regions of which migrate_hot moved a page (stats/nr_applied).",
        "regions whose pages were all in place.",
    )
    .neutral(),
    CounterDoc::new(
        "damos_hot_pages_applied",
        Unit::Pages,
        Damon,
        Since::In("6.11"),
        "Pages that migrate_hot moved (stats/sz_applied, in bytes there).",
        "pages that NUMA balancing moved (numa_pages_migrated).",
    )
    .neutral(),
    CounterDoc::new(
        "damos_hot_qt_exceeds",
        Unit::Events,
        Damon,
        Since::In("6.11"),
        "Windows in which the quota of migrate_hot was used up (stats/qt_exceeds).",
        "how much was left to do.",
    )
    .neutral(),
    CounterDoc::new(
        "damos_cold_nr_tried",
        Unit::Events,
        Damon,
        Since::In("6.11"),
        "Regions that the scheme migrate_cold took (stats/nr_tried of the scheme in sysfs).",
        "regions that its quota or its access pattern left out.",
    )
    .neutral(),
    CounterDoc::new(
        "damos_cold_pages_tried",
        Unit::Pages,
        Damon,
        Since::In("6.11"),
        "Pages of those regions, mapped or not (stats/sz_tried, in bytes there). The quota bounds it.",
        "pages that moved (damos_cold_pages_applied).",
    )
    .neutral(),
    CounterDoc::new(
        "damos_cold_nr_applied",
        Unit::Events,
        Damon,
        Since::In("6.11"),
        "Regions of which migrate_cold moved a page (stats/nr_applied).",
        "regions whose pages were all in place.",
    )
    .neutral(),
    CounterDoc::new(
        "damos_cold_pages_applied",
        Unit::Pages,
        Damon,
        Since::In("6.11"),
        "Pages that migrate_cold moved (stats/sz_applied, in bytes there).",
        "pages that reclaim demoted (pgdemote_kswapd).",
    )
    .neutral(),
    CounterDoc::new(
        "damos_cold_qt_exceeds",
        Unit::Events,
        Damon,
        Since::In("6.11"),
        "Windows in which the quota of migrate_cold was used up (stats/qt_exceeds).",
        "how much was left to do.",
    )
    .neutral(),
];
