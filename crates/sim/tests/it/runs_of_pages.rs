//! Pages side by side as one step, beside each page as a step of its own (`exact`): the same counters and times.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::rng::Rng;
use numalab_model::record::Outcome;
use numalab_sim::Footprint;

type Params<'a> = &'a [(&'a str, &'a str)];

/// One thread, which writes its memory, has it moved away, and writes it again and again.
const ALONE: &str = r#"
[[process]]
name = "p"
affinity = { cpus = 0 }
[[process.region]]
name = "memory"
size = "256MiB"
[[process.prologue]]
access = "memory"
write = 1
[[process.phase]]
move_pages = "memory"
to = 1
[[process.phase]]
count = 200
steps = [{ access = "memory", write = 1 }]
"#;

/// One thread writes memory whose pages alternate between nodes, evenly and by weights.
const SPREAD: &str = r#"
[[policy]]
name = "spread"
mode = "interleave"
nodes = "all"
[[policy]]
name = "weighted"
mode = "weighted_interleave"
nodes = "all"
weights = [3, 1]
[[process]]
name = "p"
affinity = { cpus = 0 }
[[process.region]]
name = "even"
size = "64MiB"
policy = "spread"
[[process.region]]
name = "uneven"
size = "64MiB"
policy = "weighted"
[[process.phase]]
access = "even"
write = 1
[[process.phase]]
count = 3
steps = [{ access = "uneven", write = 1 }]
"#;

/// A process writes all that it shares with a child of its own, which lives on and writes a part of it.
const FORKED: &str = r#"
[[channel]]
name = "done"
[[process]]
name = "parent"
affinity = { cpus = 0 }
[[process.region]]
name = "memory"
size = "64MiB"
[[process.prologue]]
access = "memory"
write = 1
[[process.phase]]
access = "memory"
write = 1
[[process.phase]]
wait = "done"
[[process]]
name = "child"
parent = "parent"
fork = "after"
affinity = { cpus = 1 }
[[process.phase]]
sleep = "1s"
[[process.phase]]
access = "memory"
write = 1
[[process.phase]]
signal = "done"
"#;

fn simulated(plan: (&str, &str, &str), params: Params<'_>, seed: u64, exact: bool) -> (Outcome, Footprint) {
    let m = machine(plan.0);
    let w = match plan.2 {
        "alone" => inline(ALONE, &m, seed, &[]),
        "forked" => inline(FORKED, &m, seed, &[]),
        "spread" => inline(SPREAD, &m, seed, &[]),
        name => workload(name, &m, seed, params),
    };
    // Short runs are scanned early and often.
    let sets = [("system.thp", "never"), ("scan.scan_delay_ms", "100"), ("scan.scan_period_min_ms", "200")];
    let cfg = kernel_set(plan.1, &sets).with_exact_pages(exact);
    numalab_sim::measure(&m, &w, &cfg, seed, false).unwrap_or_else(|e| panic!("{plan:?}: {e}"))
}

/// What a thread alone does to its memory costs the same time, fault for fault, and the same is counted.
#[test]
fn a_thread_alone_pays_for_each_page() {
    let plan = ("2x1x1x1", "6.12", "alone");
    let ((runs, few), (exact, many)) = (simulated(plan, &[], 3, false), simulated(plan, &[], 3, true));
    for name in ["pgfault", "numa_hit", "numa_pte_updates", "numa_hint_faults", "numa_pages_migrated"] {
        assert_eq!(counter(&runs, name), counter(&exact, name), "{name}");
    }
    let moved = counter(&runs, "numa_pages_migrated");
    assert!(counter(&runs, "pgfault") >= 65_536 && moved > 10_000, "{moved} of 65,536 pages came back");
    for name in ["elapsed_s", "user_s", "system_s"] {
        let (a, b) = (scalar(&runs, name), scalar(&exact, name));
        assert!((a - b).abs() <= 1e-3 * b, "{name}: {a} in runs, {b} page by page");
    }
    assert_eq!(few.page_events, many.page_events, "page events are those of the pages");
}

/// First touches of interleaved pages, each of which has a node of its own, are runs too.
#[test]
fn interleaved_pages_cost_the_same() {
    let plan = ("2x1x1x1", "6.12", "spread");
    let ((runs, _), (exact, _)) = (simulated(plan, &[], 3, false), simulated(plan, &[], 3, true));
    for name in ["pgfault", "numa_hit", "numa_interleave", "numa_local", "numa_other"] {
        assert_eq!(counter(&runs, name), counter(&exact, name), "{name}");
    }
    let spread = counter(&runs, "numa_interleave");
    assert!(spread >= 2 * 16_384, "{spread} interleaved pages");
    let near = counter(&runs, "numa_local");
    assert!((20_400..20_800).contains(&near), "a half and three quarters of 16,384 pages each are near: {near}");
    for name in ["elapsed_s", "user_s", "system_s"] {
        let (a, b) = (scalar(&runs, name), scalar(&exact, name));
        assert!((a - b).abs() <= 2e-3 * b, "{name}: {a} in runs, {b} page by page");
    }
}

/// A page that a fork has in common is copied by the first that writes it, and kept by the last. Both cost the same
/// time in runs, and a tenth of the events.
#[test]
fn copies_after_a_fork_cost_the_same() {
    let plan = ("2x1x1x1", "6.12", "forked");
    let ((runs, few), (exact, many)) = (simulated(plan, &[], 3, false), simulated(plan, &[], 3, true));
    for name in ["pgfault", "numa_hit", "pgreuse"] {
        assert_eq!(counter(&runs, name), counter(&exact, name), "{name}");
    }
    let (hit, reused) = (counter(&runs, "numa_hit"), counter(&runs, "pgreuse"));
    assert!(hit >= 2 * 16_384 && reused >= 16_000, "{hit} pages, of which {reused} were kept");
    for name in ["elapsed_s", "user_s", "system_s"] {
        let (a, b) = (scalar(&runs, name), scalar(&exact, name));
        assert!((a - b).abs() <= 2e-3 * b, "{name}: {a} in runs, {b} page by page");
    }
    assert!(few.events < many.events / 10, "{few:?} {many:?}");
}

/// Mean and standard error of differences.
fn mean(of: &[f64]) -> (f64, f64) {
    let n = of.len() as f64;
    let mean = of.iter().sum::<f64>() / n;
    let variance = of.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Random small plans: over the seeds, runs and single pages differ by no more than chance. What runs leave out moves a
/// mean by up to one percent.
#[test]
fn random_plans_agree_with_page_by_page() {
    let (plans, seeds) = if is_long() { (40, 20) } else { (8, 4) };
    let mut rng = Rng::new(54);
    for number in 0..plans {
        let pick = |from: &[&'static str], rng: &mut Rng| from[rng.below(from.len() as u64) as usize];
        let shape = pick(&["2x1x2x1", "2x2x2x1", "4x1x2x1", "4x1x1x2"], &mut rng);
        let release = pick(&["4.15", "5.4", "6.1", "6.6", "6.12"], &mut rng);
        let program = pick(&["numa01", "numa02", "numa01_THREAD_ALLOC", "first-touch"], &mut rng);
        let memory = pick(&["32MiB", "64MiB", "96MiB"], &mut rng);
        let params: &[(&str, &str)] = match program {
            "first-touch" => &[("memory", memory), ("duration", "6s")],
            "numa02" => &[("memory", memory), ("loops", "400")],
            _ => &[("memory", memory), ("loops", "60")],
        };
        let plan = (shape, release, program);
        let of = |name: &str, o: &Outcome| match name {
            "elapsed_s" | "system_s" => scalar(o, name),
            _ => counter(o, name) as f64,
        };
        let pairs: Vec<_> = (1..=seeds)
            .map(|seed| (simulated(plan, params, seed, false).0, simulated(plan, params, seed, true).0))
            .collect();
        for name in ["elapsed_s", "system_s", "numa_pte_updates", "numa_hint_faults", "numa_pages_migrated"] {
            let exact: f64 = pairs.iter().map(|p| of(name, &p.1)).sum::<f64>() / pairs.len() as f64;
            let differences: Vec<f64> = pairs.iter().map(|p| of(name, &p.0) - of(name, &p.1)).collect();
            let (difference, error) = mean(&differences);
            println!("{number} {plan:?} {name}: {exact} page by page, {difference:+} +- {error} in runs");
            assert!(
                difference.abs() <= 3.0 * error + 0.01 * exact.abs() + 1.0,
                "{number} {plan:?} {params:?} {name}: {exact} page by page, {difference:+} +- {error} in runs"
            );
        }
    }
}
