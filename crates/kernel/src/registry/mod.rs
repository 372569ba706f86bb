//! What a kernel can be composed of, and its way back into typed settings.
//!
//! Problem: catalog files, `--set` and reports name behaviour by words. A word that nothing implements must be refused
//! before anything runs, with the nearest one that exists; so must an option that the kernel never reads.
//! Approach: [`ROLES`] lists every role with the enum that declares what can fill it, [`GROUPS`] every group of
//! tunables. Both declarations stand in the file of the policy that reads them, conditions included. [`vocabulary`]
//! hands them to the resolver of `numalab_model::kernel`, and the functions below turn a resolved kernel into typed
//! settings. A new variant is its file and its line in the list of its folder. A new group is its line in [`GROUPS`].

mod roles;
mod system;

pub use roles::{numa_roles, Reclaim, RoleDecl, ROLES};
pub use system::System;

use crate::damon::{DamonConfig, DamonTunables, MigrateColdTunables, MigrateHotTunables};
use crate::hw::cost::FlushRules;
use crate::mm::compact::CompactTunables;
use crate::mm::config::{MmConfig, VmTunables};
use crate::mm::khugepaged::KhugepagedTunables;
use crate::mm::policy::MempolicyTunables;
use crate::mm::reclaim::SwapTunables;
use crate::mm::thp::ThpTunables;
use crate::numa::autonuma::AutoNumaTunables;
use crate::numa::config::{Behaviour, Scan};
use crate::numa::page_filter::PageFilterTunables;
use crate::numa::period::V38Tunables;
use crate::numa::rules::TaskMigrateRole;
use crate::numa::schednuma::SchedNumaTunables;
use crate::numa::vma_filter::VmaFilterTunables;
use crate::numa::{Design, NumaSettings};
use crate::sched::cache_aware::CacheAwareTunables;
use crate::sched::config::SchedConfig;
use crate::sched::imbalance::ImbTunables;
use crate::sched::rules::Locality;
use crate::userspace_balance::UserspaceTunables;
use numalab_base::tunable::{Decl, Group, ReadWhen, SetError, Value};
use numalab_nouns::kernel::{Kernel, TunableChoice, TunableInfo, Vocabulary};
use numalab_nouns::record::EffectiveTunable;

/// A group of tunables.
#[derive(Clone, Copy, Debug)]
pub struct GroupDecl {
    /// Part before the dot.
    pub name: &'static str,
    /// Conditions under which any of them is read.
    pub read_when: &'static [ReadWhen],
    /// Tunables in order.
    pub decls: &'static [Decl],
}

const fn of<G: Group>() -> GroupDecl {
    GroupDecl { name: G::NAME, read_when: G::READ_WHEN, decls: G::DECLS }
}

/// Every group, in the order manifests list them.
pub const GROUPS: &[GroupDecl] = &[
    of::<System>(),
    of::<Scan>(),
    of::<V38Tunables>(),
    of::<PageFilterTunables>(),
    of::<VmaFilterTunables>(),
    of::<Behaviour>(),
    of::<AutoNumaTunables>(),
    of::<SchedNumaTunables>(),
    of::<FlushRules>(),
    of::<SchedConfig>(),
    of::<ImbTunables>(),
    of::<CacheAwareTunables>(),
    of::<VmTunables>(),
    of::<MempolicyTunables>(),
    of::<CompactTunables>(),
    of::<SwapTunables>(),
    of::<ThpTunables>(),
    of::<KhugepagedTunables>(),
    of::<DamonTunables>(),
    of::<MigrateHotTunables>(),
    of::<MigrateColdTunables>(),
    of::<UserspaceTunables>(),
];

/// The declarations in the form the resolver checks names against.
pub fn vocabulary() -> Vocabulary {
    Vocabulary {
        roles: ROLES.iter().map(RoleDecl::info).collect(),
        tunables: GROUPS.iter().flat_map(|g| g.decls.iter().map(|d| info(g, d))).collect(),
        check,
    }
}

/// A declaration as the resolver sees it.
fn info(group: &GroupDecl, d: &Decl) -> TunableInfo {
    let default = (d.default)();
    let legal = match default {
        Value::Int(_) => format!("{} to {}", d.range.0, d.range.1),
        Value::Bool(_) => "true or false".to_string(),
        Value::Choice(_) => d.choices.join(", "),
        Value::Weights(_) => "nodes with weights like `0:3 1:1`, or none".to_string(),
        Value::Rungs(_) => "a list like `D0 THP | D0 4k | D1 THP`".to_string(),
    };
    TunableInfo {
        name: format!("{}.{}", group.name, d.key),
        kernel_name: d.kernel_name,
        unit: d.unit,
        default: default.to_string(),
        legal,
        read_when: group.read_when.iter().chain(d.read_when).copied().collect(),
        unread: d.unread,
        doc: d.doc.trim(),
    }
}

/// The canonical text of a value, or what was expected.
fn check(name: &str, text: &str) -> Result<String, String> {
    let decl = name.split_once('.').and_then(|(group, key)| {
        GROUPS.iter().filter(|g| g.name == group).flat_map(|g| g.decls).find(|d| d.key == key)
    });
    match decl.map(|d| d.parse(text)) {
        Some(Ok(value)) => Ok(value.to_string()),
        Some(Err(SetError::Expected(expected))) => Err(expected),
        Some(Err(SetError::Unknown)) | None => Err("a declared tunable".to_string()),
    }
}

/// The typed struct of group `G` with the values of a resolved kernel; `given` fields are left at their defaults.
fn group<G: Group>(kernel: &Kernel) -> G {
    let mut out = G::default();
    for d in G::DECLS {
        if let Some(value) = kernel.tunable(&format!("{}.{}", G::NAME, d.key)) {
            // A resolved kernel's values have passed this very check.
            let _ = out.set(d.key, value);
        }
    }
    out
}

/// The daemon that balances from user space beside a resolved kernel.
pub fn userspace_balance(kernel: &Kernel) -> UserspaceTunables {
    group(kernel)
}

/// DAMON as it is set up on a resolved kernel.
pub fn damon_config(kernel: &Kernel) -> DamonConfig {
    DamonConfig { damon: group(kernel), hot: group(kernel), cold: group(kernel) }
}

/// All settings of NUMA balancing of a resolved kernel.
pub fn numa_settings(kernel: &Kernel) -> NumaSettings {
    let system: System = group(kernel);
    NumaSettings {
        roles: numa_roles(kernel),
        scan: Scan {
            numa_balancing: system.numa_balancing as u8,
            base_page: system.base_page_kb,
            huge_page_bytes: system.huge_page_bytes(),
            ..group(kernel)
        },
        numa: group(kernel),
        page_filter: group(kernel),
        scan_v38: group(kernel),
        vma: group(kernel),
        imb: group(kernel),
    }
}

/// All settings of the scheduler of a resolved kernel.
pub fn sched_config(kernel: &Kernel) -> SchedConfig {
    let system: System = group(kernel);
    let autonuma: AutoNumaTunables = group(kernel);
    let roles = numa_roles(kernel);
    SchedConfig {
        hz: system.hz,
        imbalance: roles.imbalance,
        imb: group(kernel),
        llc_balancing: group(kernel),
        locality: match roles.task_migrate {
            TaskMigrateRole::Exchange => Locality::Selected,
            TaskMigrateRole::HomeNode => Locality::Home,
            TaskMigrateRole::None | TaskMigrateRole::Preferred => Locality::Preferred,
        },
        locality_strict: autonuma.sched_load_balance_strict,
        ..group(kernel)
    }
}

/// All settings of the memory side of a resolved kernel.
pub fn mm_config(kernel: &Kernel) -> MmConfig {
    let system: System = group(kernel);
    let thp: ThpTunables = group(kernel);
    MmConfig {
        vm: VmTunables {
            zone_reclaim_mode: system.zone_reclaim_mode as u8,
            tiering: system.numa_balancing & 2 != 0,
            base_page: system.base_page_kb,
            ..group(kernel)
        },
        compact: group(kernel),
        swap: group(kernel),
        thp: ThpTunables {
            enabled: system.thp,
            defrag: system.thp_defrag,
            sizes: system.folio_sizes(),
            locality: roles::filled(kernel, "thp_locality", thp.locality),
            ..thp
        },
        khugepaged: group(kernel),
    }
}

/// Which operations of a resolved kernel need a TLB flush.
pub fn flush_rules(kernel: &Kernel) -> FlushRules {
    group(kernel)
}

/// The designs of 2012 in a resolved kernel.
///
/// # Errors
/// See [`Design::new`].
pub fn design(kernel: &Kernel) -> Result<Design, String> {
    Design::new(&numa_roles(kernel), group(kernel), group(kernel))
}

/// The tunables of a resolved kernel in the form a record keeps.
pub fn effective(kernel: &Kernel) -> Vec<EffectiveTunable> {
    let one = |t: &TunableChoice| EffectiveTunable {
        name: t.name.clone(),
        value: t.value.clone(),
        unit: t.unit.clone(),
        kernel_name: t.kernel_name.clone(),
    };
    kernel.tunables.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::thp::ThpEnabled;
    use numalab_base::tunable::Needs;
    use numalab_model::catalog::{built_in_kernel, Catalog};

    #[test]
    fn lots_at_newly_idle_are_drawn_under_either_form() {
        // Stable 6.1.192 has the feature as 6.12.117 does.
        assert_eq!(vocabulary().tunable("sched.ni_random").map(|t| t.read_when.len()), Some(0));
    }

    #[test]
    fn names_are_unique_and_conditions_name_what_exists() {
        let v = vocabulary();
        for (i, r) in v.roles.iter().enumerate() {
            assert!(v.roles[..i].iter().all(|o| o.name != r.name), "{}", r.name);
            for (j, w) in r.implementations.iter().enumerate() {
                assert!(r.implementations[..j].iter().all(|o| o.name != w.name), "{} {}", r.name, w.name);
                assert!(!w.doc.is_empty());
            }
        }
        for (i, t) in v.tunables.iter().enumerate() {
            assert!(v.tunables[..i].iter().all(|o| o.name != t.name), "{}", t.name);
            assert_eq!(check(&t.name, &t.default), Ok(t.default.clone()), "default of {} is legal", t.name);
        }
        for (t, c) in v.tunables.iter().flat_map(|t| t.read_when.iter().map(move |c| (t, c))) {
            let values = match &c.needs {
                Needs::OneOf(values) => *values,
                Needs::Not(value) => std::slice::from_ref(value),
            };
            assert!(!values.is_empty(), "{}", t.name);
            for value in values {
                if c.subject.contains('.') {
                    assert_eq!(check(c.subject, value).as_deref(), Ok(*value), "{}", t.name);
                } else {
                    let role = v.roles.iter().find(|r| r.name == c.subject).unwrap();
                    assert!(role.implementations.iter().any(|i| i.name == *value), "{}: {c:?}", t.name);
                }
            }
        }
    }

    fn resolved_with(name: &str, sets: &[(&str, &str)]) -> Kernel {
        use numalab_model::kernel::{resolve, Setting};
        let spot =
            |value: &str| numalab_model::spec::Spot { value: value.into(), file: "t".into(), line: 0, column: 0 };
        let sets: Vec<_> = sets.iter().map(|(k, v)| Setting { name: spot(k), value: (*v).into() }).collect();
        resolve(&[spot(name)], &Catalog::embedded(), &vocabulary(), &sets).unwrap().remove(0)
    }

    #[test]
    fn what_has_no_effect_yet_says_so() {
        let flush = resolved_with("6.3", &[("flush.migrate_batch_flush", "false")]);
        assert!(flush.warnings.iter().any(|w| w.contains("no backend models it yet")), "{:?}", flush.warnings);
        assert!(built_in_kernel("6.3", &vocabulary()).unwrap().warnings.is_empty());
    }

    #[test]
    fn every_catalog_kernel_resolves() {
        use numalab_model::catalog::Kind;
        let (catalog, v) = (Catalog::embedded(), vocabulary());
        let spot = |n: &str| numalab_model::spec::Spot { value: n.into(), file: "t".into(), line: 0, column: 0 };
        let names: Vec<_> = catalog.names(Kind::Kernel).map(spot).collect();
        let kernels = numalab_model::kernel::resolve(&names, &catalog, &v, &[]).unwrap();
        let of = |n: &str| kernels.iter().find(|k| k.name == n).unwrap();
        let filter = |n: &str| of(n).implementation("vma_filter").unwrap().to_string();
        let got = ["6.3", "6.4-rc2", "6.4-rc2-numascan", "6.4-rc2+rfc-v3", "6.7"].map(filter);
        assert_eq!(got, ["off", "v64", "off", "rfc_v3", "v67"]);
        let flush = |n: &str| of(n).tunable("flush.migrate_flush_inaccessible").unwrap().to_string();
        assert_eq!(
            ["6.1", "6.3", "6.4-rc1", "6.4-rc2", "6.7"].map(flush),
            ["false", "true", "false", "false", "false"]
        );
        // Between the columns of disjoint-vma-2023 nothing may differ but the filter.
        for name in ["6.4-rc2-numascan", "6.4-rc2+rfc-v3"] {
            let (a, b) = (of("6.4-rc2"), of(name));
            let differ = a.roles.iter().zip(&b.roles).filter(|(x, y)| x.implementation != y.implementation);
            assert_eq!(differ.map(|(x, _)| x.role.as_str()).collect::<Vec<_>>(), ["vma_filter"]);
            assert!(a.tunables.iter().zip(&b.tunables).all(|(x, y)| x.value == y.value));
        }
        assert_eq!(of("off").tunable("system.numa_balancing"), Some("0"));
    }

    #[test]
    fn values_are_checked_and_made_canonical() {
        assert_eq!(check("system.hz", " 1000 ").as_deref(), Ok("1000"));
        assert_eq!(check("system.thp", "sometimes").unwrap_err(), "one of always, madvise, never");
        assert_eq!(check("system.zone_reclaim_mode", "8").unwrap_err(), "a whole number from 0 to 7");
        assert_eq!(check("flush.migrate_flush_inaccessible", "1").as_deref(), Ok("true"));
        assert!(check("system.nothing", "1").is_err());
    }

    #[test]
    fn a_resolved_kernel_gives_back_the_typed_group() {
        let tunable = |name: &str, value: &str| TunableChoice {
            name: name.into(),
            value: value.into(),
            unit: String::new(),
            kernel_name: "model".into(),
            origin: "default".into(),
        };
        let kernel = Kernel {
            name: "k".into(),
            title: String::new(),
            about: String::new(),
            since: String::new(),
            image: None,
            alias_of: None,
            chain: vec![],
            roles: vec![],
            tunables: vec![tunable("system.hz", "1000"), tunable("numa.hz", "1"), tunable("system.thp", "never")],
            warnings: vec![],
        };
        let s: System = group(&kernel);
        assert_eq!((s.hz, s.thp, s.numa_balancing), (1000, ThpEnabled::Never, 1));
        assert_eq!(sched_config(&kernel).hz, 1000, "a given field follows its owner");
        assert_eq!(mm_config(&kernel).thp.enabled, ThpEnabled::Never);
        assert_eq!(effective(&kernel).len(), 3);
    }
}
