//! Request flags (thp-and-allocation.md section 5).

use std::ops::BitAnd;
use std::ops::BitOr;
use std::ops::Not;

/// What an allocation may do and on which nodes; only the flags that matter to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gfp(u16);

impl Gfp {
    /// May compact and reclaim directly.
    pub const DIRECT_RECLAIM: Self = Self(1);
    /// Wakes kswapd when every node is below its low watermark.
    pub const KSWAPD_RECLAIM: Self = Self(1 << 1);
    /// Uses only the preferred node.
    pub const THISNODE: Self = Self(1 << 2);
    /// Gives up after one attempt at reclaim.
    pub const NORETRY: Self = Self(1 << 3);
    /// Tries hard for a costly order, but never calls the OOM killer.
    pub const RETRY_MAYFAIL: Self = Self(1 << 4);
    /// Never uses the emergency reserves.
    pub const NOMEMALLOC: Self = Self(1 << 5);
    /// Does not report a failure.
    pub const NOWARN: Self = Self(1 << 6);
    /// The page can be moved later.
    pub const MOVABLE: Self = Self(1 << 7);
    /// May start IO.
    pub const IO: Self = Self(1 << 8);
    /// High priority.
    pub const HIGH: Self = Self(1 << 9);
    /// Compacts, but does not reclaim (model: the tunable `thp.effort`).
    pub const COMPACT_ONLY: Self = Self(1 << 10);

    /// A base page of a user process.
    pub const HIGHUSER_MOVABLE: Self = Self(1 | 1 << 1 | 1 << 7 | 1 << 8);
    /// A page of the kernel: page tables, slab.
    pub const KERNEL: Self = Self(1 | 1 << 1 | 1 << 8);
    /// A huge page without reclaim.
    pub const TRANSHUGE_LIGHT: Self = Self(1 << 5 | 1 << 6 | 1 << 7 | 1 << 8);
    /// A huge page with direct reclaim, without waking kswapd.
    pub const TRANSHUGE: Self = Self(1 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8);
    /// Destination of a hint-fault migration of a base page.
    pub const MIGRATE_BASE: Self = Self(1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7);
    /// Destination of a hint-fault migration of a huge page.
    pub const MIGRATE_HUGE: Self = Self(1 << 2 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8);

    /// Whether all of these flags are set.
    #[inline]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for Gfp {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Gfp {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Gfp {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_sets_of_section_5() {
        assert_eq!(Gfp::TRANSHUGE, Gfp::TRANSHUGE_LIGHT | Gfp::DIRECT_RECLAIM);
        assert!(!Gfp::TRANSHUGE.has(Gfp::KSWAPD_RECLAIM));
        let either = Gfp::DIRECT_RECLAIM | Gfp::KSWAPD_RECLAIM;
        assert_eq!(Gfp::TRANSHUGE_LIGHT & either, Gfp::default());
        assert!(Gfp::HIGHUSER_MOVABLE.has(either | Gfp::MOVABLE) && !Gfp::HIGHUSER_MOVABLE.has(Gfp::NOMEMALLOC));
        assert_eq!(Gfp::MIGRATE_HUGE, Gfp::TRANSHUGE_LIGHT | Gfp::THISNODE);
        assert_eq!(Gfp::MIGRATE_BASE & either, Gfp::default());
        assert!(Gfp::MIGRATE_BASE.has(Gfp::THISNODE | Gfp::NORETRY | Gfp::NOMEMALLOC | Gfp::NOWARN));
        assert_eq!(Gfp::TRANSHUGE & !Gfp::DIRECT_RECLAIM, Gfp::TRANSHUGE_LIGHT);
    }
}
