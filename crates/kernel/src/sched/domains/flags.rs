//! Flags of a scheduling domain, with the kernel's names.

use crate::sched::rules::Form;

/// A set of domain flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// Balance when about to go idle.
    pub const NEWIDLE: Flags = Flags(1);
    /// Place on exec.
    pub const EXEC: Flags = Flags(1 << 1);
    /// Place on fork.
    pub const FORK: Flags = Flags(1 << 2);
    /// A waker may pull its wakee across this domain.
    pub const WAKE_AFFINE: Flags = Flags(1 << 3);
    /// Members share a core.
    pub const SHARE_CPUCAPACITY: Flags = Flags(1 << 4);
    /// Members share a cluster.
    pub const CLUSTER: Flags = Flags(1 << 5);
    /// Members share a last-level cache.
    pub const SHARE_LLC: Flags = Flags(1 << 6);
    /// One balance at a time machine-wide.
    pub const SERIALIZE: Flags = Flags(1 << 7);
    /// Spread tasks evenly over the sibling domains.
    pub const PREFER_SIBLING: Flags = Flags(1 << 8);
    /// Groups may overlap.
    pub const OVERLAP: Flags = Flags(1 << 9);
    /// Crosses nodes.
    pub const NUMA: Flags = Flags(1 << 10);
    /// Flags that mean nothing in a domain of one group (all but [`Flags::WAKE_AFFINE`]).
    pub const NEED_GROUPS: Flags = Flags(0x7ff & !Self::WAKE_AFFINE.0);

    /// Whether all of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether any of `other` is set.
    pub fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    /// With `other` set.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// Without `other`.
    #[must_use]
    pub fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// As debugfs `sched/domains/cpu*/domain*/flags` prints them.
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
