//! What a kernel can be composed of: the visible list of roles, implementations and tunable groups.
//!
//! Problem: catalog files, `--set` and reports name behaviour by words; a word nobody implements must
//! be refused before anything runs, with the nearest one that exists.
//! Approach: [`ROLES`] lists every role with its implementations, [`GROUPS`] every group of tunables
//! (declared by the policy that reads them), [`CONDITIONS`] says under which implementation or setting
//! a tunable is read at all. [`vocabulary`] hands the three to the resolver of `numalab_model::kernel`,
//! and [`group`] turns a resolved kernel back into the typed struct of a group.
//! Adding a variant: its file, and its line in [`ROLES`]. Adding a group: its line in [`GROUPS`].

mod bound;
mod roles;
mod system;

pub use bound::{Bound, BOUND};
pub use roles::{ImplDecl, RoleDecl, ROLES};
pub use system::System;

use crate::hw::cost::FlushRules;
use crate::mm::compact::CompactTunables;
use crate::mm::config::{MmConfig, VmTunables};
use crate::mm::khugepaged::KhugepagedTunables;
use crate::mm::reclaim::SwapTunables;
use crate::mm::thp::ThpTunables;
use crate::numa::autonuma::AutoNumaTunables;
use crate::numa::config::{Behaviour, Scan};
use crate::numa::design::DesignWords;
use crate::numa::page_filter::PageFilterTunables;
use crate::numa::period::V38Tunables;
use crate::numa::schednuma::SchedNumaTunables;
use crate::numa::NumaSettings;
use crate::sched::config::SchedConfig;
use numalab_base::tunable::{Decl, Group, SetError, Value};
use numalab_model::catalog::Catalog;
use numalab_model::kernel::{self, Condition, Kernel, Needs, RoleInfo, TunableInfo, Vocabulary};
use numalab_model::record::EffectiveTunable;
use numalab_model::spec::{SpecError, Spot};

/// A group of tunables: its name and declarations.
#[derive(Clone, Copy, Debug)]
pub struct GroupDecl {
    /// Part before the dot.
    pub name: &'static str,
    /// Tunables in order.
    pub decls: &'static [Decl],
}

const fn of<G: Group>() -> GroupDecl {
    GroupDecl { name: G::NAME, decls: G::DECLS }
}

/// Every group, in the order manifests list them.
pub const GROUPS: &[GroupDecl] = &[
    of::<System>(),
    of::<Scan>(),
    of::<V38Tunables>(),
    of::<PageFilterTunables>(),
    of::<Behaviour>(),
    of::<DesignWords>(),
    of::<AutoNumaTunables>(),
    of::<SchedNumaTunables>(),
    of::<FlushRules>(),
    of::<SchedConfig>(),
    of::<VmTunables>(),
    of::<CompactTunables>(),
    of::<SwapTunables>(),
    of::<ThpTunables>(),
    of::<KhugepagedTunables>(),
];

/// Values of `system.thp` under which there are huge pages.
const HUGE: &[&str] = &["always", "madvise"];
/// Values of `system.numa_balancing` under which hint faults and scans happen.
const ON: &[&str] = &["1", "2", "3", "4"];
/// Values with the memory-tiering bit.
const TIERING: &[&str] = &["2", "3"];

/// Scanners that work in the threads, at the tick, as the kernel has had them from 3.8 on.
const TASK_WORK: &[&str] = &["v38", "v313", "v317", "v40", "v414"];

/// Migration rules of hint faults as the kernel has had them from 3.8 on.
const HINT_RULES: &[&str] = &["moron", "v38", "v313", "v315", "v420"];

/// When a tunable is read at all; one that is not listed always is.
pub const CONDITIONS: &[Condition] = &[
    when("scan.*", "system.numa_balancing", ON),
    when("scan.*", "scan", TASK_WORK),
    when("numa.*", "system.numa_balancing", ON),
    when("page_filter.*", "system.numa_balancing", ON),
    when("scan_v38.*", "system.numa_balancing", ON),
    when("page_filter.*", "page_filter", &["mapcount_threshold"]),
    when("scan_v38.*", "scan", &["v38"]),
    when("scan.hot_threshold_ms", "system.numa_balancing", TIERING),
    when("scan.promote_rate_limit_mbps", "system.numa_balancing", TIERING),
    when("numa.tiering_model", "system.numa_balancing", TIERING),
    when("flush.migrate_flush_inaccessible", "system.numa_balancing", ON),
    when("numa.locality_reset_on_backoff", "scan", &["v313", "v317", "v414"]),
    when("numa.search", "task_migrate", &["preferred"]),
    when("numa.small_imp", "task_migrate", &["preferred"]),
    when("numa.small_imp", "numa.search", &["v419"]),
    when("numa.no_swap_with_spare", "task_migrate", &["preferred"]),
    when("numa.table_marks", "scan", TASK_WORK),
    when("numa.table_marks", "page_migrate", HINT_RULES),
    when("numa.table_faults_migrate", "numa.table_marks", &["true"]),
    when("numa.migrate_deferred", "page_migrate", HINT_RULES),
    when("numa.group_prefers_both", "fault_stats", &["v313", "v315"]),
    when("autonuma.scan_sleep_pass_millisecs", "scan", &["autonuma"]),
    when("autonuma.scan_sleep_millisecs", "scan", &["autonuma"]),
    when("autonuma.pages_to_scan", "scan", &["autonuma"]),
    when("autonuma.mm_working_set", "fault_stats", &["autonuma"]),
    when("autonuma.child_inheritance", "fault_stats", &["autonuma"]),
    when("autonuma.scan_pmd", "page_migrate", &["autonuma"]),
    when("autonuma.migrate_sleep_millisecs", "page_migrate", &["autonuma"]),
    when("autonuma.pages_to_migrate", "page_migrate", &["autonuma"]),
    when("autonuma.migrate_allow_first_fault", "page_migrate", &["autonuma"]),
    when("autonuma.native_huge", "page_migrate", &["autonuma"]),
    when("autonuma.anon_vma_mutex", "page_migrate", &["autonuma"]),
    when("autonuma.khugepaged_scan_sleep_millisecs", "page_migrate", &["autonuma"]),
    when("autonuma.khugepaged_alloc_sleep_millisecs", "page_migrate", &["autonuma"]),
    when("autonuma.process_weights", "task_migrate", &["exchange"]),
    when("autonuma.sched_load_balance_strict", "task_migrate", &["exchange"]),
    when("schednuma.scan_delay_ms", "scan", &["schednuma"]),
    when("schednuma.scan_period_min_ms", "scan", &["schednuma"]),
    when("schednuma.scan_period_max_ms", "scan", &["schednuma"]),
    when("schednuma.scan_size_mb", "scan", &["schednuma"]),
    when("schednuma.own_period_gate", "scan", &["schednuma"]),
    when("schednuma.huge_residue_us", "scan", &["schednuma"]),
    when("schednuma.settle_count", "fault_stats", &["schednuma"]),
    when("schednuma.numa_settle", "fault_stats", &["schednuma"]),
    when("schednuma.two_in_a_row", "page_migrate", &["schednuma"]),
    when("schednuma.copies_lost", "page_migrate", &["schednuma"]),
    when("schednuma.huge_loses_write", "page_migrate", &["schednuma"]),
    when("schednuma.freeze", "page_migrate", &["schednuma"]),
    when("schednuma.migrate_limit_pages", "page_migrate", &["schednuma"]),
    when("sched.base_slice_ns", "sched.form", &["v612"]),
    when("sched.complete_eevdf", "sched.form", &["v612"]),
    when("sched.latency_ns", "sched.form", &["v61"]),
    when("sched.min_granularity_ns", "sched.form", &["v61"]),
    when("sched.wakeup_granularity_ns", "sched.form", &["v61"]),
    when("thp.*", "system.thp", HUGE),
    when("khugepaged.*", "system.thp", HUGE),
    when("system.thp_defrag", "system.thp", HUGE),
    when("thp.span", "thp_locality", &["prctl_span"]),
    when("thp.span_max_class", "thp_locality", &["prctl_span"]),
    when("thp.ladder", "thp_locality", &["ladder_custom"]),
    when("thp.huge_strict", "thp_locality", &["mpol_huge"]),
    when("thp.huge_noretry", "thp_locality", &["mpol_huge"]),
    when("vm.watermark_boost_factor", "vm.boost", &["true"]),
    unless("swap.write_page_ns", "swap.size_mb", "0"),
    unless("swap.read_page_ns", "swap.size_mb", "0"),
    unless("swap.whole_huge_pages", "swap.size_mb", "0"),
];

/// Declared, and without effect on any backend yet. Flushes of migrated pages are counted one page at a time, where
/// batching changes nothing; those of compaction and demotion are not charged.
pub const UNREAD: &[&str] = &["thp.span_over_exec", "flush.migrate_batch_flush"];

const fn when(tunable: &'static str, subject: &'static str, values: &'static [&'static str]) -> Condition {
    Condition { tunable, subject, needs: Needs::OneOf(values) }
}

const fn unless(tunable: &'static str, subject: &'static str, value: &'static str) -> Condition {
    Condition { tunable, subject, needs: Needs::Not(value) }
}

/// The declarations in the form the resolver checks names against.
pub fn vocabulary() -> Vocabulary {
    let role = |r: &RoleDecl| RoleInfo {
        name: r.name,
        doc: r.doc,
        implementations: r.impls.iter().map(|i| (i.name, i.doc)).collect(),
    };
    Vocabulary {
        roles: ROLES.iter().map(role).collect(),
        tunables: GROUPS.iter().flat_map(|g| g.decls.iter().filter_map(|d| info(g.name, d))).collect(),
        conditions: CONDITIONS.to_vec(),
        unread: UNREAD.to_vec(),
        check,
    }
}

/// A declaration as the resolver sees it; `None` for a field that something else decides.
fn info(group: &str, d: &Decl) -> Option<TunableInfo> {
    let name = format!("{group}.{}", d.key);
    if bound::find(&name).is_some() {
        return None;
    }
    let legal = match d.default {
        Value::Int(_) => format!("{} to {}", d.range.0, d.range.1),
        Value::Bool(_) => "true or false".to_string(),
        Value::Choice(_) => d.choices.join(", "),
        Value::Rungs(_) => "a list like `D0 THP | D0 4k | D1 THP`".to_string(),
    };
    Some(TunableInfo {
        name,
        kernel_name: d.kernel_name,
        unit: d.unit,
        default: d.default.to_string(),
        legal,
        doc: d.doc.trim(),
    })
}

fn decl(name: &str) -> Option<&'static Decl> {
    let (group, key) = name.split_once('.')?;
    GROUPS.iter().filter(|g| g.name == group).flat_map(|g| g.decls).find(|d| d.key == key)
}

fn check(name: &str, text: &str) -> Result<String, String> {
    let decl = decl(name).ok_or_else(|| "a declared tunable".to_string())?;
    match decl.parse(text) {
        Ok(value) => Ok(value.to_string()),
        Err(SetError::Expected(expected)) => Err(expected),
        Err(SetError::Unknown) => Err("a declared tunable".to_string()),
    }
}

/// The typed struct of group `G` with the values of a resolved kernel, bound fields included.
pub fn group<G: Group>(kernel: &Kernel) -> G {
    let mut out = G::default();
    for d in G::DECLS {
        let name = format!("{}.{}", G::NAME, d.key);
        let value = match bound::find(&name) {
            Some(bound) => bound.value(kernel),
            None => kernel.tunable(&name),
        };
        if let Some(value) = value {
            // A resolved kernel's values have passed this very check; the tests go through every bound word.
            let _ = out.set(d.key, value);
        }
    }
    out
}

/// A kernel of the program's own catalog, with nothing overridden.
///
/// # Errors
/// See [`numalab_model::kernel::resolve`].
pub fn catalog_kernel(name: &str) -> Result<Kernel, SpecError> {
    let spot = Spot { value: name.to_string(), file: "catalog kernel".into(), line: 0, column: 0 };
    let found = kernel::resolve(std::slice::from_ref(&spot), &Catalog::embedded(), &vocabulary(), &[])?;
    found.into_iter().next().ok_or_else(|| spot.error("no kernel", "one"))
}

/// All settings of NUMA balancing of a resolved kernel.
pub fn numa_settings(kernel: &Kernel) -> NumaSettings {
    NumaSettings { scan: group(kernel), numa: group(kernel), page_filter: group(kernel), scan_v38: group(kernel) }
}

/// All settings of the memory side of a resolved kernel.
pub fn mm_config(kernel: &Kernel) -> MmConfig {
    MmConfig {
        vm: group(kernel),
        compact: group(kernel),
        swap: group(kernel),
        thp: group(kernel),
        khugepaged: group(kernel),
    }
}

/// The tunables of a resolved kernel in the form a record keeps.
pub fn effective(kernel: &Kernel) -> Vec<EffectiveTunable> {
    let one = |t: &numalab_model::kernel::TunableChoice| EffectiveTunable {
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

    #[test]
    fn lots_at_newly_idle_are_drawn_under_either_form() {
        // Stable 6.1.192 has the feature as 6.12.117 does.
        assert!(CONDITIONS.iter().all(|c| c.tunable != "sched.ni_random"));
    }

    #[test]
    fn names_are_unique_and_conditions_name_what_exists() {
        let v = vocabulary();
        for (i, r) in v.roles.iter().enumerate() {
            assert!(v.roles[..i].iter().all(|o| o.name != r.name), "{}", r.name);
            for (j, w) in r.implementations.iter().enumerate() {
                assert!(r.implementations[..j].iter().all(|o| o.0 != w.0), "{} {}", r.name, w.0);
                assert!(!w.1.is_empty());
            }
        }
        for (i, t) in v.tunables.iter().enumerate() {
            assert!(v.tunables[..i].iter().all(|o| o.name != t.name), "{}", t.name);
            assert_eq!(check(&t.name, &t.default), Ok(t.default.clone()), "default of {} is legal", t.name);
        }
        for name in &v.unread {
            assert!(v.roles.iter().any(|r| r.name == *name) || v.tunables.iter().any(|t| t.name == *name), "{name}");
        }
        for c in &v.conditions {
            assert!(v.tunables.iter().any(|t| c.covers(&t.name)), "{c:?} covers something");
            let values = match &c.needs {
                Needs::OneOf(values) => *values,
                Needs::Not(value) => std::slice::from_ref(value),
            };
            for value in values {
                if c.subject.contains('.') {
                    assert_eq!(check(c.subject, value).as_deref(), Ok(*value));
                } else {
                    let role = v.roles.iter().find(|r| r.name == c.subject).unwrap();
                    assert!(role.implementations.iter().any(|i| i.0 == *value), "{c:?}");
                }
            }
        }
    }

    #[test]
    fn every_word_of_an_owner_is_legal_where_it_is_bound() {
        for b in BOUND {
            let decl = decl(b.tunable).unwrap_or_else(|| panic!("{} is declared", b.tunable));
            let words: Vec<String> = match ROLES.iter().find(|r| r.name == b.owner) {
                Some(role) => role.impls.iter().map(|i| i.name.to_string()).collect(),
                None => {
                    let owner = super::decl(b.owner).unwrap();
                    match owner.default {
                        Value::Choice(_) => owner.choices.iter().map(|c| (*c).to_string()).collect(),
                        _ if owner.range.1 <= 10 => (owner.range.0..=owner.range.1).map(|v| v.to_string()).collect(),
                        _ => vec![owner.default.to_string()],
                    }
                }
            };
            for word in &words {
                let here = b.here(word);
                assert!(decl.parse(here).is_ok(), "{} cannot be {here}", b.tunable);
            }
            assert!(b.words.iter().all(|w| words.iter().any(|o| o == w.0)), "{} maps words that exist", b.tunable);
            // Every implementation that exists has a name in the role.
            for choice in decl.choices {
                assert!(words.iter().any(|w| b.here(w) == *choice), "{} has no role word for {choice}", b.tunable);
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
        assert!(catalog_kernel("6.3").unwrap().warnings.is_empty());
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
        assert_eq!(["6.1", "6.3", "6.4-rc2", "6.7"].map(flush), ["false", "true", "true", "false"]);
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
        let tunable = |name: &str, value: &str| numalab_model::kernel::TunableChoice {
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
        assert_eq!((s.hz, s.thp, s.numa_balancing), (1000, "never", 1));
        assert_eq!(group::<SchedConfig>(&kernel).hz, 1000, "a bound field follows its owner");
        assert_eq!(effective(&kernel).len(), 3);
    }
}
