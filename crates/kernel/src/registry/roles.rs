//! Roles, by the names that catalog files use.

use crate::damon::{Destinations, Goals};
use crate::mm::thp::Locality;
use crate::numa::config::NumaRoles;
use crate::numa::page_filter::PageFilterKind;
use crate::numa::rules::{FaultStatsRole, PageMigrateRole, ScanRole, TaskMigrateRole};
use crate::numa::vma_filter::VmaFilter;
use crate::sched::imbalance::Rule;
use numalab_base::words;
use numalab_base::words::{WordDecl, Words};
use numalab_nouns::kernel::{Implementation, Kernel, RoleInfo};

/// A role: one kind of decision the modelled kernel makes. The enum that decides it declares what can fill it.
#[derive(Clone, Copy, Debug)]
pub struct RoleDecl {
    /// Name in `[roles]`.
    pub name: &'static str,
    /// What the role decides, as written in the source.
    pub doc: &'static str,
    /// What can fill it.
    pub words: &'static [WordDecl],
}

const fn role<T: Words>(name: &'static str) -> RoleDecl {
    RoleDecl { name, doc: T::DOC, words: T::DECLS }
}

/// Every role, in the order of reports (kernel-numa-balancing.md sections 8, 16 and 17, kernel-scheduler.md section 5,
/// thp-and-allocation.md section 8, kernel-after-6.12.md section 3.4).
pub const ROLES: &[RoleDecl] = &[
    role::<ScanRole>("scan"),
    role::<VmaFilter>("vma_filter"),
    role::<PageFilterKind>("page_filter"),
    role::<FaultStatsRole>("fault_stats"),
    role::<PageMigrateRole>("page_migrate"),
    role::<TaskMigrateRole>("task_migrate"),
    role::<Rule>("imbalance"),
    role::<Locality>("thp_locality"),
    role::<Reclaim>("reclaim"),
    role::<Destinations>("damon_migrate"),
    role::<Goals>("damon_goals"),
];

words! {
    /// Whether an allocation reclaims its own node before using another.
    pub enum Reclaim {
        /// As system.zone_reclaim_mode says.
        ZoneReclaim = "zone_reclaim",
    }
}

impl RoleDecl {
    /// The role in the form the resolver checks names against.
    pub(super) fn info(&self) -> RoleInfo {
        let one = |w: &WordDecl| Implementation { name: w.word, releases: w.releases, doc: w.doc.trim() };
        RoleInfo { name: self.name, doc: self.doc.trim(), implementations: self.words.iter().map(one).collect() }
    }
}

/// What fills a role of a resolved kernel; `default` for a kernel without roles, as real ones are.
pub(super) fn filled<T: Words>(kernel: &Kernel, role: &str, default: T) -> T {
    kernel.implementation(role).and_then(T::parse).unwrap_or(default)
}

/// The roles of NUMA balancing of a resolved kernel.
pub fn numa_roles(kernel: &Kernel) -> NumaRoles {
    let default = NumaRoles::default();
    NumaRoles {
        scan: filled(kernel, "scan", default.scan),
        vma_filter: filled(kernel, "vma_filter", default.vma_filter),
        page_filter: filled(kernel, "page_filter", default.page_filter),
        fault_stats: filled(kernel, "fault_stats", default.fault_stats),
        page_migrate: filled(kernel, "page_migrate", default.page_migrate),
        task_migrate: filled(kernel, "task_migrate", default.task_migrate),
        imbalance: filled(kernel, "imbalance", default.imbalance),
    }
}
