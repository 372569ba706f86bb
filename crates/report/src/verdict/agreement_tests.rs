//! Agreements of made-up predictions.

use super::*;
use crate::data::{Comparison, Kernel, Metric, Workload};
use crate::origin::Origin;
use numalab_model::experiment::{Prediction, Simulated};

/// A prediction of two sizes and two times. `gains[cell]` has the score of every column but the baseline, whose score
/// is 100; runs differ by `spread` to both sides.
fn prediction(names: &[&str], gains: [&[f64]; 4], spread: f64) -> Comparison {
    let kernel = |name: &&str| Kernel { mark: "sim".into(), ..Kernel::named(name) };
    let kernels = ["on"].iter().chain(names).map(kernel).collect();
    let cells = [(1, 6_000), (1, 40_000), (4, 6_000), (4, 40_000)];
    let simulated: Vec<Simulated> = cells
        .iter()
        .map(|&(gib, time_ms)| Simulated {
            workload: format!("w-{gib}GiB-{time_ms}"),
            memory_bytes: gib << 30,
            threads: 8 * gib as u32,
            time_ms,
            settled_after_ms: None,
            until_settled: false,
        })
        .collect();
    let workload = |(s, gains): (&Simulated, &&[f64])| {
        let samples = [100.0].iter().chain(*gains).map(|x| vec![x - spread, x + spread]).collect();
        let metrics = vec![Metric::new("swept", "MB/s", true, samples)];
        Workload { name: s.workload.clone(), metrics, ..Workload::default() }
    };
    let workloads = simulated.iter().zip(&gains).map(workload).collect();
    let prediction = Some(Prediction { memory_bytes: 64 << 30, threads: 64, simulated, horizon_ms: None });
    let origin = Some(Origin { recorded: 24, asked: 24, prediction, ..Origin::default() });
    Comparison { kernels, workloads, origin, ..Comparison::default() }
}

fn verdict(c: &Comparison) -> Verdict {
    decide(c).agreement.unwrap().verdict
}

#[test]
fn what_all_sizes_and_times_say_is_advised() {
    let c = prediction(&["off", "spread"], [&[70.0, 130.0], &[60.0, 110.0], &[80.0, 160.0], &[60.0, 120.0]], 0.1);
    let d = decide(&c);
    assert_eq!(d.agreement.as_ref().unwrap().verdict, Verdict::Take(2));
    assert_eq!(d.answer, "Take spread: it beats on in all 4 simulated sizes and times.");
    assert!(d.how_sure.contains("spread: 10.0 % better to 60.0 % better, clearly better in all."), "{}", d.how_sure);
    assert!(d.how_sure.contains("2 runs a side") && d.how_sure.contains("model's own error"), "{}", d.how_sure);
}

/// The sizes and times of `--like hpc` on milan-2s-nps1, in short.
#[test]
fn one_that_disagrees_takes_the_verdict() {
    let c = prediction(&["spread"], [&[116.8], &[93.4], &[161.1], &[104.6]], 0.1);
    let d = decide(&c);
    assert_eq!(d.agreement.as_ref().unwrap().verdict, Verdict::NoVerdict);
    assert_eq!(d.answer, "No verdict: the simulated sizes and times disagree about spread.");
    assert!(d.how_sure.contains("spread: 6.6 % worse to 61.1 % better, sizes and times disagree."), "{}", d.how_sure);
    // Each size and time by itself keeps its own choice.
    assert_eq!(d.workloads[0].choice, Choice::Take(vec![1]));
    assert_eq!(d.workloads[1].choice, Choice::Take(vec![0]));
}

#[test]
fn a_gain_below_the_models_error_is_no_verdict() {
    for smallest in [101.0, 105.0] {
        let c = prediction(&["spread"], [&[120.0], &[smallest], &[120.0], &[120.0]], 0.01);
        assert_eq!(verdict(&c), Verdict::NoVerdict, "{smallest}");
        assert!(decide(&c).answer.starts_with("No verdict: no column is clearly better than on"));
    }
    assert_eq!(verdict(&prediction(&["spread"], [&[120.0], &[107.0], &[120.0], &[120.0]], 0.01)), Verdict::Take(1));
}

#[test]
fn runs_that_overlap_are_no_verdict() {
    let gains: [&[f64]; 4] = [&[120.0]; 4];
    assert_eq!(verdict(&prediction(&["spread"], gains, 9.0)), Verdict::Take(1));
    assert_eq!(verdict(&prediction(&["spread"], gains, 11.0)), Verdict::NoVerdict);
}

#[test]
fn a_size_without_figures_is_no_verdict() {
    let mut c = prediction(&["spread"], [&[120.0]; 4], 0.1);
    c.workloads.pop();
    assert_eq!(verdict(&c), Verdict::NoVerdict);
    let mut c = prediction(&["spread"], [&[120.0]; 4], 0.1);
    c.workloads[3].metrics[0].samples[1].pop();
    assert_eq!(verdict(&c), Verdict::NoVerdict, "one run has no spread");
}

#[test]
fn balancing_is_kept_only_if_every_other_way_is_worse() {
    let c = prediction(&["off", "spread"], [&[70.0, 80.0], &[60.0, 80.0], &[80.0, 80.0], &[60.0, 80.0]], 0.1);
    assert_eq!(verdict(&c), Verdict::Keep);
    assert_eq!(decide(&c).answer, "Keep on: off and spread are worse in all 4 simulated sizes and times.");
    let c = prediction(&["off", "spread"], [&[70.0, 80.0], &[60.0, 99.0], &[80.0, 80.0], &[60.0, 80.0]], 0.1);
    assert_eq!(verdict(&c), Verdict::NoVerdict);
    assert_eq!(verdict(&prediction(&["off"], [&[100.0]; 4], 0.0)), Verdict::Even);
}

#[test]
fn of_better_ways_the_first_is_taken_unless_one_beats_it_everywhere() {
    let near: [&[f64]; 4] = [&[120.0, 121.0]; 4];
    assert_eq!(verdict(&prediction(&["off", "spread"], near, 0.1)), Verdict::Take(1));
    let far: [&[f64]; 4] = [&[120.0, 150.0]; 4];
    assert_eq!(verdict(&prediction(&["off", "spread"], far, 0.1)), Verdict::Take(2));
    let partly: [&[f64]; 4] = [&[120.0, 150.0], &[120.0, 150.0], &[120.0, 150.0], &[120.0, 110.0]];
    assert_eq!(verdict(&prediction(&["off", "spread"], partly, 0.1)), Verdict::Take(1));
}

#[test]
fn other_comparisons_have_no_agreement() {
    let mut c = prediction(&["spread"], [&[120.0]; 4], 0.1);
    c.origin = None;
    let d = decide(&c);
    assert!(d.agreement.is_none() && as_json(&c)["prediction"].is_null());
}

#[test]
fn the_json_has_what_was_simulated_and_what_was_asked() {
    let c = prediction(&["spread"], [&[116.8], &[93.4], &[161.1], &[104.6]], 0.1);
    let p = &as_json(&c)["prediction"];
    assert_eq!((&p["cut"], &p["verdict"]), (&true.into(), &"no_verdict".into()));
    assert_eq!(p["asked"]["memory_bytes"], 64_u64 << 30);
    let second = &p["simulated"][1];
    assert_eq!((&second["memory_bytes"], &second["time_s"]), (&(1_u64 << 30).into(), &40.0.into()));
    assert_eq!(second["kernels"][0]["call"], "worse");
    assert_eq!(p["simulated"][3]["kernels"][0]["call"], "cannot_tell", "4.6 % is below the model's error");
    assert!(p["text"].as_str().unwrap().ends_with("asked: 64 GiB and 64 threads."));
}
