//! Derived figures: the columns of `catalog/columns.toml` computed for a comparison.
//!
//! An expression is evaluated run by run, so a derived figure has samples like any other. Invariant: a counter that a
//! kernel does not have counts as 0; a division by zero gives no figure for that run.

use numalab_model::record::TIMES;

use crate::columns::{Column, BASE_PAGE_KIB};
use crate::data::{Comparison, Kernel, Metric, Workload};

/// Computes the columns for every workload of a comparison, in place of those computed before, and keeps their
/// definitions in it. A column is left out where none of its counters was recorded, and where a score of the workload
/// has its name, since names are unique in every form.
pub fn apply(c: &mut Comparison, columns: &[Column]) {
    c.columns = columns.to_vec();
    let kernels = &c.kernels;
    for w in &mut c.workloads {
        w.derived.clear();
        for column in columns {
            if let Some(metric) = derive(w, column, kernels) {
                w.derived.push(metric);
            }
        }
    }
}

fn derive(w: &Workload, column: &Column, kernels: &[Kernel]) -> Option<Metric> {
    let names = column.expr.names().into_iter().map(|(name, _)| name).filter(|n| *n != BASE_PAGE_KIB);
    let recorded = |n: &str| w.counter(n).is_some() || w.metric(n).is_some();
    // A missing time is not 0. And where no counter was recorded, times alone make no figure.
    let (times, counters): (Vec<&str>, Vec<&str>) = names.partition(|n| TIMES.contains(n));
    let any_counted = counters.is_empty() || counters.iter().any(|n| recorded(n));
    let taken = w.metrics.iter().any(|m| m.name == column.name);
    if taken || !any_counted || !times.iter().all(|n| recorded(n)) {
        return None;
    }
    let of = |(k, kernel): (usize, &Kernel)| {
        (0..runs(w, k)).filter_map(|run| value(w, column, (k, kernel.base_page_kib()), run)).collect()
    };
    let samples = kernels.iter().enumerate().map(of).collect();
    Some(Metric::counted(&column.name, &column.unit, column.better, samples))
}

/// Number of runs of a kernel that have samples.
fn runs(w: &Workload, kernel: usize) -> usize {
    let metrics = w.metrics.iter().map(|m| m.of(kernel).len());
    metrics.chain(w.counters.iter().map(|c| c.of(kernel).len())).max().unwrap_or(0)
}

fn value(w: &Workload, column: &Column, (kernel, base_page_kib): (usize, f64), run: usize) -> Option<f64> {
    let lookup = |name: &str| {
        if name == BASE_PAGE_KIB {
            return Some(base_page_kib);
        }
        let samples = match w.counter(name) {
            Some(counter) => counter.of(kernel),
            None => w.metric(name).map_or(&[][..], |m| m.of(kernel)),
        };
        Some(samples.get(run).copied().unwrap_or(0.0))
    };
    column.expr.eval_plain(lookup).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::built_in;
    use crate::data::{Counter, Kernel};

    fn comparison(faults: &[f64], local: &[f64]) -> Comparison {
        let counter = |name: &str, s: &[f64]| Counter { name: name.into(), samples: vec![s.to_vec()] };
        let w = Workload {
            counters: vec![counter("numa_hint_faults", faults), counter("numa_hint_faults_local", local)],
            metrics: vec![Metric::new("elapsed", "s", false, vec![vec![2.0; faults.len()]])],
            ..Workload::default()
        };
        Comparison { kernels: vec![Kernel::named("x")], workloads: vec![w], ..Comparison::default() }
    }

    #[test]
    fn built_in_columns_are_valid_and_derive() {
        let columns = built_in().unwrap();
        assert!(columns.len() >= 5);
        assert!(columns.iter().all(|c| c.doc.ends_with('.')));
        let mut c = comparison(&[100.0, 200.0], &[25.0, 100.0]);
        apply(&mut c, &columns);
        let w = &c.workloads[0];
        assert_eq!(w.metric("numa_local_percent").unwrap().samples, [vec![25.0, 50.0]]);
        assert_eq!(w.metric("numa_hint_faults_per_s").unwrap().samples, [vec![50.0, 100.0]]);
    }

    #[test]
    fn a_column_may_use_earlier_ones_and_its_definition_goes_with_the_figures() {
        let column = |name: &str, expr: &str| {
            format!("[[column]]\nname = \"{name}\"\nexpr = \"{expr}\"\nbetter = \"lower\"\ndoc = \"x\"\n")
        };
        let text = column("numa_cost", "numa_hint_faults * 2") + &column("mine", "numa_cost + 1");
        let all = crate::columns::with_own("c.toml", &text).unwrap();
        let mut c = comparison(&[100.0], &[25.0]);
        apply(&mut c, &all);
        assert_eq!(c.workloads[0].metric("mine").unwrap().samples, [vec![201.0]]);
        assert_eq!(c.columns.len(), all.len());
    }

    #[test]
    fn no_figure_from_a_division_by_zero_and_none_from_nothing() {
        let columns = built_in().unwrap();
        let mut c = comparison(&[0.0, 10.0], &[0.0, 5.0]);
        apply(&mut c, &columns);
        assert_eq!(c.workloads[0].metric("numa_local_percent").unwrap().samples, [vec![50.0]]);
        assert!(c.workloads[0].metric("thp_fault_success_percent").is_none());
        assert!(c.workloads[0].metric("system_percent").is_none(), "user and system were not recorded");
    }

    #[test]
    fn migrated_memory_goes_by_the_pages_of_the_kernel() {
        let columns = built_in().unwrap();
        let counter = Counter { name: "numa_pages_migrated".into(), samples: vec![vec![1024.0]; 2] };
        let w = Workload { counters: vec![counter], ..Workload::default() };
        let large = Some(vec![("system.base_page_kb".to_string(), "64".to_string())]);
        let kernels = vec![Kernel::named("x"), Kernel { beside_scheduler: large, ..Kernel::named("y") }];
        let mut c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
        apply(&mut c, &columns);
        assert_eq!(c.workloads[0].metric("numa_migrated_mib").unwrap().samples, [vec![4.0], vec![64.0]]);
    }

    #[test]
    fn a_score_keeps_its_name() {
        let mut columns = built_in().unwrap();
        columns.truncate(1);
        columns[0].name = "ops".into();
        let mut c = comparison(&[100.0], &[25.0]);
        c.workloads[0].metrics.push(Metric::new("ops", "ops/s", true, vec![vec![3.0]]));
        apply(&mut c, &columns);
        assert_eq!(c.workloads[0].derived, []);
    }
}
