//! Flags of a scheduling domain, with the kernel's names.

use crate::sched::rules::Form;

/// A set of domain flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// A CPU about to go idle balances.
    pub const NEWIDLE: Flags = Flags(1);
    /// Exec places tasks.
    pub const EXEC: Flags = Flags(1 << 1);
    /// Fork places tasks.
    pub const FORK: Flags = Flags(1 << 2);
    /// A waker may pull its wakee across this domain.
    pub const WAKE_AFFINE: Flags = Flags(1 << 3);
    /// The CPUs share a core.
    pub const SHARE_CPUCAPACITY: Flags = Flags(1 << 4);
    /// The CPUs share a cluster.
    pub const CLUSTER: Flags = Flags(1 << 5);
    /// The CPUs share a last-level cache.
    pub const SHARE_LLC: Flags = Flags(1 << 6);
    /// Only one CPU of the machine balances at a time.
    pub const SERIALIZE: Flags = Flags(1 << 7);
    /// Tasks are spread evenly over the sibling domains.
    pub const PREFER_SIBLING: Flags = Flags(1 << 8);
    /// Groups may overlap.
    pub const OVERLAP: Flags = Flags(1 << 9);
    /// The domain crosses nodes.
    pub const NUMA: Flags = Flags(1 << 10);
    /// Flags that mean nothing in a domain of one group: all but [`Flags::WAKE_AFFINE`].
    pub const NEED_GROUPS: Flags = Flags(0x7ff & !Self::WAKE_AFFINE.0);

    /// Whether all of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether any of `other` is set.
    pub fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    /// These flags and `other`.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// These flags without `other`.
    #[must_use]
    pub fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// The flags as debugfs `sched/domains/cpu*/domain*/flags` prints them.
    pub fn text(self, form: Form) -> String {
        let llc = if form == Form::V61 { "SD_SHARE_PKG_RESOURCES" } else { "SD_SHARE_LLC" };
        let names = [
            "SD_BALANCE_NEWIDLE",
            "SD_BALANCE_EXEC",
            "SD_BALANCE_FORK",
            "SD_WAKE_AFFINE",
            "SD_SHARE_CPUCAPACITY",
            "SD_CLUSTER",
            llc,
            "SD_SERIALIZE",
            "SD_PREFER_SIBLING",
            "SD_OVERLAP",
            "SD_NUMA",
        ];
        let set: Vec<&str> = (0..names.len()).filter(|i| self.0 >> i & 1 == 1).map(|i| names[i]).collect();
        set.join(" ")
    }
}
