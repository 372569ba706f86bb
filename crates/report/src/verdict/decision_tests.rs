//! Decisions on made-up comparisons.

use super::*;
use crate::data::{Comparison, Counter, Kernel, Metric, Workload};
use crate::origin::Origin;

const SLOW: [f64; 3] = [10.0, 10.1, 9.9];
const FAST: [f64; 3] = [7.4, 7.5, 7.6];
const FASTER: [f64; 3] = [5.0, 5.1, 4.9];

fn workload(name: &str, columns: &[[f64; 3]]) -> Workload {
    let samples = columns.iter().map(|s| s.to_vec()).collect();
    Workload { name: name.into(), metrics: vec![Metric::new("elapsed", "s", false, samples)], ..Workload::default() }
}

fn comparison(kernels: &[&str], workloads: Vec<Workload>) -> Comparison {
    Comparison { kernels: kernels.iter().map(|k| Kernel::named(k)).collect(), workloads, ..Comparison::default() }
}

#[test]
fn the_winner_is_taken_with_how_much_and_how_sure() {
    let mut w = workload("numa02", &[SLOW, FAST]);
    w.metrics.push(Metric::new("system", "s", false, vec![vec![0.5; 3], vec![2.5; 3]]));
    w.counters.push(Counter { name: "numa_hint_faults".into(), samples: vec![vec![0.0; 3], vec![49_152.0; 3]] });
    let d = decide(&comparison(&["off", "6.12"], vec![w]));
    assert_eq!(d.question, "Is 6.12 better than off on numa02?");
    assert_eq!(d.answer, "Take 6.12: it beats off on numa02.");
    assert_eq!(d.workloads[0].choice, Choice::Take(vec![1]));
    assert_eq!(d.workloads[0].text, "6.12 wins: elapsed 10.00 → 7.500 s, 25.0 % lower.");
    assert_eq!(d.how_sure, "The difference is clear (p < 0.0001, 3 runs a side).");
    assert_eq!(d.costs, ["6.12: system time 0.5 → 2.5 s, 49.2 k hint faults."]);
    let s = &d.workloads[0].standings[0];
    assert_eq!((s.kernel, s.call, s.sure.runs), (1, Some(Call::Better), (3, 3)));
    assert_eq!(s.costs[0].baseline.zip(s.costs[0].kernel), Some((0.5, 2.5)));
}

#[test]
fn a_kernel_that_failed_is_told_first_and_nothing_is_asked_of_it() {
    let panicked = |c: &mut Comparison, k: usize| {
        c.kernels[k].failed = Some("guest kernel panic: Attempted to kill init!\nmore".into());
        for w in &mut c.workloads {
            w.metrics[0].samples[k].clear();
        }
    };
    let mut c = comparison(&["off", "6.12"], vec![workload("w", &[SLOW, FAST])]);
    panicked(&mut c, 1);
    let d = decide(&c);
    assert_eq!(d.answer, "No run of 6.12 completed: guest kernel panic: Attempted to kill init!…");
    assert_eq!((d.how_sure.as_str(), d.workloads.len()), ("", 0));
    let mut alone = comparison(&["6.12"], vec![workload("w", &[SLOW])]);
    panicked(&mut alone, 0);
    assert!(decide(&alone).answer.starts_with("No run of 6.12 completed: guest kernel panic"));
    let mut three = comparison(&["off", "6.12", "fix"], vec![workload("w", &[SLOW, FAST, FASTER])]);
    panicked(&mut three, 1);
    let d = decide(&three);
    assert!(d.answer.ends_with("!… Take fix: it beats off on w."), "{}", d.answer);
    assert!(d.how_sure.starts_with("The difference is clear"), "{}", d.how_sure);
}

#[test]
fn the_baseline_is_kept_where_the_others_lose() {
    let d = decide(&comparison(&["off", "6.12"], vec![workload("w", &[FAST, SLOW])]));
    assert_eq!(d.answer, "Keep off: 6.12 is worse on w.");
    assert_eq!(d.workloads[0].choice, Choice::Take(vec![0]));
    assert_eq!(d.workloads[0].text, "off wins; 6.12 loses: elapsed 7.500 → 10.00 s, 33.3 % higher.");
}

/// `oracle` shows what could be won. Nobody can take it.
#[test]
fn a_bound_is_named_and_not_taken() {
    let mut c = comparison(&["off", "6.12", "oracle"], vec![workload("w", &[SLOW, FAST, FASTER])]);
    c.kernels[2].is_bound = true;
    let d = decide(&c);
    assert_eq!(d.answer, "Take 6.12: it beats off on w.");
    let want = "6.12 wins: elapsed 10.00 → 7.500 s, 25.0 % lower; oracle (the bound) 50.0 % lower.";
    assert_eq!(d.workloads[0].text, want);
    c.workloads = vec![workload("w", &[FAST, SLOW, FASTER])];
    assert_eq!(decide(&c).answer, "Keep off: 6.12 is worse on w.");
}

#[test]
fn workloads_that_part_are_named_with_their_choice() {
    let workloads = vec![workload("a", &[SLOW, FAST]), workload("b", &[FAST, SLOW]), workload("c", &[SLOW, SLOW])];
    let d = decide(&comparison(&["off", "6.12"], workloads));
    assert_eq!(d.answer, "It depends on the workload: take 6.12 for a; keep off for b; no clear difference on c.");
    assert_eq!(d.how_sure, "2 of 3 differences are clear (p < 0.0001, 3 runs a side).");
}

#[test]
fn the_best_of_several_is_taken_and_ties_stand_beside_it() {
    let d = decide(&comparison(&["off", "x", "y", "z"], vec![workload("w", &[SLOW, FAST, FASTER, SLOW])]));
    assert_eq!(d.answer, "Take y: it is the best on w.");
    let want = "y wins: elapsed 10.00 → 5.000 s, 50.0 % lower; x 25.0 % lower, z no clear difference.";
    assert_eq!(d.workloads[0].text, want);
    let near = [7.45, 7.55, 7.5];
    let d = decide(&comparison(&["off", "x", "y"], vec![workload("w", &[SLOW, FAST, near])]));
    assert_eq!(d.workloads[0].choice, Choice::Take(vec![1, 2]));
    assert_eq!(d.answer, "Take x or y: each beats off on w, and no clear difference is between them.");
    let d = decide(&comparison(&["off", "x", "y"], vec![workload("w", &[FAST, SLOW, FAST])]));
    assert_eq!(d.answer, "Keep off: x is worse on w; y does not clearly differ from it.");
}

#[test]
fn measurements_that_part_leave_it_open() {
    let mut w = workload("w", &[SLOW, FAST]);
    w.metrics = vec![
        Metric::new("copy", "MB/s", true, vec![SLOW.to_vec(), FAST.to_vec()]),
        Metric::new("add", "MB/s", true, vec![FAST.to_vec(), SLOW.to_vec()]),
    ];
    let d = decide(&comparison(&["off", "x"], vec![w.clone()]));
    assert_eq!((d.workloads[0].choice.clone(), d.workloads[0].standings[0].call), (Choice::Mixed, None));
    assert_eq!(d.answer, "It depends on what counts: some measurements of w got better and others worse.");
    w.metrics.remove(0);
    w.metrics.push(Metric::new("scale", "MB/s", true, vec![SLOW.to_vec(), SLOW.to_vec()]));
    let d = decide(&comparison(&["off", "x"], vec![w]));
    assert_eq!(d.workloads[0].choice, Choice::Take(vec![1]));
    assert!(d.workloads[0].text.ends_with("33.3 % higher (the largest change of 2 measurements)."), "{d:?}");
}

#[test]
fn nothing_is_taken_where_nothing_can_be_told() {
    let mut c = comparison(&["off", "x"], vec![workload("w", &[SLOW, FAST])]);
    c.workloads[0].metrics[0].samples = vec![vec![10.0], vec![1.0]];
    let d = decide(&c);
    assert_eq!(d.workloads[0].choice, Choice::CannotTell);
    assert!(d.answer.starts_with("Cannot tell: 1 run of off and 1 run of x give no spread."), "{}", d.answer);
    assert_eq!(d.how_sure, "Not at all: 1 run a side. Repeat with --iterations 3 or more.");
    let mut c = comparison(&["off", "x"], vec![workload("w", &[SLOW, FAST])]);
    c.workloads[0].different_work = vec![None, Some("loops is 9, not 3".into())];
    let d = decide(&c);
    assert_eq!(d.workloads[0].choice, Choice::CannotTell);
    assert!(d.costs.is_empty(), "different work has no cost");
    assert_eq!(decide(&comparison(&["off"], vec![workload("w", &[SLOW])])).workloads, []);
    let nothing = Comparison { origin: Some(Origin { asked: 2, ..Origin::default() }), ..c };
    assert_eq!(decide(&nothing).answer, "Nothing was run yet.");
}

#[test]
fn the_title_is_the_question_if_it_is_one() {
    let mut c = comparison(&["off", "x"], vec![workload("w", &[SLOW, FAST])]);
    let titled = |title: &str| Origin { title: title.into(), recorded: 6, asked: 6, ..Origin::default() };
    c.origin = Some(titled("mine: Should I turn it off?"));
    assert_eq!(decide(&c).question, "Should I turn it off?");
    c.origin = Some(titled("mine: a list"));
    assert_eq!(decide(&c).question, "Is x better than off on w?");
}

/// Seeds of a simulated run hardly differ, so a change within the model's own error is clear to a test over seeds. It
/// is no verdict. The same runs of real machines are one.
#[test]
fn a_change_within_the_models_error_is_no_verdict() {
    let error = crate::trust::built_in().of(crate::trust::FigureKind::Elapsed).unwrap();
    let scaled = |by: f64| [10.0 / by, 10.001 / by, 9.999 / by];
    let decided = |by: f64, mark: &str| {
        let mut c = comparison(&["off", "6.12"], vec![workload("w", &[scaled(1.0), scaled(by)])]);
        c.kernels.iter_mut().for_each(|k| k.mark = mark.into());
        decide(&c)
    };
    let (small, large) = (1.0 + 0.5 * (error.half - 1.0), 2.0 * error.half);
    let d = decided(small, "sim");
    assert_eq!(d.workloads[0].choice, Choice::CannotTell);
    assert!(d.answer.contains("That is below what this model can tell (about ±"), "{}", d.answer);
    assert!(d.how_sure.contains("below what this model can tell"), "{}", d.how_sure);
    let d = decided(large, "sim");
    assert_eq!(d.workloads[0].choice, Choice::Take(vec![1]));
    assert!(d.how_sure.contains("and larger than the model's own error (about ±"), "{}", d.how_sure);
    assert!(d.workloads[0].standings[0].finding.text.contains("with the model's own error about"));
    assert_eq!(decided(small, "").workloads[0].choice, Choice::Take(vec![1]));
}
