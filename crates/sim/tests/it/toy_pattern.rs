//! A new access pattern is one type and its place in a list: parsed, resolved, simulated and carried out for real.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::*;
use numalab_model::access::{
    AccessPattern, Args, CacheFit, Key, Lines, PatternList, Ranks, Traffic, Walk, LINE_BYTES, PATTERNS,
};
use numalab_model::workload::{parse, parse_with, Op, Workload, WorkloadSpec};
use numalab_worker::access::{self, Draw, Range, Tally};
use numalab_worker::job::Job;
use numalab_worker::memory;
use numalab_worker::program::{Compiler, Costs, Step};

/// A part of the span, the `hot` one at its beginning, takes `share` of the accesses.
struct HotSpot;

const KEYS: &[Key] =
    &[Key::number("hot", 0.01, 1.0, "a part from 0.01 to 1"), Key::number("share", 0.0, 1.0, "a share from 0 to 1")];

impl AccessPattern for HotSpot {
    fn word(&self) -> &'static str {
        "hot_spot"
    }
    fn keys(&self) -> &'static [Key] {
        KEYS
    }
    fn walk(&self, _: Args) -> Walk {
        Walk::Random(Lines::Ranked)
    }
    fn traffic(&self) -> Traffic {
        Traffic::Random
    }
    fn cache_fit(&self, _: Args) -> CacheFit {
        CacheFit::Uniform
    }
    fn ranks(&self, [hot, share]: Args, lines: u64) -> Ranks {
        let part = |below: f64| {
            if below < share {
                below / share * hot
            } else {
                hot + (below - share) / (1.0 - share) * (1.0 - hot)
            }
        };
        Ranks::from_quantiles(lines, |below| part(below) * lines as f64)
    }
}

static WITH_TOY: &PatternList = &[PATTERNS[0], &HotSpot];

const BYTES: u64 = 8 << 20;

fn text(step: &str) -> String {
    format!(
        "name = \"toy\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n\
         [[score]]\nname = \"done\"\nunit = \"accesses\"\nbetter = \"higher\"\n\
         [[process]]\nname = \"p\"\n[[process.region]]\nname = \"m\"\nsize = \"8MiB\"\n\
         [[process.phase]]\naccess = \"m\"\nwrite = 1\ncounts = \"done\"\nunit_bytes = \"64B\"\n{step}"
    )
}

fn toy(step: &str) -> WorkloadSpec {
    parse_with("toy.toml", &text(step), WITH_TOY).unwrap()
}

const STEP: &str = "pattern = \"hot_spot\"\naccesses = 200_000\nhot = 0.25\nshare = 0.875\n";

fn resolved() -> Workload {
    toy(STEP).resolve(&machine("milan-2s-nps1"), 1, &[]).unwrap()
}

#[test]
fn it_is_parsed_and_resolved_by_its_word_and_keys() {
    let w = resolved();
    let Op::Access(a) = &w.processes[0].threads[0].ops[0] else { panic!("no access") };
    assert_eq!((a.accesses, a.span.len_bytes), (200_000, BYTES));
    assert_eq!(a.pattern.walk(), Walk::Random(Lines::Ranked));
    assert_eq!(format!("{:?}", a.pattern), "Hot_spot { hot: 0.25, share: 0.875 }");
    let refused = |text: &str, patterns| parse_with("toy.toml", text, patterns).unwrap_err().to_string();
    let lost = refused(&text("pattern = \"hot_spot\"\naccesses = 5\nhot = 0.25\n"), WITH_TOY);
    assert!(lost.contains("share` is missing"), "{lost}");
    let near = refused(&text(&STEP.replace("hot_spot", "hotspot")), WITH_TOY);
    assert!(near.contains("did you mean `hot_spot`?"), "{near}");
    let wide = toy(&STEP.replace("0.25", "2")).resolve(&machine("milan-2s-nps1"), 1, &[]).unwrap_err().to_string();
    assert!(wide.contains("`hot` is 2") && wide.contains("a part from 0.01 to 1"), "{wide}");
    assert!(parse("toy.toml", &text(STEP)).is_err(), "the list of this test is its own");
}

#[test]
fn the_simulator_walks_it() {
    let outcome = numalab_sim::run(&machine("milan-2s-nps1"), &resolved(), &kernel("6.12"), 1, true).unwrap();
    assert_eq!(scalar(&outcome, "done"), 200_000.0);
    // As many draws touch all of 2048 pages, which are filled as base pages or as four huge ones.
    assert!(counter(&outcome, "pgfault") >= 4);
}

#[test]
fn the_worker_carries_it_out() {
    struct Count(f64);
    impl Tally for Count {
        fn score(&mut self, _: u32, amount: f64) {
            self.0 += amount;
        }
    }
    let job = Job::new(resolved(), 1, vec![0], 1);
    let placed = memory::plan(&job).unwrap();
    let costs = Costs { spin_per_second: 1_000_000_000, access_ps: [1; access::LOOPS.len()] };
    let program = Compiler::new(&job, &placed, costs).compile(0, &job.workload.processes[0].threads[0].ops).unwrap();
    let Step::Access(plan) = &program.steps[0] else { panic!("no access") };
    // The region is mapped in processes of the worker only, so the plan goes through memory of this one.
    let mut words = vec![u64::MAX; (BYTES / 8) as usize];
    // SAFETY: the buffer outlives the run below, and nothing else refers to it meanwhile.
    let range = unsafe { Range::new(words.as_mut_ptr() as u64, BYTES) };
    let (mut draw, mut count) = (Draw::new(1, 0), Count(0.0));
    access::run(&access::Plan { range, ..plan.clone() }, &mut draw, &mut count);
    assert_eq!(count.0, 200_000.0);
    let lines = BYTES / LINE_BYTES;
    let written: Vec<u64> = (0..lines).filter(|line| words[(line * LINE_BYTES / 8) as usize] != u64::MAX).collect();
    let hot = written.iter().filter(|&&line| line < lines / 4).count() as u64;
    // 175,000 draws of 32,768 lines leave almost none out, 25,000 of 98,304 find about 22 %.
    assert!(hot > lines / 4 * 98 / 100, "{hot}");
    assert!((lines / 8..lines / 4).contains(&(written.len() as u64 - hot)), "{}", written.len());
}
