#![allow(clippy::unwrap_used)]
use super::visits::{join, Site};
use super::*;
use crate::fit::classes::Kept;
use crate::fit::messages::Turns;
use crate::fit::pattern::{Motion, Part, Tier};
use crate::fit::region::{Placing, Region};
use crate::fit::usage::Order;
use numalab_model::{machine, workload};

fn region(name: &str, bytes: u64) -> Region {
    Region {
        name: name.into(),
        bytes,
        members: None,
        site: None,
        placing: Placing::Own,
        lines: None,
        is_shared: false,
        inherited: None,
    }
}

fn visit(region: usize, order: Order, lines: f64, write_share: f64) -> Visit {
    let once = Phase::write_once(region, Part::Whole, lines).visits.remove(0);
    Visit { order, write_share, passes: lines * 64.0 / f64::from(1 << 20), ..once }
}

fn phase(visits: Vec<Visit>) -> Phase {
    let insns = visits.iter().map(|v| v.lines).sum::<f64>() * 50.0;
    Phase { insns, kernel: insns / 10.0, slept_ns: 5e6, visits, ..Phase::default() }
}

fn process(regions: usize, classes: Vec<Class>) -> FittedProcess {
    FittedProcess {
        name: "p".into(),
        count: 1,
        begins: 0,
        parent: None,
        hands_on: false,
        waits_after: None,
        regions: (0..regions).map(|n| region(&format!("r{n}"), 1 << 20)).collect(),
        prologue: Vec::new(),
        joins: true,
        meetings: vec![0; classes.len()],
        classes,
        turns: Vec::new(),
        idles: false,
        assumed: Vec::new(),
    }
}

fn fit_of(processes: Vec<FittedProcess>) -> Fit {
    let (shared, measured, assumed) = (Vec::new(), Vec::new(), Vec::new());
    Fit { name: "test".into(), processes, shared, measured, assumed, histograms: None }
}

fn class(threads: std::ops::Range<u16>, phases: Vec<Phase>) -> Class {
    Class { threads: threads.collect(), members: Vec::new(), phases, kept: Kept::Free }
}

/// A fit of a small generator: regions, kinds and phases of all sorts.
fn any(seed: u64) -> Fit {
    let mut state = seed;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut a_visit = |region: usize| {
        let order = [Order::Random, Order::Blocks(256), Order::Blocks(128), Order::Sweep][next(4) as usize];
        let lines = [500.0, 16384.0, 40_000.0, 163_840.0][next(4) as usize];
        let mut v = visit(region, order, lines, [0.0, 0.3, 1.0][next(3) as usize]);
        match next(4) {
            0 if order == Order::Random => {
                let tier = |from: f64, to: f64, accesses: f64| Tier { from, to, accesses };
                v.tiers = vec![tier(0.0, 0.25, 0.7), tier(0.25, 0.5, 0.2), tier(0.5, 1.0, 0.1)];
            }
            1 => {
                v.part = Part::Range(0.25, 0.75);
                v.passes *= 2.0;
            }
            _ => {}
        }
        v.heat = if order == Order::Random { vec![3, 2, 1, 0] } else { Vec::new() };
        v
    };
    let mut phases = |n: usize| -> Vec<Phase> {
        let one = |from: usize| phase((from..from + 5).map(|r| a_visit(r % 8)).collect());
        (0..n).map(|n| n % 4).map(one).collect()
    };
    let classes = vec![class(0..2, phases(3)), class(2..3, phases(3)), class(3..6, phases(1)), class(6..7, phases(5))];
    let mut p = process(8, classes);
    p.prologue = phases(3);
    fit_of(vec![p])
}

/// Lines, writes, instructions, instructions of the kernel, sleep, bytes and threads.
fn totals(fit: &Fit) -> [f64; 7] {
    let mut out = [0.0; 7];
    for p in &fit.processes {
        let of = p.classes.iter().flat_map(|c| c.phases.iter().map(|p| (p, c.threads.len() as f64)));
        for (phase, n) in of.chain(p.prologue.iter().map(|p| (p, 1.0))) {
            out[0] += phase.lines() * n;
            out[1] += phase.visits.iter().map(|v| v.lines * v.write_share).sum::<f64>() * n;
            out[2] += phase.insns * n;
            out[3] += phase.kernel * n;
            out[4] += phase.slept_ns * n;
        }
    }
    out[5] = fit.memory_bytes() as f64;
    out[6] = f64::from(fit.thread_count());
    out
}

#[test]
fn lines_instructions_and_pages_stay_at_every_step() {
    let machine = machine::from_shorthand("2x1x4x1").unwrap();
    for seed in 1..=12 {
        let mut fit = any(seed);
        let (first, pages) = (totals(&fit), touched(&fit.processes[0]));
        let mut search = Search::new(&fit);
        let mut steps = 0;
        while let Some((process, step)) = search.step() {
            carry_out(&mut fit, process, step);
            steps += 1;
            for (n, (a, b)) in first.iter().zip(totals(&fit)).enumerate() {
                assert!((a - b).abs() <= 1e-6 * a.max(1.0), "seed {seed}, step {steps}, {step:?}: {n}: {a} {b}");
            }
            let now = touched(&fit.processes[0]);
            assert!((now - pages).abs() <= PAGES * pages, "seed {seed}, {step:?}: {now} of {pages} pages");
            let text = fit.to_toml("x");
            let spec = workload::parse("test", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            spec.resolve(&machine, 1, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
        assert!(steps > 20, "{steps}");
        // Histograms cover what their visits visit.
        let visits = fit.processes[0].classes.iter().flat_map(|c| &c.phases).flat_map(|p| &p.visits);
        for v in visits.filter(|v| !v.heat.is_empty()) {
            assert!(v.heat.iter().sum::<u64>() > 0, "{v:?}");
        }
    }
}

#[test]
fn equal_slabs_become_one_region() {
    let slabs = |lines: f64| phase((0..15).map(|r| visit(r, Order::Blocks(256), lines, 0.9)).collect());
    let fit = fit_of(vec![process(15, vec![class(0..4, vec![slabs(40_000.0), slabs(60_000.0)])])]);
    let page = fit.within(0);
    let p = &page.processes[0];
    assert_eq!((p.regions.len(), p.regions[0].bytes), (1, 15 << 20));
    let of: Vec<(f64, Part, Order)> =
        p.classes[0].phases.iter().flat_map(|p| &p.visits).map(|v| (v.lines, v.part, v.order)).collect();
    assert_eq!(of, [(1_500_000.0, Part::Whole, Order::Blocks(256))]);
    let says = |what: &str| page.assumed.iter().any(|a| a.contains(what));
    assert!(says("p: regions are put together, two at a time, 14 times: at most 0 %"), "{:?}", page.assumed);
    assert!(says("more than 0 lines"), "{:?}", page.assumed);
}

#[test]
fn a_short_fit_stays_the_same() {
    let fit = any(1);
    assert!(fit.text_lines() > MOST_LINES);
    let lines = fit.text_lines();
    assert_eq!(fit.clone().within(lines), fit);
    let page = fit.clone().within(MOST_LINES);
    assert!(page != fit && page.text_lines() <= MOST_LINES);
    assert_eq!(page.clone().within(MOST_LINES), page);
}

#[test]
fn what_takes_turns_or_is_written_by_readers_stays_apart() {
    let same = |write| vec![phase(vec![visit(0, Order::Random, 9000.0, write)]); 2];
    let mut p = process(2, (0..4).map(|n| class(n..n + 1, same(0.5))).collect());
    p.turns = vec![Turns { first: 0, second: 1, rounds: 9, ahead: 1 }];
    p.meetings[2] = 5;
    let fit = fit_of(vec![p]);
    let search = Search::new(&fit);
    let touches = |c: &Choice, kind: usize| match c.step {
        Step::Kinds(a, b) => a == kind || b == kind,
        Step::Phases(of, _) | Step::Parts(of, ..) => of == Some(kind),
        Step::Regions(..) => true,
    };
    assert!((0..3).all(|kind| search.choices[0].iter().all(|c| !touches(c, kind))));
    assert!(search.choices[0].iter().any(|c| touches(c, 3)));
    // Who only reads does not wait for writers.
    let regions = [region("r", 1 << 20)];
    let at = visits::Site { region: &regions[0], is_forked: false, threads: 1 };
    let of = |write| visit(0, Order::Random, 9000.0, write);
    assert!(visits::join(&of(0.0), &of(0.5), at).is_none() && visits::join(&of(0.4), &of(0.5), at).is_some());
    // What forks share is copied where it is written.
    let ranged = |from, to| Visit { part: Part::Range(from, to), ..of(0.5) };
    let forked = visits::Site { is_forked: true, ..at };
    assert!(visits::join(&ranged(0.0, 0.5), &ranged(0.5, 1.0), forked).is_none());
    assert!(visits::join(&ranged(0.0, 0.5), &ranged(0.5, 1.0), at).is_some());
}

#[test]
fn memory_of_a_fork_stays_a_region() {
    let one = || vec![class(0..1, vec![phase((0..3).map(|r| visit(r, Order::Random, 9000.0, 0.5)).collect())])];
    let (parent, mut child) = (process(3, one()), process(3, one()));
    (child.name, child.parent, child.regions[1].inherited) = ("c".into(), Some(0), Some(0));
    let search = Search::new(&fit_of(vec![parent, child]));
    for n in 0..2 {
        let pairs: Vec<Step> = search.choices[n].iter().map(|c| c.step).collect();
        assert_eq!(pairs, [Step::Regions(0, 2)], "{n}");
    }
}

#[test]
fn windows_that_move_differently_stay_apart() {
    let region = region("r", 8 << 20);
    let at = Site { region: &region, is_forked: false, threads: 1 };
    let plain = visit(0, Order::Random, 1000.0, 0.5);
    let moving = |falls: bool| Visit { motion: Some(Motion { pieces: 4, falls }), ..plain.clone() };
    assert!(join(&plain, &plain, at).is_some());
    assert_eq!(join(&moving(true), &moving(true), at).and_then(|v| v.motion), moving(true).motion);
    assert!(join(&moving(true), &moving(false), at).is_none());
    assert!(join(&plain, &moving(true), at).is_none());
}
