//! Whether a kernel has the memory policies that a workload sets.

use crate::catalog::Catalog;
use crate::kernel::Kernel;
use crate::spec::{SpecError, Spot};
use crate::workload::{Op, Policy, PolicyMode, Workload};
use std::sync::Arc;

/// Modes that not every kernel has, with the tunable that says so.
const MODES: [(PolicyMode, &str); 2] = [
    (PolicyMode::PreferredMany, "mempolicy.preferred_many"),
    (PolicyMode::WeightedInterleave, "mempolicy.weighted_interleave"),
];
/// The same of modes with the flag `MPOL_F_NUMA_BALANCING`.
const BALANCED: [(PolicyMode, &str); 2] =
    [(PolicyMode::Bind, "mempolicy.balance_bind"), (PolicyMode::PreferredMany, "mempolicy.balance_preferred_many")];

/// Refuses a workload with a memory policy that the kernel would refuse (`set_mempolicy` returns EINVAL). Kernels
/// without the tunables, as real ones are, pass. `at` is where the workload is named.
///
/// # Errors
/// The first such policy, with the first release that has it.
pub(super) fn check(kernel: &Kernel, workload: &Workload, at: &Spot<String>) -> Result<(), SpecError> {
    let all = || MODES.iter().chain(&BALANCED);
    let lacks = |tunable: &str| kernel.tunable(tunable) == Some("false");
    if !all().any(|(_, tunable)| lacks(tunable)) {
        return Ok(());
    }
    let refuses = |p: &Policy| {
        let of = |list: &[(PolicyMode, &'static str)]| list.iter().find(|l| l.0 == p.mode).map(|l| l.1);
        let flag = p.numa_balancing.then(|| of(&BALANCED)).flatten();
        of(&MODES).into_iter().chain(flag).find(|tunable| lacks(tunable))
    };
    match policies(workload, &mut |p| refuses(p).map(|tunable| (p.mode, tunable))) {
        None => Ok(()),
        Some((mode, tunable)) => Err(refusal(kernel, (&workload.name, mode), tunable, at)),
    }
}

fn refusal(kernel: &Kernel, (workload, mode): (&str, PolicyMode), tunable: &str, at: &Spot<String>) -> SpecError {
    let word = PolicyMode::WORDS.iter().find(|w| w.1 == mode).map_or("", |w| w.0);
    let flag = if BALANCED.iter().any(|b| b.1 == tunable) { " with the NUMA-balancing flag" } else { "" };
    let what = format!("{workload} sets the memory policy {word}{flag}, which kernel {} does not have", kernel.name);
    let since = first_release(tunable).map_or_else(String::new, |release| format!("Linux {release} or later, or "));
    at.error(what, format!("{since}a kernel with `{tunable}`"))
}

/// The first release whose row turns a tunable on.
fn first_release(tunable: &str) -> Option<String> {
    let catalog = Catalog::embedded();
    let rows = catalog.releases().ok()?.rows();
    let on = |s: &crate::kernel::Setting| s.name.value == tunable && s.value == "true";
    let row = rows.iter().find(|r| r.changes.iter().flat_map(|c| &c.settings).any(on))?;
    Some(row.spec.name.value.clone())
}

/// The first answer of `ask` on the policies of a workload: those of mappings, then those that threads set.
fn policies<T>(workload: &Workload, ask: &mut impl FnMut(&Policy) -> Option<T>) -> Option<T> {
    let mut seen: Option<&Arc<[Op]>> = None;
    for process in &workload.processes {
        for region in &process.regions {
            if let Some(found) = region.policy.iter().chain(&region.huge_policy).find_map(&mut *ask) {
                return Some(found);
            }
        }
        for ops in std::iter::once(&process.prologue).chain(process.threads.iter().map(|t| &t.ops)) {
            // Threads of a group share their ops.
            if seen.is_some_and(|last| Arc::ptr_eq(last, ops)) {
                continue;
            }
            seen = Some(ops);
            let set = ops.iter().filter_map(|op| if let Op::SetPolicy(p) = op { Some(p) } else { None });
            if let Some(found) = set.into_iter().find_map(&mut *ask) {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{kernel, Memory};
    use super::super::Sources;
    use super::*;
    use crate::kernel::TunableChoice;
    use crate::workload::{HugeAdvice, Region, RegionKind};

    /// The kernel of a release, as far as policies go.
    fn with(name: &str, lacks: &[&str]) -> Kernel {
        let choice = |tunable: &str| TunableChoice {
            name: tunable.into(),
            value: (!lacks.contains(&tunable)).to_string(),
            unit: String::new(),
            kernel_name: "model".into(),
            origin: name.into(),
        };
        let mut k = kernel(name, &[]);
        k.tunables.extend(MODES.iter().chain(&BALANCED).map(|l| choice(l.1)));
        k
    }

    fn sets(mode: PolicyMode, numa_balancing: bool) -> Workload {
        let at = |value: &str| Spot { value: value.into(), file: "t".into(), line: 0, column: 0 };
        let machine = crate::machine::from_shorthand("2x1x2x1").unwrap();
        let mut w = Memory::default().workload(&at("sweep"), &machine, 1, &[]).unwrap();
        let policy = Policy { mode, nodes: vec![0, 1], weights: vec![], numa_balancing };
        w.processes[0].threads[0].ops = vec![Op::SetPolicy(policy)].into();
        w
    }

    fn refused(k: &Kernel, w: &Workload) -> Option<String> {
        let at = Spot { value: "db".to_string(), file: "e.toml".into(), line: 3, column: 1 };
        check(k, w, &at).err().map(|e| e.to_string())
    }

    #[test]
    fn what_a_release_does_not_have_is_refused_with_the_first_that_does() {
        let all: Vec<&str> = MODES.iter().chain(&BALANCED).map(|l| l.1).collect();
        let old = with("5.10", &all);
        let say = |mode, flag| refused(&old, &sets(mode, flag)).unwrap_or_default();
        for (mode, flag, word, release) in [
            (PolicyMode::PreferredMany, false, "preferred_many, which", "Linux 5.15 or later"),
            (PolicyMode::WeightedInterleave, false, "weighted_interleave, which", "Linux 6.9 or later"),
            (PolicyMode::Bind, true, "bind with the NUMA-balancing flag, which", "Linux 5.12 or later"),
        ] {
            let text = say(mode, flag);
            assert!(text.contains(word) && text.contains(release) && text.contains("kernel 5.10"), "{text}");
        }
        for mode in [PolicyMode::Bind, PolicyMode::Interleave, PolicyMode::Preferred, PolicyMode::Local] {
            assert_eq!(refused(&old, &sets(mode, false)), None, "{mode:?}");
        }
    }

    #[test]
    fn a_flag_is_asked_for_by_mode() {
        let k = with("6.1", &["mempolicy.weighted_interleave", "mempolicy.balance_preferred_many"]);
        assert_eq!(refused(&k, &sets(PolicyMode::Bind, true)), None);
        assert_eq!(refused(&k, &sets(PolicyMode::PreferredMany, false)), None);
        assert!(refused(&k, &sets(PolicyMode::PreferredMany, true)).unwrap().contains("Linux 6.10 or later"));
        assert_eq!(refused(&kernel("real", &[]), &sets(PolicyMode::WeightedInterleave, false)), None);
    }

    #[test]
    fn policies_of_mappings_count_too() {
        let mut w = sets(PolicyMode::Default, false);
        let policy = Policy {
            mode: PolicyMode::WeightedInterleave,
            nodes: vec![0, 1],
            weights: vec![1, 2],
            numa_balancing: false,
        };
        let k = with("6.8", &["mempolicy.weighted_interleave"]);
        assert_eq!(refused(&k, &w), None);
        w.processes[0].regions.push(Region {
            name: "r".into(),
            kind: RegionKind::PrivateAnon,
            size_bytes: 4096,
            misalign_bytes: 0,
            advice: HugeAdvice::Default,
            policy: Some(policy),
            huge_policy: None,
            write: true,
            second_level_fault_ns: 0,
            pinned: false,
            pool_bytes: 0,
        });
        assert!(refused(&k, &w).unwrap().contains("weighted_interleave"));
    }
}
