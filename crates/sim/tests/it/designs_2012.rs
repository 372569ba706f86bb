//! AutoNUMA and schednuma of 2012 on the machine of numa-core-autonuma-2012: the results that designs-2012.md requires,
//! at a tenth of the published length.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_kernel::sched::imbalance::Rule;
use numalab_kernel::sched::rules::Balancer;
use numalab_model::record::Outcome;

const VANILLA: &str = "3.7-vanilla";
const AUTONUMA: &str = "3.7-autonuma-v27";
const SCHEDNUMA: &str = "3.7-schednuma-v1r3";

/// What designs-2012.md requires and the model does not do, with why as far as it is known. A bound is the reference's,
/// or stands as it was before a result missed it. A miss that disappears fails its test, and is then taken off this
/// list.
const KNOWN_MISSES: [(&str, &str); 5] = [
    (
        "point 1: AutoNUMA's numa01 below 0.7 of the baseline",
        "its moves take turns, and 12 passes are over before memory is spread (published 0.46 of 50 passes)",
    ),
    (
        "point 4: AutoNUMA's numa02_SMT below 0.6 of the baseline",
        "its moves take turns, and 120 passes are over before half of the gain is there (published 0.36 of 800)",
    ),
    (
        "point 6: schednuma's numa01 spends six times AutoNUMA's system time",
        "fewer copies than published, and threads that spin for the page-table lock are not modelled; six within 1.5 is 4",
    ),
    (
        "section 1.5: whoever meets a move of AutoNUMA as posted waits for base pages alone",
        "with the mutex of the anon_vma, threads wait for the turns of others as well, for whole huge pages",
    ),
    (
        "section 8.4: numa01's gain shrinks without the first-fault exception",
        "on 3.7's balancer both processes start with about as many threads on each node (docs/log/designs-2012.md)",
    ),
];

/// Holds a requirement of [`KNOWN_MISSES`] to be missed still; `got` is the figure that it is about.
fn missed(requirement: &str, holds: bool, got: f64) {
    let (_, why) =
        KNOWN_MISSES.iter().find(|m| m.0 == requirement).unwrap_or_else(|| panic!("{requirement}: not listed"));
    assert!(!holds, "{requirement}: it holds now ({got}); take it off KNOWN_MISSES, which says: {why}");
}

fn go(k: &SimConfig, workload_name: &str, params: &[(&str, &str)]) -> Outcome {
    go_seeded(k, workload_name, params, 3)
}

fn go_seeded(k: &SimConfig, workload_name: &str, params: &[(&str, &str)], seed: u64) -> Outcome {
    let m = machine("e7-4807-4s");
    let w = workload(workload_name, &m, seed, params);
    run(&m, &w, k, seed)
}

fn reason(o: &Outcome, name: &str) -> u64 {
    o.reasons.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// Points 4, 8 and 12 of section 8.1: both designs converge, AutoNUMA by splitting and joining, schednuma whole.
/// AutoNUMA's elapsed time at this length is a known miss (below).
#[test]
fn private_slices_converge_under_both_designs() {
    let params = [("loops", "120")];
    let [v, a, s] = [VANILLA, AUTONUMA, SCHEDNUMA].map(|r| go(&kernel(r), "numa02_SMT", &params));
    let elapsed = |o: &Outcome| scalar(o, "elapsed_s");
    assert!(elapsed(&a) < elapsed(&v), "{} of {}", elapsed(&a), elapsed(&v));
    assert!(elapsed(&s) < 0.6 * elapsed(&v), "{} of {}", elapsed(&s), elapsed(&v));
    assert!(scalar(&a, "user_s") < 0.6 * scalar(&v, "user_s"), "user time includes memory stall");
    let (splits, joined, moved) =
        (counter(&a, "thp_split"), counter(&a, "thp_collapse_alloc"), counter(&a, "numa_pages_migrated"));
    assert!(splits > 300 && joined > splits * 8 / 10 && joined <= splits, "{splits} split, {joined} joined");
    assert!(moved >= splits * 512 * 85 / 100 && moved <= splits * 512 * 115 / 100, "{moved} of {splits} splits");
    assert_eq!((counter(&s, "thp_split"), counter(&s, "thp_collapse_alloc")), (0, 0));
    assert!(counter(&s, "numa_pages_migrated") > 300, "huge pages count as one");
    assert_eq!((counter(&v, "numa_hint_faults"), counter(&v, "numa_pages_migrated")), (0, 0));
    assert!(scalar(&a, "system_s") > scalar(&s, "system_s"), "512 pages one by one cost more than one of 2 MiB");
}

#[test]
fn known_miss_of_point_4() {
    let [v, a] = [VANILLA, AUTONUMA].map(|r| scalar(&go(&kernel(r), "numa02_SMT", &[("loops", "120")]), "elapsed_s"));
    missed("point 4: AutoNUMA's numa02_SMT below 0.6 of the baseline", a < 0.6 * v, a / v);
    // The sign holds.
    assert!(a < v, "{a} of {v}");
}

/// Points 1, 2, 14 and 16: one spread of a hot node's memory helps, two in a row keep it hot; schednuma copies more
/// bytes and faults less. Single runs scatter (AutoNUMA's 0.58 to 0.76 of the baseline), so times are means of six. How
/// much AutoNUMA gains, and how much more schednuma spends in the kernel, are known misses.
#[test]
fn shared_memory_on_a_hot_node() {
    let params = [("loops", "12")];
    let all: Vec<u64> = seeds(6).collect();
    let runs = [VANILLA, AUTONUMA, SCHEDNUMA]
        .map(|r| side_by_side(&all, |&seed| go_seeded(&kernel(r), "numa01", &params, seed)));
    let mean = |o: &Vec<Outcome>, name: &str| o.iter().map(|o| scalar(o, name)).sum::<f64>() / o.len() as f64;
    let [v, a, s] = runs.each_ref().map(|o| mean(o, "elapsed_s"));
    missed("point 1: AutoNUMA's numa01 below 0.7 of the baseline", a < 0.7 * v, a / v);
    assert!(a < v, "{a} of {v}");
    assert!(s < v && s > 0.85 * v, "{s} of {v}");
    // Single runs say either; the means of six are 330 and 251 s.
    let [a_system, s_system] = [1, 2].map(|i| mean(&runs[i], "system_s"));
    assert!(s_system > a_system, "{s_system} and {a_system}");
    missed(
        "point 6: schednuma's numa01 spends six times AutoNUMA's system time",
        s_system > 4.0 * a_system,
        s_system / a_system,
    );
    let [v, a, s] = runs.each_ref().map(|o| &o[1]);
    assert!(scalar(s, "system_s") > 2.0 * scalar(v, "system_s"));
    assert!(scalar(a, "system_s") > 3.0 * scalar(v, "system_s"));
    assert!(counter(a, "numa_hint_faults") > 4 * counter(s, "numa_hint_faults"), "512 a trap against one");
    assert!(reason(s, "design.copies_lost") > 0, "copies are lost to concurrent faults");
    assert_eq!(reason(a, "design.copies_lost"), 0);
}

/// Threads of each of two processes on each node, half-way through the run.
fn threads_by_node(o: &Outcome) -> [[u32; 4]; 2] {
    let s = o.series.iter().find(|s| s.name == "task_node").unwrap();
    let half = s.time_ns.len() / 2;
    let mut counts = [[0; 4]; 2];
    for (name, nodes) in s.columns.iter().zip(&s.values) {
        if nodes[half] >= 0.0 {
            counts[usize::from(name.starts_with("main.1/"))][nodes[half] as usize] += 1;
        }
    }
    counts
}

/// Section 4: "threads are spread over all nodes by CFS". Two processes that create their threads at the same time
/// would take strict turns, and with them nodes, if nothing else decided when a thread is created than `clone`. With
/// faults in between they mostly do not; single runs still fall into step, so it is the middle of eight that is asked
/// for.
#[test]
fn processes_that_fault_while_they_create_threads_share_the_nodes() {
    let fewest = |lock: bool, seed: u64| {
        let mut k = kernel(VANILLA);
        k.mm.vm.fault_holds_mmap_lock = lock;
        let counts = threads_by_node(&go_seeded(&k, "numa01", &[("loops", "1")], seed));
        assert!(counts.iter().all(|c| c.iter().sum::<u32>() == 24), "{counts:?}");
        counts.iter().flatten().copied().min().unwrap()
    };
    let middle = |lock: bool| {
        let mut all: Vec<u32> = (1..=8).map(|seed| fewest(lock, seed)).collect();
        all.sort_unstable();
        all[3]
    };
    // Six threads each is even.
    assert!(middle(true) >= 3, "{}", middle(true));
    assert_eq!(middle(false), 0);
}

/// Section 8.4: without the first-fault exception the gain of numa01 shrinks. It does, by a third or more, on 6.1's
/// balancer. On 3.7's own, where both processes start with about as many threads on each node, it does not, which is a
/// miss (docs/log/designs-2012.md).
#[test]
fn the_first_fault_exception_spreads_the_hot_node() {
    let params = [("loops", "12")];
    let without = kernel_set(AUTONUMA, &[("autonuma.migrate_allow_first_fault", "false")]);
    let mean = |mut k: SimConfig, balancer: &str| {
        k.sched.balancer = Balancer::parse(balancer).unwrap();
        if balancer == "types" {
            // Of the rules for groups with types; 3.7's stands for 5.5's there, which fills a node before it takes the
            // next.
            k.sched.imbalance = Rule::Imb60;
        }
        let all: Vec<u64> = seeds(3).collect();
        let elapsed = side_by_side(&all, |&seed| scalar(&go_seeded(&k, "numa01", &params, seed), "elapsed_s"));
        elapsed.iter().sum::<f64>() / elapsed.len() as f64
    };
    let ratio = |balancer| mean(without.clone(), balancer) / mean(kernel(AUTONUMA), balancer);
    let types = ratio("types");
    assert!(types > 1.1, "{types}");
    let v37 = ratio("v37");
    missed("section 8.4: numa01's gain shrinks without the first-fault exception", v37 > 1.1, v37);
}

/// Section 1.5: whoever touches a page under migration sleeps until it is back. The last page of a huge one moves
/// first, so a thread that sweeps it upwards waits for one base page at most.
#[test]
fn who_meets_a_page_by_page_move_sleeps() {
    // Two processes of 24 threads that sweep the same memory meet moves of others; threads with slices of their own do
    // not, but for the huge pages at their edges; a huge page that moves whole is never left half-way. khugepaged,
    // which faults wait for as well, comes too late for these runs.
    let late = ("autonuma.khugepaged_scan_sleep_millisecs", "86400000");
    let share = |o: &Outcome| scalar(o, "blocked_s") / counter(o, "thp_split") as f64;
    // 23 others, each for less than the 0.1 ms that a base page takes.
    let most_s = 23.0 * 1e-4;
    let posted = share(&go(&kernel_set(AUTONUMA, &[late]), "numa01", &[("loops", "6")]));
    let requirement = "section 1.5: whoever meets a move of AutoNUMA as posted waits for base pages alone";
    missed(requirement, posted < most_s, posted);
    // Nobody ever ran AutoNUMA without that mutex; here it takes the other reason to wait away.
    let autonuma = kernel_set(AUTONUMA, &[late, ("autonuma.anon_vma_mutex", "false")]);
    let shared = go(&autonuma, "numa01", &[("loops", "6")]);
    assert!(share(&shared) > 1e-6 && share(&shared) < most_s, "{}", share(&shared));
    let own = go(&autonuma, "numa01_THREAD_ALLOC", &[("loops", "60")]);
    assert!(share(&own) < 0.2 * share(&shared), "{} of {}", share(&own), share(&shared));
    let whole = go(&kernel_set(AUTONUMA, &[("autonuma.native_huge", "true")]), "numa01", &[("loops", "6")]);
    assert_eq!(scalar(&whole, "blocked_s"), 0.0);
    let vanilla = go(&kernel(VANILLA), "numa01", &[("loops", "3")]);
    assert_eq!(scalar(&vanilla, "blocked_s"), 0.0);
}

/// Moves of one mapping take turns: threads sleep for each other's, and the memory of numa02 is sorted later.
#[test]
fn moves_of_one_mapping_take_turns() {
    let late = ("autonuma.khugepaged_scan_sleep_millisecs", "86400000");
    let with = |mutex| {
        let k = kernel_set(AUTONUMA, &[late, ("autonuma.anon_vma_mutex", mutex)]);
        let o = go(&k, "numa02_SMT", &[("loops", "120")]);
        (scalar(&o, "blocked_s"), scalar(&o, "elapsed_s"), counter(&o, "thp_split"))
    };
    let ((turns_s, later_s, splits), (free_s, sooner_s, _)) = (with("true"), with("false"));
    assert!(turns_s > 10.0 * free_s && turns_s > 0.02 * splits as f64, "{turns_s} and {free_s} s for {splits} splits");
    assert!(later_s > 1.02 * sooner_s, "{later_s} {sooner_s}");
}

/// 14 and 22/31: a huge page that a hint fault leaves where it is is restored read-only, and the store that follows
/// takes a fault that flushes the TLBs of all CPUs of the process: most of what a scan costs.
#[test]
fn huge_pages_lose_their_write_permission() {
    // Without the pull towards homes: whom it moves, and so how many pages move, is not the same in two runs that
    // differ.
    let with = |loses| {
        let k = kernel_set("3.7-schednuma-v1r3+no-home-pull", &[("schednuma.huge_loses_write", loses)]);
        let o = go(&k, "numa02_SMT", &[("loops", "120")]);
        (counter(&o, "numa_hint_faults_local"), counter(&o, "pgreuse"), scalar(&o, "system_s"))
    };
    let ((stays, reused, system_s), (_, none, less_s)) = (with("true"), with("false"));
    // Base pages, at the edges of the buffer, keep theirs.
    assert!(reused > 1000 && reused < stays && none == 0, "{reused} of {stays}, {none}");
    // 24 CPUs: some 0.1 ms each, for who flushes and for those who are interrupted.
    assert!(system_s - less_s > 0.05e-3 * reused as f64, "{system_s} and {less_s} s with {reused} faults");
}

/// Section 8.4: native migration of huge pages needs neither splits nor joins and costs less.
#[test]
fn native_huge_migration_under_autonuma() {
    let params = [("loops", "120")];
    let native = go(&kernel_set(AUTONUMA, &[("autonuma.native_huge", "true")]), "numa02_SMT", &params);
    let split = go(&kernel(AUTONUMA), "numa02_SMT", &params);
    assert_eq!((counter(&native, "thp_split"), counter(&native, "thp_collapse_alloc")), (0, 0));
    assert!(scalar(&native, "system_s") < 0.6 * scalar(&split, "system_s"));
}

/// Base pages: a fault handles all pages under a page-table mark, and the knob takes that away.
#[test]
fn base_pages_are_marked_by_table_or_by_entry() {
    let params = [("loops", "100")];
    let by = |scan_pmd| {
        let sets = [("system.thp", "never"), ("autonuma.scan_pmd", scan_pmd)];
        go(&kernel_set(AUTONUMA, &sets), "numa02_SMT", &params)
    };
    let (table, entry) = (by("true"), by("false"));
    let per_trap = |o: &Outcome| counter(o, "numa_hint_faults") as f64 / counter(o, "pgfault") as f64;
    assert_eq!(counter(&table, "numa_pte_updates"), 0, "table marks are not counted");
    assert!(counter(&entry, "numa_pte_updates") > 100_000);
    assert!(per_trap(&table) > per_trap(&entry));
    assert_eq!(counter(&table, "thp_collapse_alloc"), 0);
}

/// Section 1.4 step 2: `pmd_numa_fixup` runs before the entry is looked at, so a first touch beside marked pages traps
/// for them, and this thread handles all of them.
#[test]
fn a_first_touch_under_a_marked_table_handles_the_pages_present() {
    let text = r#"
[[process]]
name = "main"
[[process.region]]
name = "buffer"
size = "2MiB"
[[process.prologue]]
access = "buffer"
len = "1MiB"
write = 1
[[process.phase]]
steps = [{ compute = "22s" }, { access = "buffer", offset = "1MiB", write = 1 }]
"#;
    let m = machine("e7-4807-4s");
    let k = kernel_set(AUTONUMA, &[("system.thp", "never")]);
    let go = |m: &numalab_model::machine::Machine| run(m, &inline(text, m, 1, &[]), &k, 1);
    let o = go(&m);
    let faults = counter(&o, "numa_hint_faults");
    assert!((256..300).contains(&faults), "{faults}: the half that was there is looked at once");
    // Each page costs what section 8.3 says, beside the one trap.
    let mut dear = m.clone();
    dear.costs.hint_page_ns += 1e6;
    let more = scalar(&go(&dear), "system_s") - scalar(&o, "system_s");
    assert!((more - faults as f64 * 1e-3).abs() < 0.01, "{more} s more for {faults} pages of 1 ms");
}

/// Sections 2.3 and 2.7: a scan holds the lock for writing all along, the part of its time that nothing explains
/// included, and every fault of the process waits, first touches too.
#[test]
fn first_touches_wait_for_a_scan() {
    let text = r#"
[[process]]
name = "main"
threads = 8
[[process.region]]
name = "buffer"
size = "512MiB"
[[process.region]]
name = "fresh"
size = "2GiB"
advice = "nohuge"
[[process.prologue]]
access = "buffer"
write = 1
[[process.phase]]
steps = [{ compute = "1100ms" }, { access = "fresh", slice = "thread", write = 1 }]
"#;
    let m = machine("e7-4807-4s");
    let blocked = |huge_residue_us| {
        let k = kernel_set(SCHEDNUMA, &[("schednuma.huge_residue_us", huge_residue_us), ("system.thp", "always")]);
        scalar(&run(&m, &inline(text, &m, 1, &[]), &k, 1), "blocked_s")
    };
    let (short, long) = (blocked("0"), blocked("1000"));
    assert!(long > 0.05 && long > 2.0 * short, "{short} and {long} s with scans 128 ms longer");
}

/// Scanner and task moves can be exchanged or taken away, and the runs still check out.
#[test]
fn parts_can_be_exchanged() {
    for (name, exchanges) in [
        ("3.7-autonuma-v27+schednuma-scan", true),
        ("3.7-schednuma-v1r3+autonuma-scan", false),
        ("3.7-autonuma-v27+no-exchange", false),
        ("3.7-schednuma-v1r3+no-home-pull", false),
    ] {
        // Threads that share their memory: those of numa02 have theirs beside them before anybody would be exchanged.
        let o = go(&kernel(name), "numa01", &[("loops", "5")]);
        assert!(counter(&o, "numa_hint_faults") > 0, "{name}");
        assert!(counter(&o, "numa_pages_migrated") > 0, "{name}");
        assert_eq!(reason(&o, "design.exchanges") > 0, exchanges, "{name}");
        // With the daemon's scans under the read lock, all that anybody sleeps for is the lock of a page being copied.
        if name == "3.7-schednuma-v1r3+autonuma-scan" {
            assert!(scalar(&o, "blocked_s") > 0.0, "{name}");
        }
    }
}

#[test]
fn the_designs_are_deterministic() {
    for name in [AUTONUMA, SCHEDNUMA] {
        let params = [("loops", "40")];
        assert_eq!(go(&kernel(name), "numa02_SMT", &params), go(&kernel(name), "numa02_SMT", &params));
    }
}

/// khugepaged rests after a round, and a round lasts as long as its copies do: with collapses of 100 ms it joins no
/// more than ten huge pages a second.
#[test]
fn khugepaged_works_for_as_long_as_its_copies_take() {
    let mut slow = machine("e7-4807-4s");
    slow.costs.collapse_ns = 100e6;
    let w = workload("numa02_SMT", &slow, 3, &[("loops", "120")]);
    let out = run(&slow, &w, &kernel(AUTONUMA), 3);
    let (joined, elapsed) = (counter(&out, "thp_collapse_alloc"), scalar(&out, "elapsed_s"));
    assert!(joined > 0 && joined as f64 <= 10.0 * elapsed + 1.0, "{joined} huge pages in {elapsed} s");
    // It has the lock of the address space meanwhile: of the threads, those that fault then wait for it.
    let waits = scalar(&out, "blocked_s");
    assert!(waits > 0.0 && waits < 24.0 * 0.1 * joined as f64, "{waits} s behind {joined} collapses");
    let free = go(&kernel_set(AUTONUMA, &[("system.thp", "never")]), "numa02_SMT", &[("loops", "120")]);
    assert_eq!((counter(&free, "thp_collapse_alloc"), scalar(&free, "blocked_s")), (0, 0.0));
}
