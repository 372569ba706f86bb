//! Sentences of made-up comparisons.

use super::sentence::growth;
use super::*;
use crate::data::{Comparison, Kernel, Metric, Runs, Workload};
use crate::origin::Origin;

fn compare(samples: Vec<Vec<f64>>, higher: bool) -> (Comparison, Vec<Finding>) {
    let name = if higher { "ops" } else { "elapsed" };
    let metrics = vec![Metric::new(name, "s", higher, samples)];
    let w = Workload { name: "numa01".into(), metrics, ..Workload::default() };
    let kernels = vec![Kernel::named("6.1"), Kernel::named("6.7")];
    let c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
    let f = findings(&c);
    (c, f)
}

#[test]
fn a_clear_difference_names_the_winner_by_direction() {
    let samples = || vec![vec![10.0, 10.1, 9.9], vec![7.4, 7.5, 7.6]];
    let (c, f) = compare(samples(), false);
    assert_eq!(f[0].call, Call::Better);
    let start =
        "6.7 beats 6.1: elapsed 10.00 → 7.500 s, 25.0 % lower. The difference is clear (p < 0.0001, 3 and 3 runs, ";
    assert!(f[0].text.starts_with(start), "{}", f[0].text);
    assert_eq!(headline(&c, &f), [(Some(Call::Better), f[0].text.clone())]);
    let (_, f) = compare(samples(), true);
    assert_eq!(f[0].call, Call::Worse);
    assert!(f[0].text.starts_with("6.7 loses to 6.1: ops "), "{}", f[0].text);
}

#[test]
fn single_runs_cannot_tell_however_large_the_change() {
    let (_, f) = compare(vec![vec![10.0], vec![1.0]], false);
    assert_eq!(f[0].call, Call::CannotTell);
    let want =
        "Cannot tell: 1 run of 6.1 and 1 run of 6.7 give no spread. elapsed 10.00 → 1.000 s, 90.0 % lower, which may \
                be chance; repeat with at least 3 runs a side.";
    assert_eq!(f[0].text, want);
    for samples in [vec![vec![65130.0], vec![65130.0]], vec![vec![0.0], vec![0.0]]] {
        let (_, f) = compare(samples, false);
        assert!(f[0].text.contains(" give no spread. elapsed ") && !f[0].text.contains("chance"), "{}", f[0].text);
    }
}

fn rate(samples: Vec<Vec<f64>>) -> Finding {
    let (mut c, _) = compare(samples, true);
    let samples = std::mem::take(&mut c.workloads[0].metrics[0].samples);
    c.workloads[0].metrics = vec![Metric::new("accesses", "Maccesses/s", true, samples)];
    findings(&c).remove(0)
}

#[test]
fn of_a_rate_the_sentence_has_the_mean_of_the_table() {
    let f = rate(vec![vec![500.0, 505.0, 495.0], vec![300.0, 420.0, 900.0]]);
    assert_eq!(f.call, Call::CannotTell);
    assert_eq!(f.change_percent.map(f64::round), Some(-12.0));
    assert!(f.text.contains("accesses 500.0 → 439.5 Maccesses/s, 12.1 % lower"), "{}", f.text);
    let f = rate(vec![vec![100.0, 101.0, 99.0], vec![200.0, 210.0, 190.0]]);
    assert_eq!(f.call, Call::Better);
    assert!(f.text.contains("interval of the ratio of arithmetic means"), "{}", f.text);
    let f = rate(vec![vec![100.0, 101.0, 99.0], vec![0.0; 3]]);
    assert_eq!((f.call, f.change_percent), (Call::Worse, None));
    assert!(f.text.contains("accesses 99.99 → – Maccesses/s (a run at 0 has no harmonic mean)"), "{}", f.text);
}

#[test]
fn where_the_two_means_part_nothing_can_be_told() {
    // The arithmetic mean of thirty runs is clearly higher, and one slow run makes the harmonic mean lower.
    let col: Vec<f64> = (0..30).map(|i| if i == 0 { 3.0 } else { 130.0 + f64::from(i % 3) }).collect();
    let f = rate(vec![(0..30).map(|i| 100.0 + f64::from(i % 3)).collect(), col]);
    assert!(f.change_percent.is_some_and(|x| x < -1.0), "{f:?}");
    assert_eq!(f.call, Call::CannotTell, "{}", f.text);
    assert!(f.text.ends_with(" % lower. The arithmetic means, which are tested, moved the other way."), "{}", f.text);
    let f = rate(vec![vec![0.0; 3], vec![0.0; 3]]);
    let want = "No clear difference between 6.7 and 6.1: accesses – → – Maccesses/s, the same in every run.";
    assert_eq!((f.call, f.text.as_str()), (Call::Even, want));
}

#[test]
fn noise_cannot_tell_and_quiet_runs_say_even() {
    let (_, f) = compare(vec![vec![8.0, 10.0, 12.0], vec![8.5, 10.5, 11.0]], false);
    assert_eq!(f[0].call, Call::CannotTell);
    assert!(f[0].text.contains("Too few runs or too much spread; with 3 and 3 runs a change of "), "{}", f[0].text);
    let (_, f) = compare(vec![vec![10.0, 10.02, 9.98], vec![10.01, 10.03, 9.97]], false);
    assert_eq!(f[0].call, Call::Even);
    assert!(f[0].text.starts_with("No clear difference between 6.7 and 6.1: "), "{}", f[0].text);
}

#[test]
fn runs_too_short_for_balancing_cannot_tell_whatever_the_test_says() {
    for samples in [vec![vec![0.86; 3], vec![0.86; 3]], vec![vec![10.0, 10.1, 9.9], vec![7.4, 7.5, 7.6]]] {
        let (mut c, f) = compare(samples, false);
        assert_ne!(f[0].call, Call::CannotTell);
        for (short, of) in [([false, true], "the kernel"), ([true, false], "the baseline")] {
            c.workloads[0].too_short = short.to_vec();
            let f = findings(&c);
            assert_eq!(f[0].call, Call::CannotTell, "{of}");
            let want = "Cannot tell 6.7 from 6.1: the runs are too short for balancing to act. elapsed ";
            assert!(f[0].text.starts_with(want), "{}", f[0].text);
            assert_eq!(headline(&c, &f)[0].0, Some(Call::CannotTell));
        }
    }
}

#[test]
fn different_work_has_no_winner_whatever_the_test_says() {
    let (mut c, f) = compare(vec![vec![10.0, 10.1, 9.9], vec![7.4, 7.5, 7.6]], false);
    assert_eq!(f[0].call, Call::Better);
    c.workloads[0].different_work = vec![None, Some("loops is 9, not 3".into())];
    let f = findings(&c);
    let want = "Cannot tell 6.7 from 6.1: different work, as loops is 9, not 3.";
    assert_eq!((f[0].call, f[0].text.as_str()), (Call::CannotTell, want));
    assert_eq!(headline(&c, &f), [(Some(Call::CannotTell), want.to_string())]);
    c.workloads[0].metrics[0].samples[1] = vec![10.0, 10.1, 9.9];
    assert_eq!(findings(&c)[0].call, Call::CannotTell, "nor are they even");
}

#[test]
fn a_detectable_change_of_nothing_is_not_spelled_out() {
    let (_, f) = compare(vec![vec![0.86, 0.86 + 1e-8, 0.86], vec![0.86, 0.86, 0.86 + 1e-8]], false);
    assert!(f[0].text.contains("a change of less than 0.01 % would be seen"), "{}", f[0].text);
}

#[test]
fn a_change_that_prints_as_nothing_is_never_clear() {
    let (_, f) = compare(vec![vec![10.0; 3], vec![10.0 + 1e-6; 3]], false);
    assert_eq!(f[0].call, Call::Even);
    let want =
        "No clear difference between 6.7 and 6.1: elapsed 10.00 → 10.00 s, less than 0.01 % apart. A change this small \
                counts as none, however steady the runs are.";
    assert_eq!(f[0].text, want);
    let (_, f) = compare(vec![vec![10.0; 3], vec![10.001; 3]], false);
    assert_eq!(f[0].call, Call::Worse, "0.01 %");
}

#[test]
fn small_and_missing_and_zero() {
    let (_, f) = compare(vec![vec![10.0, 10.0, 10.0], vec![10.05, 10.05, 10.05]], false);
    assert_eq!(f[0].call, Call::Worse);
    assert!(f[0].text.contains("clear but small"), "{}", f[0].text);
    let (_, f) = compare(vec![vec![], vec![1.0, 2.0]], false);
    assert_eq!((f[0].call, f[0].text.as_str()), (Call::CannotTell, "Cannot tell: there is no elapsed of 6.1."));
    let (_, f) = compare(vec![vec![0.0, 0.0], vec![2.0, 2.0]], false);
    assert_eq!(f[0].call, Call::Worse);
    let (_, f) = compare(vec![vec![5.0, 5.0], vec![5.0, 5.0]], false);
    assert_eq!(f[0].call, Call::Even);
    assert_eq!(f[0].text, "No clear difference between 6.7 and 6.1: elapsed 5.000 → 5.000 s, the same in every run.");
}

#[test]
fn scores_outrank_times_and_many_are_counted() {
    let m = |name: &str, col: [f64; 3]| Metric::new(name, "MB/s", true, vec![vec![10.0, 10.1, 9.9], col.to_vec()]);
    let elapsed = Metric::new("elapsed", "s", false, vec![vec![1.0], vec![2.0]]);
    let metrics = vec![elapsed, m("copy", [20.0, 20.1, 19.9]), m("scale", [5.0, 5.1, 4.9])];
    let w = Workload { name: "stream".into(), metrics, ..Workload::default() };
    let kernels = vec![Kernel::named("a"), Kernel::named("b")];
    let c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
    let f = findings(&c);
    assert_eq!(f.iter().map(|f| f.metric.as_str()).collect::<Vec<_>>(), ["copy", "scale"]);
    let want = "b wins some and loses some against a: of 2 measurements clearly better in 1 \
                (stream copy 2.00 times as much), clearly worse in 1 (stream scale 50.0 % lower).";
    assert_eq!(headline(&c, &f), [(None, want.to_string())]);
    assert_eq!(question(&c), "Is b better than a on stream?");
    let many = Comparison { kernels: vec![Kernel::named("a"); 9], ..c };
    assert_eq!(question(&many), "Which of 8 kernels is better than a on stream?");
}

/// A server whose throughput doubles is better, whatever its wake-ups do.
#[test]
fn latencies_of_wake_ups_decide_nothing() {
    let throughput =
        Metric::new("operations", "operations/s", true, vec![vec![10.0, 10.1, 9.9], vec![20.0, 20.1, 19.9]]);
    let wake_up = |name: &str| Metric::new(name, "us", false, vec![vec![5.0, 5.1, 4.9], vec![90.0, 90.1, 89.9]]);
    let of = |metrics: Vec<Metric>| {
        let workloads = vec![Workload { name: "jvm".into(), metrics, ..Workload::default() }];
        Comparison { kernels: vec![Kernel::named("a"), Kernel::named("b")], workloads, ..Comparison::default() }
    };
    let names = |c: &Comparison| findings(c).into_iter().map(|f| f.metric).collect::<Vec<_>>();
    let all = of(vec![throughput, wake_up("wakeup_p50"), wake_up("wakeup_p99")]);
    assert_eq!(names(&all), ["operations"]);
    let elapsed = Metric::new("elapsed", "s", false, vec![vec![1.0], vec![2.0]]);
    assert_eq!(names(&of(vec![elapsed, wake_up("wakeup_p50")])), ["elapsed"]);
}

#[test]
fn machines_are_counted_beside_the_workloads() {
    let asked = |programs: &[&str], machines: &[&str]| {
        let place =
            |p: &str, m: &str| Workload { name: format!("{p} on {m}"), machine: Some(m.into()), ..Workload::default() };
        let workloads = machines.iter().flat_map(|m| programs.iter().map(move |p| place(p, m))).collect();
        let kernels = vec![Kernel::named("off"), Kernel::named("6.12")];
        question(&Comparison { kernels, workloads, ..Comparison::default() })
    };
    assert_eq!(asked(&["a", "b"], &["m", "n"]), "Is 6.12 better than off on 2 workloads on 2 machines?");
    assert_eq!(asked(&["a"], &["m", "n"]), "Is 6.12 better than off on a on m and n?");
    assert_eq!(asked(&["a", "b", "c"], &["m"]), "Is 6.12 better than off on 3 workloads on m?");
}

#[test]
fn where_no_run_completed_the_answer_says_so() {
    let (mut c, _) = compare(vec![vec![], vec![]], true);
    let more = Metric::new("more", "s", true, vec![vec![], vec![]]);
    c.workloads[0].metrics.push(more);
    let (ended, good) = (Runs { total: 2, timeout: 2, failed: 0 }, Runs { total: 2, ..Runs::default() });
    let said = |c: &Comparison| headline(c, &findings(c));
    c.workloads[0].runs = vec![ended; 2];
    let want = "Cannot tell: no run of 6.1 or 6.7 completed.";
    assert_eq!(said(&c), [(Some(Call::CannotTell), want.to_string())]);
    c.workloads[0].runs = vec![good, ended];
    c.workloads[0].metrics.truncate(1);
    c.workloads[0].metrics[0].samples[0] = vec![1.0, 2.0];
    assert_eq!(said(&c)[0].1, "Cannot tell: no run of 6.7 completed.");
    // Runs that failed at once have no names of figures either.
    c.workloads[0].metrics.clear();
    assert_eq!(said(&c)[0].1, "There are no figures to compare.");
    c.workloads[0].runs = vec![ended; 2];
    assert_eq!(said(&c)[0].1, "No run completed: there is nothing to compare.");
}

#[test]
fn one_kernel_or_no_figures() {
    let mut c = Comparison { kernels: vec![Kernel::named("a")], ..Comparison::default() };
    assert_eq!(headline(&c, &[]), [(None, "Only a was run: there is nothing to compare it with.".to_string())]);
    assert_eq!(question(&c), "How does a do?");
    c.origin = Some(Origin::default());
    assert_eq!(headline(&c, &[]), [(None, "Nothing was run yet.".to_string())]);
    let growths = [-26.41, 4.0, 300.0, 0.02].map(growth);
    assert_eq!(growths, ["26.4 % lower", "4.0 % higher", "4.00 times as much", "0.0200 % higher"]);
}
