//! Columns that cannot be compared: they did other work, or ran on another machine, than the first beside them.
//!
//! Runs of one seed are held against each other in everything but the kernel. Columns without a common seed are held
//! against each other in what a seed does not decide: the machine, and those parameters and workloads that are the same in
//! every run of a column, since a workload may follow its seed.

use crate::records::Run;
use numalab_model::plan::Plan;
use numalab_report::order::unique;

/// A column that did not do what the first of its block did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// Index of the workload.
    pub workload: usize,
    /// Index of the kernel.
    pub kernel: usize,
    /// What differs: `loops is 9, not 3`.
    pub what: String,
    /// The sentence for a reader.
    pub text: String,
}

/// All such columns, by workload, then kernel; `workloads` is how many there are.
pub fn unlike(workloads: usize, kernels: &[&str], runs: &[Run]) -> Vec<Unlike> {
    let mut out = Vec::new();
    for workload in 0..workloads {
        let of = |kernel: usize| -> Vec<&Run> {
            runs.iter().filter(|r| (r.workload, r.kernel) == (workload, kernel)).collect()
        };
        let Some(first) = (0..kernels.len()).find(|k| !of(*k).is_empty()) else { continue };
        for kernel in first + 1..kernels.len() {
            out.extend(difference(&of(first), &of(kernel)).map(|what| {
                let (name, first) = (kernels[kernel], kernels[first]);
                let text = format!("{name} is not comparable with {first}: {what}; `numalab run` again for both");
                Unlike { workload, kernel, what, text }
            }));
        }
    }
    out
}

/// What two columns differ in besides their kernel; `None` if nothing, or if one has no runs.
fn difference(first: &[&Run], other: &[&Run]) -> Option<String> {
    let seed = |r: &Run| r.manifest.plan.seed;
    let twin = |r: &Run| first.iter().copied().find(|f| seed(f) == seed(r));
    let mut pairs = other.iter().filter_map(|r| Some((twin(r)?, *r))).peekable();
    if pairs.peek().is_none() {
        return whatever_the_seed(first, other);
    }
    pairs.find_map(|(f, r)| of_one_seed(&f.manifest.plan, &r.manifest.plan))
}

/// What two runs of one seed differ in.
fn of_one_seed(a: &Plan, b: &Plan) -> Option<String> {
    if a.machine.sha256 != b.machine.sha256 {
        return Some(another_machine(a));
    }
    if a.workload.sha256 == b.workload.sha256 {
        return None;
    }
    let changed = changed(&[a], &[b]);
    Some(if changed.is_empty() { CHANGED.into() } else { changed.join(", ") })
}

/// What all runs of two columns without a common seed differ in.
fn whatever_the_seed(first: &[&Run], other: &[&Run]) -> Option<String> {
    let plans = |runs: &[&Run]| -> Vec<_> { runs.iter().map(|r| r.manifest.plan.clone()).collect() };
    let (a, b) = (plans(first), plans(other));
    let (a, b): (Vec<&Plan>, Vec<&Plan>) = (a.iter().collect(), b.iter().collect());
    let differ = |of: &dyn Fn(&Plan) -> String| matches!((same(a.iter().map(|p| of(p))), same(b.iter().map(|p| of(p)))), (Some(x), Some(y)) if x != y);
    if differ(&|p| p.machine.sha256.clone()) {
        return a.first().map(|p| another_machine(p));
    }
    let changed = changed(&a, &b);
    if !changed.is_empty() {
        return Some(changed.join(", "));
    }
    // Of one file, another seed may still give other work.
    let edited = source(first.first()?) != source(other.first()?);
    (edited && differ(&|p| p.workload.sha256.clone())).then(|| CHANGED.into())
}

/// What is said where neither machine nor parameters explain it.
const CHANGED: &str = "the workload's file has changed";

fn another_machine(plan: &Plan) -> String {
    format!("another machine is called {} there", plan.machine.name)
}

/// Digest of the file that a run's workload was read from.
fn source(run: &Run) -> Option<&str> {
    let file = run.manifest.files.iter().find(|f| f.name.starts_with("sources/workloads/"))?;
    Some(&file.sha256)
}

/// The value that all share; `None` if they differ, or there is none.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|v| v == first).then_some(first)
}

/// The parameters of which each column has one value, and not the same.
fn changed(a: &[&Plan], b: &[&Plan]) -> Vec<String> {
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
