//! What each release can do with DAMON's migration, and that none does it by itself (kernel-after-6.12.md sections 1
//! and 3.4).
#![allow(clippy::unwrap_used)]

use numalab_kernel::damon::Schemes;
use numalab_kernel::registry::{damon_config, vocabulary};
use numalab_model::catalog::built_in_kernel;
use numalab_model::catalog::Catalog;
use numalab_model::kernel::{resolve, Kernel, Setting};
use numalab_model::spec::{SpecError, Spot};

fn with(release: &str, sets: &[(&str, &str)]) -> Result<Kernel, SpecError> {
    let spot = |value: &str| Spot { value: value.into(), file: "t".into(), line: 0, column: 0 };
    let sets: Vec<_> = sets.iter().map(|(k, v)| Setting { name: spot(k), value: (*v).into() }).collect();
    Ok(resolve(&[spot(release)], &Catalog::embedded(), &vocabulary(), &sets)?.remove(0))
}
/// Why a kernel with these settings is refused.
fn refused(release: &str, sets: &[(&str, &str)]) -> String {
    with(release, sets).unwrap_err().to_string()
}

const HOT: (&str, &str) = ("damon.schemes", "hot");
const GOAL: (&str, &str) = ("migrate_hot.goal", "node_mem_used_bp");
const DESTS: (&str, &str) = ("migrate_hot.dests", "0:3 1:1");

#[test]
fn no_release_migrates_by_itself() {
    for row in Catalog::embedded().releases().unwrap().rows() {
        let kernel = built_in_kernel(&row.spec.name.value, &vocabulary()).unwrap();
        assert_eq!(damon_config(&kernel).damon.schemes, Schemes::None, "{}", kernel.name);
        assert!(damon_config(&kernel).schemes().is_empty(), "{}", kernel.name);
    }
}

#[test]
fn releases_can_do_what_the_version_table_says() {
    let can = |release: &str| {
        let k = built_in_kernel(release, &vocabulary()).unwrap();
        let role = |r: &str| k.implementation(r).unwrap().to_string();
        (role("damon_migrate"), role("damon_goals"), damon_config(&k).damon.fallback)
    };
    let row = |migrate: &str, goals: &str, fallback| (migrate.to_string(), goals.to_string(), fallback);
    assert_eq!(can("6.10"), row("none", "none", true));
    assert_eq!(can("6.11"), row("one_node", "none", true));
    assert_eq!(can("6.15"), row("one_node", "none", true));
    assert_eq!(can("6.16"), row("one_node", "node", true));
    assert_eq!(can("6.17"), row("weighted", "node", true));
    assert_eq!(can("7.2"), row("weighted", "node", true));
    assert_eq!(can("7.3-rc"), row("weighted", "node", false));
}

#[test]
fn what_a_release_does_not_have_is_refused_with_the_release_that_has_it() {
    let old = refused("6.10", &[HOT]);
    assert!(old.contains("`damon.schemes` has no effect here") && old.contains("as Linux has it since 6.11"), "{old}");
    let goal = refused("6.15", &[HOT, GOAL]);
    assert!(goal.contains("`migrate_hot.goal`") && goal.contains("as Linux has it since 6.16"), "{goal}");
    let dests = refused("6.16", &[HOT, DESTS]);
    assert!(dests.contains("`migrate_hot.dests`") && dests.contains("as Linux has it since 6.17"), "{dests}");
    assert!(with("6.11", &[HOT]).is_ok() && with("6.16", &[HOT, GOAL]).is_ok() && with("6.17", &[HOT, DESTS]).is_ok());
    // What no scheme reads has no effect either, and a posted state can be composed.
    assert!(refused("7.2", &[("damon.sample_us", "1000")]).contains("`damon.schemes` to be other than none"));
    assert!(refused("7.2", &[HOT, ("migrate_cold.target_nid", "0")]).contains("cold or hot_and_cold"));
    assert!(refused("7.2", &[HOT, ("migrate_hot.goal_bp", "100")]).contains("`migrate_hot.goal` to be other than none"));
    assert!(with("6.12", &[HOT, DESTS, ("damon_migrate", "weighted"), ("damon.fallback", "false")]).is_ok());
    assert!(refused("7.2", &[HOT, ("migrate_hot.dests", "0=3")]).contains("nodes with weights like"));
}
