//! One entry of the dictionary: a counter with its unit, its releases and its meaning.

use std::fmt;

/// What one unit of a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 4 KiB pages.
    Pages,
    /// Huge pages of 2 MiB.
    HugePages,
    /// Page faults.
    Faults,
    /// Allocations of any size.
    Allocations,
    /// Occurrences.
    Events,
    /// Kibibytes.
    KiB,
    /// Reclaimable objects.
    Objects,
    /// Nanoseconds.
    Ns,
}

impl Unit {
    /// The unit as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Pages => "pages",
            Unit::HugePages => "huge pages",
            Unit::Faults => "faults",
            Unit::Allocations => "allocations",
            Unit::Events => "events",
            Unit::KiB => "KiB",
            Unit::Objects => "objects",
            Unit::Ns => "ns",
        }
    }
}

/// Which part of the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Scanning and hinting faults.
    NumaBalancing,
    /// Promotion between memory tiers.
    Tiering,
    /// Migration of pages for any reason.
    Migration,
    /// Which node an allocation got.
    AllocationPolicy,
    /// Page faults.
    Faults,
    /// Page allocator.
    Allocator,
    /// Transparent huge pages.
    HugePages,
    /// Memory compaction.
    Compaction,
    /// Page reclaim.
    Reclaim,
    /// Swap and block transfers.
    Transfer,
    /// Translation caches.
    Tlb,
    /// How long threads could not go on with their program.
    Stalls,
    /// How long page faults waited for locks.
    Locks,
    /// Caches of data, which numalab models and no kernel counts.
    Caches,
    /// DAMON and the schemes that migrate what it finds.
    Damon,
}

impl Kind {
    /// The part as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NumaBalancing => "NUMA balancing",
            Kind::Tiering => "memory tiering",
            Kind::Migration => "page migration",
            Kind::AllocationPolicy => "allocation policy",
            Kind::Faults => "faults",
            Kind::Allocator => "page allocator",
            Kind::HugePages => "huge pages",
            Kind::Compaction => "compaction",
            Kind::Reclaim => "reclaim",
            Kind::Transfer => "swap and block I/O",
            Kind::Tlb => "TLB shoot-downs",
            Kind::Stalls => "stalls of threads",
            Kind::Locks => "locks",
            Kind::Caches => "caches",
            Kind::Damon => "DAMON",
        }
    }
}

/// First release that has a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// This release.
    In(&'static str),
    /// This release or one near it; not checked in source.
    About(&'static str),
    /// A release before every kernel that numalab models.
    Always,
    /// None: no released kernel has it, but mmtests has a row for it.
    Never,
    /// None: the first release candidate added it, the second took it back.
    Reverted(&'static str, &'static str),
    /// None: numalab counts it, and no kernel does.
    Model,
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Since::In(release) => f.write_str(release),
            Since::About(release) => write!(f, "about {release}"),
            Since::Always => f.write_str("before 3.0"),
            Since::Never => f.write_str("never released"),
            Since::Reverted(added, removed) => write!(f, "{added} only, reverted in {removed}"),
            Since::Model => f.write_str("numalab, in no kernel"),
        }
    }
}

/// One counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterDoc {
    /// Name, as `/proc/vmstat` has it if a kernel counts it there.
    pub name: &'static str,
    /// What one unit is.
    pub unit: Unit,
    /// Which part of the kernel counts.
    pub kind: Kind,
    /// Whether neither more nor less is better, because good and bad causes alike make it grow. Of every other counter
    /// less is better: it counts what costs (scans, faults, moves, failures). More of a count is never better by
    /// itself; shares of counts have that direction (`catalog/columns.toml`).
    pub neutral: bool,
    /// First release.
    pub since: Since,
    /// Last release that has it, if it was removed or renamed.
    pub until: Option<&'static str>,
    /// What it counts.
    pub meaning: &'static str,
    /// What a reader might think it counts, but which it does not count.
    pub not_counted: &'static str,
}

impl CounterDoc {
    /// A counter of which less is better and that every release since `since` has.
    pub(super) const fn new(
        name: &'static str,
        unit: Unit,
        kind: Kind,
        since: Since,
        meaning: &'static str,
        not_counted: &'static str,
    ) -> Self {
        Self { name, unit, kind, neutral: false, since, until: None, meaning, not_counted }
    }
    /// This counter as one of which neither more nor less is better.
    pub(super) const fn neutral(mut self) -> Self {
        self.neutral = true;
        self
    }
    /// This counter with the last release that has it.
    pub(super) const fn until(mut self, release: &'static str) -> Self {
        self.until = Some(release);
        self
    }
}
