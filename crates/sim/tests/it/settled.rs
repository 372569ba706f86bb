//! A run that has settled leaves out its rest, and tells the same as the whole run.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;
use numalab_sim::Footprint;

type Params = &'static [(&'static str, &'static str)];

fn run(
    (machine_name, kernel_name, workload_name): (&str, &str, &str),
    params: Params,
    cut: bool,
) -> (Outcome, Footprint) {
    let m = machine(machine_name);
    let w = workload(workload_name, &m, 3, params);
    let cfg = kernel(kernel_name).with_machine_background(true).with_settling(cut);
    numalab_sim::measure(&m, &w, &cfg, 3, false).unwrap_or_else(|e| panic!("{workload_name}: {e}"))
}

fn scalar(o: &Outcome, name: &str) -> f64 {
    o.scalars.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

fn close(name: &str, whole: f64, cut: f64, share: f64) {
    assert!(
        (whole - cut).abs() <= share * whole.abs().max(1.0),
        "{name}: {whole} in the whole run, {cut} in the other"
    );
}

#[test]
fn what_is_left_out_of_a_timed_run_is_as_it_would_have_been() {
    let plan = ("2x2x4x1", "6.12", "first-touch");
    let params: Params = &[("memory", "256MiB"), ("duration", "240s")];
    let ((whole, all), (cut, some)) = (run(plan, params, false), run(plan, params, true));
    let settled = cut.settled.clone().expect("it has settled");
    assert_eq!(whole.settled, None);
    close("elapsed", scalar(&whole, "elapsed_s"), scalar(&cut, "elapsed_s"), 0.001);
    close("swept", scalar(&whole, "swept"), scalar(&cut, "swept"), 0.01);
    let cpu = scalar(&whole, "user_s") + scalar(&whole, "system_s");
    for time in ["user_s", "system_s"] {
        assert!((scalar(&whole, time) - scalar(&cut, time)).abs() < 0.005 * cpu, "{time} of {cpu} s");
    }
    assert!(settled.skipped_s > 120.0 && settled.after_s < settled.simulated_s, "{settled:?}");
    close("all time", settled.simulated_s + settled.skipped_s, scalar(&cut, "elapsed_s"), 1e-9);
    assert!(settled.rates[0].before_per_second < 0.9 * settled.rates[0].per_second, "memory moved first: {settled:?}");
    assert!(some.ticks * 2 < all.ticks, "{} of {} ticks", some.ticks, all.ticks);
    let series = |o: &Outcome| {
        let s = o.series.iter().find(|s| s.name == "score").unwrap();
        (*s.time_ns.last().unwrap() as f64, *s.values[0].last().unwrap())
    };
    let (whole_end, cut_end) = (series(&whole), series(&cut));
    close("end of the series", whole_end.0, cut_end.0, 0.001);
    close("last of the series", whole_end.1, cut_end.1, 0.01);
}

#[test]
fn a_fixed_amount_of_work_takes_as_long_as_the_whole_of_it() {
    let plan = ("2x1x4x1", "6.12", "numa02");
    let params: Params = &[("loops", "60000"), ("memory", "64MiB")];
    let ((whole, all), (cut, some)) = (run(plan, params, false), run(plan, params, true));
    assert!(cut.settled.is_some(), "{} s", scalar(&cut, "elapsed_s"));
    close("elapsed", scalar(&whole, "elapsed_s"), scalar(&cut, "elapsed_s"), 0.01);
    assert!(some.ticks * 3 < all.ticks * 2, "{} of {} ticks", some.ticks, all.ticks);
}

#[test]
fn a_run_that_goes_on_changing_is_run_to_its_end() {
    let plan = ("2x1x4x1", "6.12", "phase-change");
    let (whole, cut) = (run(plan, &[], false).0, run(plan, &[], true).0);
    assert_eq!(cut.settled, None);
    assert_eq!(whole, cut);
}
