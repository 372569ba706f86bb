//! §19.2: adaptation of the scan period.

use super::mock::{config, settings};
use numalab_kernel::numa::period::{adapt, v38, Adapted, Interval};
use numalab_kernel::numa::rules::PeriodModel;

fn interval(tuple: [u64; 6]) -> Interval {
    let [period, remote, local, failed, shared, private] = tuple;
    let locality = [remote, local, failed];
    Interval { period: period as u32, locality, shared, private, min: 250, max: 15000, backoff_max: 15000 }
}

#[test]
fn a1_to_a13_current_model() {
    let rows: [(&str, [u64; 6], u32, bool); 13] = [
        ("A1", [1000, 100, 900, 0, 0, 1000], 1300, false),
        ("A2", [1000, 900, 100, 0, 1000, 0], 400, false),
        ("A3", [1000, 500, 500, 0, 500, 500], 800, false),
        ("A4", [1000, 300, 700, 0, 1000, 0], 1100, false),
        ("A5", [1000, 250, 750, 0, 250, 750], 1100, false),
        ("A6", [1000, 1000, 0, 0, 1000, 0], 300, false),
        ("A7", [1000, 1000, 0, 0, 0, 1000], 2000, true),
        ("A8", [1000, 0, 0, 0, 0, 0], 2000, true),
        ("A9", [8000, 0, 0, 0, 0, 0], 15000, true),
        ("A10", [1000, 10, 990, 5, 10, 990], 2000, true),
        ("A11", [1005, 310, 690, 0, 350, 650], 904, false),
        ("A12", [14000, 0, 100, 0, 0, 100], 15000, false),
        ("A13", [300, 1000, 0, 0, 400, 600], 270, false),
    ];
    for (id, tuple, period, backoff) in rows {
        assert_eq!(adapt(PeriodModel::V414, &interval(tuple)), Adapted { period, backoff }, "{id}");
    }
}

#[test]
fn a14_negative_sums_wrap_to_the_maximum() {
    let tiny = Interval { min: 0, max: 60000, backoff_max: 60000, ..interval([11, 100, 0, 0, 100, 0]) };
    assert_eq!(adapt(PeriodModel::V414, &tiny).period, 60000);
}

#[test]
fn a15_to_a17_model_of_3_13() {
    let rows: [(&str, [u64; 6], u32); 3] = [
        ("A15", [1000, 900, 100, 0, 1000, 0], 1000),
        ("A16", [1000, 900, 100, 0, 500, 500], 900),
        ("A17", [1000, 500, 500, 0, 500, 500], 1200),
    ];
    for (id, tuple, period) in rows {
        assert_eq!(adapt(PeriodModel::V313, &interval(tuple)), Adapted { period, backoff: false }, "{id}");
    }
}

#[test]
fn the_model_of_3_17_differs_from_3_13_by_its_threshold() {
    // A17's tuple has 5 tenths local. At threshold 7 the period shrinks: −2·100 scaled by ⌈10·500/1000⌉ = 5 tenths →
    // −100.
    let half_local = interval([1000, 500, 500, 0, 500, 500]);
    assert_eq!(adapt(PeriodModel::V317, &half_local).period, 900);
    // 9 tenths local: 3.13 grows by 6 slots, 3.17 by 2.
    let mostly_local = interval([1000, 100, 900, 0, 500, 500]);
    assert_eq!(adapt(PeriodModel::V313, &mostly_local).period, 1600);
    assert_eq!(adapt(PeriodModel::V317, &mostly_local).period, 1200);
}

#[test]
fn a18_model_of_3_8_grows_by_ten_jiffies() {
    let grow = |hz, period| {
        let cfg = config("3.8", hz);
        v38::after_unmigrated_fault(&cfg.scan, cfg.hz, period)
    };
    assert_eq!(grow(1000, 4995), 5000, "A18 at HZ 1000");
    assert_eq!(grow(250, 100), 140, "A18 at HZ 250");
}

#[test]
fn failed_migrations_do_not_matter_before_4_0() {
    let failed = interval([1000, 100, 900, 5, 500, 500]);
    assert!(!adapt(PeriodModel::V317, &failed).backoff);
    assert_eq!(adapt(PeriodModel::V40, &failed), Adapted { period: 2000, backoff: true });
    assert!(adapt(PeriodModel::V414, &failed).backoff);
}

#[test]
fn the_model_of_4_0_divides_by_one_fault_more() {
    // The change is −6 slots of 100, scaled by the private share in tenths: 10 of 10, or with one fault more ⌈10·9/10⌉
    // = 9.
    let private = interval([1000, 9, 1, 0, 0, 9]);
    assert_eq!(adapt(PeriodModel::V317, &private).period, 400);
    assert_eq!(adapt(PeriodModel::V40, &private).period, 460);
}

#[test]
fn settings_name_their_models() {
    // The catalog's kernel 4.0 has the NUMA balancing of 4.15; 4.1 is the next one with 4.0's rule.
    for (release, word) in
        [("3.8", "v38"), ("3.13", "v313"), ("3.17", "v317"), ("4.1", "v40"), ("4.14", "v414"), ("6.12", "v414")]
    {
        assert_eq!(settings(release).roles.scan.word(), word);
    }
}

#[test]
fn the_3_8_period_knows_no_placement() {
    let any = interval([1000, 500, 500, 9, 500, 500]);
    assert_eq!(adapt(PeriodModel::V38, &any), Adapted { period: 1000, backoff: false });
}
