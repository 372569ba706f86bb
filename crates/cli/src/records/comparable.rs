//! Kernels of a comparison whose runs are not comparable, because they did other work or ran on another machine.
//!
//! The runs of every kernel are compared with those of the first kernel of their workload. Runs of the same seed must
//! agree in everything but the kernel. Without a common seed, only that is compared which a seed does not decide: the
//! machine, and those parameters and workloads that are the same in every run of a kernel.

use crate::records::run::{Run, WORKLOADS};
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
    let seed = |r: &Run| r.manifest.plan.seed;
    let mut of_seed = HashMap::new();
    for f in first {
        of_seed.entry(seed(f)).or_insert(*f);
    }
    let mut pairs = other.iter().filter_map(|r| Some((*of_seed.get(&seed(r))?, *r))).peekable();
    if pairs.peek().is_none() {
        return without_common_seed(first, other);
    }
    pairs.find_map(|(f, r)| with_same_seed(&f.manifest.plan, &r.manifest.plan))
}

/// What two runs of the same seed differ in.
fn with_same_seed(a: &Plan, b: &Plan) -> Option<String> {
    if a.machine.sha256 != b.machine.sha256 {
        return Some(another_machine(a));
    }
    if a.workload.sha256 == b.workload.sha256 {
        return None;
    }
    let changed = changed_parameters(&[a], &[b]);
    Some(if changed.is_empty() { CHANGED.into() } else { changed.join(", ") })
}

/// What the runs of two kernels without a common seed differ in.
fn without_common_seed(first: &[&Run], other: &[&Run]) -> Option<String> {
    let plans = |runs: &[&Run]| -> Vec<_> { runs.iter().map(|r| r.manifest.plan.clone()).collect() };
    let (a, b) = (plans(first), plans(other));
    let (a, b): (Vec<&Plan>, Vec<&Plan>) = (a.iter().collect(), b.iter().collect());
    let differ = |of: &dyn Fn(&Plan) -> String| matches!((same(a.iter().map(|p| of(p))), same(b.iter().map(|p| of(p)))), (Some(x), Some(y)) if x != y);
    if differ(&|p| p.machine.sha256.clone()) {
        return a.first().map(|p| another_machine(p));
    }
    let changed = changed_parameters(&a, &b);
    if !changed.is_empty() {
        return Some(changed.join(", "));
    }
    // Another seed may give other work from the same file, so the files must differ too.
    let edited = source(first.first()?) != source(other.first()?);
    (edited && differ(&|p| p.workload.sha256.clone())).then(|| CHANGED.into())
}

/// The difference if neither the machine nor the parameters explain it.
const CHANGED: &str = "the workload's file has changed";

fn another_machine(plan: &Plan) -> String {
    format!("another machine is called {} there", plan.machine.name)
}

/// SHA-256 digest of the file that a run's workload was read from.
fn source(run: &Run) -> Option<&str> {
    let file = run.manifest.files.iter().find(|f| f.name.starts_with(WORKLOADS))?;
    Some(&file.sha256)
}

/// The value that all items share. `None` if they differ, or if there are no items.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|v| v == first).then_some(first)
}

/// The parameters that have one value in all runs of `a` and another one in all runs of `b`.
fn changed_parameters(a: &[&Plan], b: &[&Plan]) -> Vec<String> {
    let all = || a.iter().chain(b).flat_map(|p| &p.workload.params);
    let one = |of: &[&Plan], name: &str| {
        same(of.iter().map(|p| p.workload.params.iter().find(|x| x.0 == name).map(|x| x.1.clone())))
    };
    let shown = |v: Option<String>| v.unwrap_or_else(|| "absent".into());
    let differs = |name: &str| match (one(a, name), one(b, name)) {
        (Some(old), Some(new)) if old != new => Some(format!("{name} is {}, not {}", shown(new), shown(old))),
        _ => None,
    };
    unique(all().map(|p| p.0.as_str())).into_iter().filter_map(differs).collect()
}
