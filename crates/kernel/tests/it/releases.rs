//! The table of releases (`catalog/releases.toml`): every row resolves, says something new, and is what its release
//! was.
#![allow(clippy::unwrap_used)]

use numalab_kernel::registry::{numa_settings, sched_config, vocabulary};
use numalab_kernel::sched::SchedConfig;
use numalab_model::catalog::built_in_kernel;
use numalab_model::catalog::{Catalog, Kind};
use numalab_model::kernel::{Setting, Version};
use std::collections::BTreeMap;

/// Value of the tunable `group.key` in the kernel of that name.
fn tunable(name: &str, key: &str) -> String {
    built_in_kernel(name, &vocabulary()).unwrap().tunable(key).unwrap().to_string()
}

fn sched(name: &str) -> SchedConfig {
    sched_config(&built_in_kernel(name, &vocabulary()).unwrap())
}

#[test]
fn every_kernel_of_the_catalog_can_run() {
    for name in Catalog::embedded().names(Kind::Kernel) {
        let kernel = built_in_kernel(name, &vocabulary()).unwrap();
        numa_settings(&kernel).resolve(250).unwrap();
        let alias = usize::from(kernel.alias_of.is_some());
        assert_eq!(kernel.warnings.len(), alias, "{name}: {:?}", kernel.warnings);
    }
}

#[test]
fn a_row_says_only_what_is_new() {
    let catalog = Catalog::embedded();
    let vocabulary = vocabulary();
    let canonical = |s: &Setting| match s.name.value.contains('.') {
        true => (vocabulary.check)(&s.name.value, &s.value).unwrap(),
        false => s.value.clone(),
    };
    let mut now: BTreeMap<String, String> = BTreeMap::new();
    for row in catalog.releases().unwrap().rows() {
        let name = &row.spec.name.value;
        for s in row.changes.iter().flat_map(|c| &c.settings) {
            let before = now.insert(s.name.value.clone(), canonical(s));
            assert_ne!(before, Some(canonical(s)), "{name} repeats {}", s.name.value);
        }
        for s in row.only_here.iter().flat_map(|c| &c.settings) {
            assert_ne!(now.get(&s.name.value), Some(&canonical(s)), "{name} repeats {}", s.name.value);
        }
        assert!(row.changes.iter().chain(&row.only_here).all(|c| !c.doc.is_empty()), "{name}");
    }
}

#[test]
fn the_first_row_sets_every_role_and_every_switch_of_numa_balancing() {
    let catalog = Catalog::embedded();
    let first = &catalog.releases().unwrap().rows()[0];
    let set: Vec<&str> = first.changes.iter().flat_map(|c| &c.settings).map(|s| s.name.value.as_str()).collect();
    let vocabulary = vocabulary();
    let switches = vocabulary.tunables.iter().map(|t| t.name.as_str()).filter(|n| n.starts_with("numa."));
    for name in vocabulary.roles.iter().map(|r| r.name).chain(switches) {
        assert!(set.contains(&name), "{} does not say {name}", first.spec.name.value);
    }
}

#[test]
fn what_holds_for_a_release_alone_is_not_inherited() {
    let below_average = ["6.0", "6.1", "6.2", "6.3"].map(|name| sched(name).below_average);
    assert_eq!(below_average, [false, true, false, true], "the stable tree of 6.1 took it over");
    assert_eq!(["3.7", "3.7-vanilla", "3.8"].map(|name| tunable(name, "system.numa_balancing")), ["0", "0", "1"]);
    let blocks = ["4.0", "4.7", "4.12", "4.13"].map(|n| tunable(n, "numa.scan_lock_blocks"));
    assert_eq!(blocks, ["true", "true", "true", "false"]);
}

/// The scheduler of a variant is that of the release in its name, but for what its patch is about.
#[test]
fn variants_have_the_scheduler_of_their_release() {
    let mut seen = 0;
    for name in Catalog::embedded().names(Kind::Kernel) {
        let Some((_, variant)) = Version::of(name) else { continue };
        let (mut got, want) = (sched(name), sched(&name[..name.len() - variant.len()]));
        match name {
            "5.15.33" => got.imbalance = want.imbalance,
            // Versions of the imbalance alone.
            _ if name.contains("+imb-") => (got.imbalance, got.imb) = (want.imbalance, want.imb),
            "7.2-llc-off" | "7.2-llc-first" => got.llc_balancing = want.llc_balancing,
            // Stable trees took over parts of later schedulers.
            "6.12.0" | "6.12.117" | "6.18.5" | "6.1-ni-random" => continue,
            // What a preferred node means to the balancer is the subject of the designs of 2012.
            _ if name.starts_with("3.7-") => {
                (got.locality, got.locality_strict) = (want.locality, want.locality_strict);
            }
            _ => {}
        }
        assert_eq!(got, want, "{name}");
        seen += 1;
    }
    assert!(seen > 80);
}

#[test]
fn the_scheduler_through_history() {
    let scan = |name: &str| tunable(name, "sched.idle_scan");
    let got = ["3.8", "3.13", "4.7", "4.15", "5.5", "5.16", "5.18", "6.1", "oracle"].map(scan);
    let (groups, v413) = ("idle_groups", "sis_prop_v413");
    assert_eq!(got, ["idle_groups_v37", groups, groups, v413, v413, "sis_prop", "sis_prop", "sis_util", "sis_util"]);
    let older = |name: &str| {
        ["balancer", "domain_constants", "newidle", "recent_used_cpu", "wake_wide"]
            .map(|key| tunable(name, &format!("sched.{key}")))
            .join(" ")
    };
    let got = ["3.7-vanilla", "3.8", "3.13", "4.0", "4.15", "4.19", "5.5", "5.16", "6.12"].map(older);
    let v37 = "v37 v37 v37 off false";
    let rest = ["v311 v37 v313 off", "v318 v316 v317 off", "v413 v316 v317 off", "v417 v316 v317 waker"];
    let rest = rest.map(|r| format!("{r} true"));
    assert_eq!(got[..2], [v37, v37]);
    assert_eq!(got[2..6], rest);
    let new = "types v510 v516 previous true";
    assert_eq!(got[6..], ["v55 v316 v317 waker true", new, new]);
    let pairs = ["3.8", "3.13", "4.0", "4.7", "4.15", "4.15+cow-skip", "4.19", "4.20-rc1", "5.0", "5.4", "5.5", "6.1"];
    let got = pairs.map(|name| tunable(name, "sched.balancer") + " " + &tunable(name, "sched.wake_affine"));
    let want = ["v37 v311", "v311 v311", "v318 v318", "v41 v318", "v413 v414", "v413 v414"];
    assert_eq!(got[..6], want);
    assert_eq!(got[6..], ["v417 v417", "v420 v417", "v50 v417", "v50 v417", "v55 v417", "types v511"]);
}

#[test]
fn distribution_kernels_are_preemptible_from_5_12_on() {
    let got = ["3.7", "4.15", "5.5", "5.11", "5.12", "6.12"].map(|name| sched(name).preempt_full);
    assert_eq!(got, [false, false, false, false, true, true]);
}

#[test]
fn the_old_releases_are_themselves() {
    let numa = |name: &str| {
        let keys = ["scan_lock_blocks", "virtual_budget", "overhead_guard", "single_user_shortcut", "search"];
        keys.map(|key| tunable(name, &format!("numa.{key}"))).join(" ")
    };
    let got = ["3.13", "4.0", "4.4", "4.7", "4.15"].map(numa);
    let first = ["true false false false v313", "true false false false v40", "true true false false v42"];
    assert_eq!(got[..3], first);
    assert_eq!(got[3..], ["true true true false v42", "false true true true v42"]);
    let role =
        |name: &str, role| built_in_kernel(name, &vocabulary()).unwrap().implementation(role).unwrap().to_string();
    assert_eq!(["3.17", "4.0", "4.7", "4.14"].map(|n| role(n, "scan")), ["v317", "v40", "v40", "v414"]);
    assert_eq!(["3.15", "4.5", "4.6", "4.18"].map(|n| role(n, "page_migrate")), ["v315", "v315", "v46", "v46"]);
    let lock = ["3.8", "3.13", "6.3", "6.4-rc2"].map(|n| tunable(n, "vm.fault_holds_mmap_lock"));
    assert_eq!(lock, ["true", "true", "true", "false"]);
    assert_eq!(["4.12", "4.13"].map(|n| tunable(n, "swap.whole_huge_pages")), ["false", "true"]);
    assert_eq!(
        ["3.13", "4.0", "4.1", "6.1"].map(|n| tunable(n, "khugepaged.this_node")),
        ["false", "false", "true", "false"]
    );
}

#[test]
fn pairs_are_left_alone_from_5_6_on() {
    assert_eq!(["5.5", "5.6", "5.7"].map(|name| sched(name).imbalance.word()), ["none", "pair_5_6", "fixed_2"]);
}
