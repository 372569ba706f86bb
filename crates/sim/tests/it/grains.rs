//! Grains of pages beside each page by itself (`exact`): docs/explanation/grains.md.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::rng::Rng;
use numalab_model::record::Outcome;
use numalab_sim::Footprint;

type Params<'a> = &'a [(&'a str, &'a str)];

/// A small plan: machine, release and parameters of `buffer-pool`.
struct Plan {
    shape: &'static str,
    release: &'static str,
    params: Vec<(&'static str, &'static str)>,
}

/// Runs a plan, in grains of 2^`order` pages or page by page.
fn simulated(plan: &Plan, seed: u64, order: Option<u32>) -> (Outcome, Footprint) {
    let m = machine(plan.shape);
    let params: Params<'_> = &plan.params;
    let w = workload("buffer-pool", &m, seed, params);
    // Short runs are scanned early and often, so that no single scan decides.
    let sets = [("scan.scan_delay_ms", "50"), ("scan.scan_period_min_ms", "50"), ("scan.scan_period_max_ms", "100")];
    let cfg = kernel_set(plan.release, &sets);
    let cfg = match order {
        Some(order) => cfg.with_grains_of(order),
        None => cfg.with_exact_pages(true),
    };
    numalab_sim::measure(&m, &w, &cfg, seed, true).unwrap_or_else(|e| panic!("{:?}: {e}", plan.params))
}

fn small(policy: &'static str, release: &'static str) -> Plan {
    let params =
        vec![("connections", "6"), ("pool", "64MiB"), ("own", "1MiB"), ("pool_policy", policy), ("duration", "1500ms")];
    Plan { shape: "2x1x2x1", release, params }
}

const COUNTED: [&str; 4] = ["numa_pte_updates", "numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated"];

fn of(name: &str, o: &Outcome) -> f64 {
    match name {
        "elapsed_s" | "system_s" => scalar(o, name),
        "queries" => o.scalars.iter().find(|s| s.name.contains("queries")).map_or(0.0, |s| s.value),
        _ => counter(o, name) as f64,
    }
}

/// Mean and variance.
pub(crate) fn moments(of: &[f64]) -> (f64, f64) {
    let n = of.len() as f64;
    let mean = of.iter().sum::<f64>() / n;
    (mean, of.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Runs of a plan in grains of 2^`order` pages, and page by page, for as many seeds.
fn compared(plan: &Plan, order: u32, seeds: u64) -> (Vec<Outcome>, Vec<Outcome>) {
    let runs = |order| (1..=seeds).map(|seed| simulated(plan, seed, order).0).collect::<Vec<_>>();
    (runs(Some(order)), runs(None))
}

/// Mean distance from the median, and the variance of the distances (Brown and Forsythe's test of spread). One run in
/// twenty may be far from all others, in either form: that says little of their spread, and the variance says so.
fn spread(of: &[f64]) -> (f64, f64) {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = (sorted[(of.len() - 1) / 2] + sorted[of.len() / 2]) / 2.0;
    moments(&of.iter().map(|d| (d - median).abs()).collect::<Vec<_>>())
}

/// Random small plans of at least 2,048 grains: over the seeds, grains and single pages differ by no more than chance
/// and one percent. In grains counts may spread more: a sum over n pages that are alike has n times the variance of one
/// over pages that are not. A spread of half a percent is none. The long form fails in three plans
/// (docs/log/performance.md, "Rounds on small machines").
#[test]
fn random_plans_agree_with_page_by_page() {
    let (plans, seeds) = if is_long() { (40, 20) } else { (5, 4) };
    let mut rng = Rng::new(54);
    let mut off = Vec::new();
    for number in 0..plans {
        let pick = |from: &[&'static str], rng: &mut Rng| from[rng.below(from.len() as u64) as usize];
        let (pool, orders) = [("32MiB", 2), ("64MiB", 3), ("128MiB", 4)][rng.below(3) as usize];
        let order = 1 + rng.below(orders) as u32;
        let plan = Plan {
            shape: pick(&["2x1x2x1", "2x1x4x1", "4x1x2x1"], &mut rng),
            release: pick(&["5.15", "6.1", "6.6", "6.12"], &mut rng),
            params: vec![
                ("connections", pick(&["3", "6", "8"], &mut rng)),
                ("pool", pool),
                ("own", "1MiB"),
                ("pool_policy", pick(&["0", "1", "2", "2"], &mut rng)),
                ("write_share", pick(&["0", "0.1", "0.5"], &mut rng)),
                ("duration", "1500ms"),
            ],
        };
        let (grains, pages) = compared(&plan, order, seeds);
        for name in ["queries", "elapsed_s", "system_s", "pgfault"].into_iter().chain(COUNTED) {
            let all = |runs: &[Outcome]| runs.iter().map(|o| of(name, o)).collect::<Vec<_>>();
            let ((a, va), (b, vb)) = (moments(&all(&grains)), moments(&all(&pages)));
            let ((sa, vsa), (sb, vsb)) = (spread(&all(&grains)), spread(&all(&pages)));
            let error = ((va + vb) / seeds as f64).sqrt();
            let says = format!(
                "{number} order {order} {} {} {:?} {name}: {b} page by page, {:+} +- {error} in grains, \
                 spread {sb} {sa}",
                plan.shape,
                plan.release,
                plan.params,
                a - b
            );
            println!("{says}");
            // Few seeds know their own spread badly: 5.2 is to Student's t with 6 degrees what 3 is to many.
            let differ = (a - b).abs() > if is_long() { 3.0 } else { 5.2 } * error + 0.01 * b + 1.0;
            let (wide, chance) = (f64::from(1 << order).sqrt(), 3.0 * ((vsa + vsb) / seeds as f64).sqrt() + 0.005 * b);
            let (wider, narrower) = (sa > wide * sb + chance, sb > sa + chance);
            if differ || is_long() && (wider || narrower) {
                off.push(says);
            }
        }
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// Seeds decide, and nothing else.
#[test]
fn runs_in_grains_are_deterministic() {
    let plan = small("2", "6.12");
    let (a, b) = (simulated(&plan, 7, Some(4)), simulated(&plan, 7, Some(4)));
    assert_eq!((a.0.counters, a.1), (b.0.counters, b.1));
}

/// The parent fills the pool alone: as many faults, pages and tables as page by page, in as much time.
#[test]
fn a_pool_that_one_process_fills_costs_the_same() {
    let params = vec![("connections", "1"), ("pool", "64MiB"), ("own", "1MiB"), ("reads", "1"), ("duration", "1us")];
    let plan = Plan { shape: "2x1x2x1", release: "6.12", params };
    let ((grains, few), (pages, many)) = (simulated(&plan, 3, Some(4)), simulated(&plan, 3, None));
    let (a, b) = (counter(&grains, "numa_hit"), counter(&pages, "numa_hit"));
    assert!(b > 16_384 && a.abs_diff(b) < 64, "{a} pages in grains, {b} page by page");
    assert!(few.pages >= 16_384 && few.pages.abs_diff(many.pages) < 64, "{few:?} {many:?}");
    let (a, b) = (scalar(&grains, "elapsed_s"), scalar(&pages, "elapsed_s"));
    assert!((a - b).abs() < 0.002 * b, "{a} s in grains, {b} s page by page");
    assert!(few.state_bytes < many.state_bytes && few.events < many.events / 4, "{few:?} {many:?}");
}

/// The pool is busy at any time as it is page by page: threads do not come to it all at once, tick by tick.
#[test]
fn as_many_queries_as_page_by_page_where_memory_is_busy() {
    let m = machine("milan-2s-nps1");
    let w = workload("buffer-pool", &m, 1, &[("connections", "64"), ("pool", "1GiB"), ("duration", "500ms")]);
    let queries = |exact: bool| {
        let cfg = kernel_set("6.12", &[("system.numa_balancing", "0")]).with_exact_pages(exact);
        of("queries", &numalab_sim::measure(&m, &w, &cfg, 1, false).unwrap().0)
    };
    let (pages, grains) = (queries(true), queries(false));
    assert!((grains - pages).abs() < 0.01 * pages, "{grains} in grains, {pages} page by page");
}

/// A region is kept in grains only if it is large, and nobody names its pages.
#[test]
fn only_large_regions_that_are_accessed_at_random_have_grains() {
    let m = machine("2x1x2x1");
    let objects = |pool: &str, sets: &[(&str, &str)], exact: bool| {
        let w = workload("buffer-pool", &m, 1, &[("connections", "2"), ("pool", pool), ("pool_policy", "2")]);
        let cfg = kernel_set("6.12", sets).with_exact_pages(exact);
        numalab_sim::predict_memory(&m, &w, &cfg).objects as f64
    };
    let ratio = |pool: &str, sets: &[(&str, &str)]| objects(pool, &[], true) / objects(pool, sets, false);
    for (pool, pages) in [("1GiB", 16.0), ("4GiB", 64.0), ("16GiB", 128.0)] {
        let ratio = ratio(pool, &[]);
        assert!((0.9 * pages..1.1 * pages).contains(&ratio), "{pool} in grains of {pages} pages: {ratio}");
    }
    for (pool, sets) in [("512MiB", vec![]), ("4GiB", vec![("system.numa_balancing", "2")])] {
        assert_eq!(ratio(pool, &sets), 1.0, "{pool} {sets:?}");
    }
}

/// No score of a published table moves by grains. Of the programs of these tables only `cow-shared` has shared memory,
/// of a few MiB.
#[test]
fn no_published_table_has_memory_in_grains() {
    let read = |folder: &str, name: &str| {
        let path = format!("{}/../../catalog/{folder}/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let tables: Vec<String> = names("published").iter().map(|name| read("published", name)).collect();
    let is_used = |name: &String| tables.iter().any(|table| table.contains(&format!("workload = \"{name}\"")));
    let programs: Vec<String> = names("workloads").into_iter().filter(is_used).collect();
    assert!(programs.len() > 10, "{programs:?}");
    let shares = |name: &&String| read("workloads", name).contains("kind = \"shared\"");
    assert_eq!(programs.iter().filter(shares).collect::<Vec<_>>(), ["cow-shared"]);
    // On private memory rounds of several ops go on side by side. Of programs that access memory at random, three have
    // loops of one access alone, and a warehouse has less than the 64 MiB that each thread must have.
    let kinds = ["random", "chase", "zipf", "reuse"].map(|kind| format!("pattern = \"{kind}\""));
    let rounds = |name: &&String| kinds.iter().any(|kind| read("workloads", name).contains(kind));
    let at_random = programs.iter().filter(rounds).collect::<Vec<_>>();
    assert_eq!(at_random, ["fragmented-node", "random-seek", "specjbb-multi", "swap-storm"]);
    assert!(read("workloads", "specjbb-multi").contains("live = { value = \"25MB\""));
    let m = machine("x5-8-flat");
    let objects = |exact| {
        let cfg = kernel("4.15").with_exact_pages(exact);
        numalab_sim::predict_memory(&m, &workload("cow-shared", &m, 1, &[]), &cfg).objects
    };
    assert_eq!(objects(true), objects(false));
}
