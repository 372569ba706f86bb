//! Whether a page migrates at a hint fault.

use numalab_base::tunable::Needs;
use numalab_base::words;

words! {
    /// Whether a faulting page moves to the faulting CPU's node.
    pub enum PageMigrateRole {
        /// On its first hinting fault, then after two in a row from one node; huge pages are split.
        AutoNuma = "autonuma" ("AutoNUMA, 2012"),
        /// After two hinting faults in a row from one node, once the thread has a home; huge pages move whole.
        SchedNuma = "schednuma" ("schednuma, October 2012"),
        /// With every hint fault from another node.
        Moron = "moron" ("balancenuma before it had a filter, 2012"),
        /// If the last hint fault came from this node too.
        V38 = "v38" ("3.8"),
        /// Two-stage filter on the last CPU and PID.
        V313 = "v313" ("3.13"),
        /// As v313, then private faults, then the nodes where the group is active.
        V315 = "v315" ("3.15 to 4.5"),
        /// As v313, then private faults, then the group's use of both nodes.
        V46 = "v46" ("4.6 to 4.18"),
        /// As v46 with an exception for young tasks.
        V420 = "v420" ("4.19 on"),
        /// With every access, to the node it comes from, at no cost: no kernel, but the bound for all of them.
        Oracle = "oracle",
    }
}

/// The migration rules of 3.8 and later, and of the series that became 3.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrateRule {
    /// balancenuma's first stage: always.
    Moron,
    /// 3.8: the last fault came from this node.
    V38,
    /// 3.13: two-stage filter on the last cpupid.
    V313,
    /// 3.15: the filter, then private faults, then the nodes where the group is active.
    V315,
    /// 4.6: the filter, then private faults, then the group's use of both nodes.
    V46,
    /// 4.19: as `V46`, after an exception for young tasks.
    V420,
}

impl PageMigrateRole {
    /// The condition that hint faults migrate pages by a [`MigrateRule`].
    pub const KERNEL: Needs = Needs::OneOf(&[
        Self::Moron.word(),
        Self::V38.word(),
        Self::V313.word(),
        Self::V315.word(),
        Self::V46.word(),
        Self::V420.word(),
    ]);

    /// The rule of 3.8 and later. Nothing asks it beside a design of 2012.
    pub fn kernel(self) -> MigrateRule {
        match self {
            Self::Moron => MigrateRule::Moron,
            Self::AutoNuma | Self::SchedNuma | Self::Oracle | Self::V38 => MigrateRule::V38,
            Self::V313 => MigrateRule::V313,
            Self::V315 => MigrateRule::V315,
            Self::V46 => MigrateRule::V46,
            Self::V420 => MigrateRule::V420,
        }
    }
}
