//! Kernels of a comparison whose runs are not comparable, because they did other work or ran on another machine.
//!
//! The runs of every kernel are compared with those of the first kernel of their workload. Runs of the same seed must
//! agree in everything but the kernel. Without a common seed, only that is compared which a seed does not decide: the
//! machine, and those parameters and workloads that are the same in every run of a kernel.

use crate::records::run::Run;
use numalab_model::plan::Plan;
use numalab_report::order::unique;
use std::collections::HashMap;

/// A kernel whose runs are not comparable with those of the first kernel of the same workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomparable {
    /// Index of the workload.
    pub workload: usize,
    /// Index of the kernel.
    pub kernel: usize,
    /// What differs, such as `loops is 9, not 3`.
    pub difference: String,
    /// The difference as a sentence that names both kernels and the remedy.
    pub sentence: String,
}

/// All kernels that are not comparable, by workload, then kernel. `workloads` is the number of workloads.
pub fn incomparable(workloads: usize, kernels: &[&str], runs: &[Run]) -> Vec<Incomparable> {
    let mut out = Vec::new();
    for workload in 0..workloads {
        let of = |kernel: usize| -> Vec<&Run> {
            runs.iter().filter(|r| (r.workload, r.kernel) == (workload, kernel)).collect()
        };
        let Some(first) = (0..kernels.len()).find(|k| !of(*k).is_empty()) else { continue };
        for kernel in first + 1..kernels.len() {
            out.extend(difference(&of(first), &of(kernel)).map(|difference| {
                let (name, first) = (kernels[kernel], kernels[first]);
                let sentence =
                    format!("{name} is not comparable with {first}: {difference}; `numalab run` again for both");
                Incomparable { workload, kernel, difference, sentence }
            }));
        }
    }
    out
}

/// What the runs of two kernels differ in besides the kernel. `None` if they agree, or if one kernel has no runs.
fn difference(first: &[&Run], other: &[&Run]) -> Option<String> {
    let mut of_seed = HashMap::new();
    for f in first {
        of_seed.entry(f.seed).or_insert(*f);
    }
    let mut pairs = other.iter().filter_map(|r| Some((*of_seed.get(&r.seed)?, *r))).peekable();
    if pairs.peek().is_none() {
        return without_common_seed(first, other);
    }
    pairs.find_map(|(f, r)| with_same_seed(f, r))
}

/// What two runs of the same seed differ in.
fn with_same_seed(a: &Run, b: &Run) -> Option<String> {
    if a.plan.machine.sha256 != b.plan.machine.sha256 {
        return Some(another_machine(&a.plan));
    }
    if a.workload_sha256 == b.workload_sha256 {
        return None;
    }
    let changed = changed_parameters(&[a], &[b]);
    Some(if changed.is_empty() { CHANGED.into() } else { changed.join(", ") })
}

/// What the runs of two kernels without a common seed differ in.
fn without_common_seed(a: &[&Run], b: &[&Run]) -> Option<String> {
    let differ = |of: fn(&Run) -> &str| matches!((same(a.iter().map(|r| of(r))), same(b.iter().map(|r| of(r)))), (Some(x), Some(y)) if x != y);
    if differ(|r| &r.plan.machine.sha256) {
        return a.first().map(|r| another_machine(&r.plan));
    }
    let changed = changed_parameters(a, b);
    if !changed.is_empty() {
        return Some(changed.join(", "));
    }
    // Another seed may give other work from the same file, so the files must differ too.
    let edited = a.first()?.workload_file_sha256 != b.first()?.workload_file_sha256;
    (edited && differ(|r| &r.workload_sha256)).then(|| CHANGED.into())
}

/// The difference if neither the machine nor the parameters explain it.
const CHANGED: &str = "the workload's file has changed";

fn another_machine(plan: &Plan) -> String {
    format!("another machine is called {} there", plan.machine.name)
}

/// The value that all items share. `None` if they differ, or if there are no items.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|v| v == first).then_some(first)
}

/// The parameters that have one value in all runs of `a` and another one in all runs of `b`.
fn changed_parameters(a: &[&Run], b: &[&Run]) -> Vec<String> {
    let all = || a.iter().chain(b).flat_map(|r| &r.plan.workload.params);
    fn one<'a>(of: &[&'a Run], name: &str) -> Option<Option<&'a str>> {
        let value = |r: &&'a Run| r.plan.workload.params.iter().find(|x| x.0 == name).map(|x| x.1.as_str());
        same(of.iter().map(value))
    }
    let shown = |v: Option<&str>| v.unwrap_or("absent").to_string();
    let differs = |name: &str| match (one(a, name), one(b, name)) {
        (Some(old), Some(new)) if old != new => Some(format!("{name} is {}, not {}", shown(new), shown(old))),
        _ => None,
    };
    unique(all().map(|p| p.0.as_str())).into_iter().filter_map(differs).collect()
}
