//! The mmtests layout byte for byte (mmtests-report.md §1.3, §4.3, §4.5).
// 3.14 is a run time here, and helpers of a test may unwrap like the test itself.
#![allow(clippy::approx_constant, clippy::unwrap_used)]

use crate::support::layout;

use layout::lines;
use numalab_report::data::{Comparison, Counter, Duration, Kernel, Metric, Workload};
use numalab_report::statistics::{Family, Labels};
use numalab_report::tables::monitor::{self, VmstatRows};
use numalab_report::tables::{comparison_tables, TableOptions};
use numalab_report::text::mmtests::{self, LongNames};
use numalab_stats::star::StarRule;

fn kernels(names: &[&str]) -> Vec<Kernel> {
    names.iter().map(|n| Kernel::named(n)).collect()
}

fn three(workload: Workload) -> Comparison {
    let kernels = kernels(&["6.4.0-rc2-base", "6.4.0-rc2-fixA", "6.4.0-rc2-fixB"]);
    Comparison { kernels, workloads: vec![workload], ..Comparison::default() }
}

/// Text of the first comparison table with only the given statistics shown.
fn text(c: &Comparison, options: &TableOptions, keep: &[&str]) -> String {
    let keep = keep.iter().map(|k| k.to_string()).collect();
    let options = TableOptions { keep, ..options.clone() };
    mmtests::table(c, &comparison_tables(c, &c.workloads[0], &options)[0], LongNames::Widen)
}

fn set_t() -> Comparison {
    let samples = vec![
        vec![3.10, 3.12, 3.14, 3.16, 3.18, 3.20, 3.22],
        vec![3.06, 3.07, 3.09, 3.10, 3.12, 3.13, 3.15],
        vec![2.70, 2.71, 2.73, 2.74, 2.75, 2.77, 2.79],
    ];
    let metrics = vec![Metric::new("elsp-NUMA02", "s", false, samples)];
    three(Workload { name: "autonumabench".into(), metrics, ..Workload::default() })
}

fn set_h() -> Comparison {
    let ramp = |from: f64| (0..5).map(|i| from + 1000.0 * f64::from(i)).collect();
    let metrics =
        vec![Metric::new("Score-4", "iterations/s", true, vec![ramp(100_000.0), ramp(103_500.0), ramp(148_000.0)])];
    let family = Some(Family::Variable);
    three(Workload { name: "coremark".into(), family, metrics, ..Workload::default() })
}

#[test]
fn section_1_3_three_columns_of_2023() {
    let want = lines(
        "
                                   6.4.0-rc2              6.4.0-rc2              6.4.0-rc2
                                        base                   fixA                   fixB
Min       elsp-NUMA02        3.10 (   0.00%)        3.06 (   1.29%)        2.70 (  12.90%)
Amean     elsp-NUMA02        3.16 (   0.00%)        3.10 *   1.81%*        2.74 *  13.25%*
Stddev    elsp-NUMA02        0.04 (   0.00%)        0.03 (  24.75%)        0.03 (  26.29%)
",
    );
    assert_eq!(text(&set_t(), &TableOptions::default(), &["Min", "Amean", "Stddev"]), want);
}

#[test]
fn section_1_3_single_values_of_2021() {
    let mut c = Comparison {
        kernels: kernels(&["5.16.0-rc1-vanilla", "5.16.0-rc1-sched-numaimb-v3r1"]),
        ..Comparison::default()
    };
    let bandwidth = |name: &str, base, col| Metric::new(name, "MB/sec", true, vec![vec![base], vec![col]]);
    // The example shows one of four rows; the widest operation, triad-16, sets the label width.
    let metrics = vec![bandwidth("copy-16", 166_824.02, 586_034.18), bandwidth("triad-16", 1.0, 1.0)];
    c.workloads.push(Workload { name: "stream".into(), metrics, ..Workload::default() });
    let got = text(&c, &TableOptions::default(), &[]);
    let want = lines(
        "
                            5.16.0-rc1             5.16.0-rc1
                               vanilla     sched-numaimb-v3r1
MB/sec copy-16    166824.02 (   0.00%)   586034.18 ( 251.29%)
",
    );
    assert_eq!(got.lines().take(3).map(|l| format!("{l}\n")).collect::<String>(), want);
}

#[test]
fn section_1_3_duration_with_a_long_name() {
    let kernels = kernels(&["6.4.0-rc2-base-numascan", "6.4.0-rc2-base", "6.4.0-rc2-base+fix"]);
    let mut c = Comparison { kernels, ..Comparison::default() };
    let user = |user_s| Some(Duration { user_s, ..Duration::default() });
    let durations = vec![user(403_532.43), user(322_825.94), user(399_497.11)];
    c.workloads.push(Workload { durations, ..Workload::default() });
    let table = monitor::duration(&c, &c.workloads[0], 12).unwrap();
    let want = lines(
        "
                   6.4.0-rc2   6.4.0-rc2   6.4.0-rc2
                base-numascan        base    base+fix
Duration User      403532.43   322825.94   399497.11
",
    );
    let first = |long| mmtests::table(&c, &table, long).lines().take(3).map(|l| format!("{l}\n")).collect::<String>();
    assert_eq!(first(LongNames::Push), want);
    // In reports of numalab every name stands over its figures.
    let want = lines(
        "
                    6.4.0-rc2   6.4.0-rc2   6.4.0-rc2
                base-numascan        base    base+fix
Duration User       403532.43   322825.94   399497.11
",
    );
    assert_eq!(first(LongNames::Widen), want);
}

#[test]
fn section_4_5_four_rows_of_set_h() {
    let want = lines(
        "
                               6.4.0-rc2              6.4.0-rc2              6.4.0-rc2
                                    base                   fixA                   fixB
Min       Score-4   100000.00 (   0.00%)   103500.00 (   3.50%)   148000.00 (  48.00%)
Hmean     Score-4   101980.39 (   0.00%)   105481.04 *   3.43%*   149986.67 *  47.07%*
Stddev    Score-4     1581.14 (   0.00%)     1581.14 (   0.00%)     1581.14 (   0.00%)
CoeffVar  Score-4        1.55 (   0.00%)        1.50 (   3.32%)        1.05 (  32.00%)
",
    );
    let keep = ["Min", "Hmean", "Stddev", "CoeffVar"];
    assert_eq!(text(&set_h(), &TableOptions::default(), &keep), want);
}

#[test]
fn section_4_5_set_h_rows_in_order() {
    let labels = |options: &TableOptions| -> Vec<String> {
        let c = set_h();
        comparison_tables(&c, &c.workloads[0], options)[0].rows.iter().map(|r| r.stat.clone()).collect()
    };
    let head = ["Min", "1st-qrtle", "2nd-qrtle", "3rd-qrtle", "Max-1", "Max-5", "Max-10", "Max-90", "Max-95", "Max-99"];
    let tail = ["BHmean-99", "BHmean-95", "BHmean-90", "BHmean-75", "BHmean-50", "BHmean-25"];
    let b: Vec<&str> = head.into_iter().chain(["Max", "Hmean", "Stddev", "CoeffVar"]).chain(tail).collect();
    assert_eq!(labels(&TableOptions::default()), b);
    let c: Vec<&str> = head.into_iter().chain(["Max", "Hmean", "HStddev", "HCoeffVar"]).chain(tail).collect();
    assert_eq!(labels(&TableOptions { rule: StarRule::GenC, ..TableOptions::default() }), c);
}

#[test]
fn section_4_5_set_h_generation_c() {
    let mut c = set_h();
    c.workloads[0].family = Some(Family::Multi);
    let want = lines(
        "
                                     6.4.0-rc2                    6.4.0-rc2                    6.4.0-rc2
                                          base                         fixA                         fixB
Hmean     Score-4         101980.39 (   0.00%)         105481.04 (   3.43%)         149986.67 *  47.07%*
HStddev   Score-4           1414.23 (   0.00%)           1414.23 (   0.00%)           1414.22 (   0.00%)
HCoeffVar Score-4              1.39 (   0.00%)              1.34 (   3.32%)              0.94 (  32.01%)
BHmean.95 Score-4         102487.80 (   0.00%)         105988.21 (   3.42%)         150491.69 (  46.84%)
",
    );
    // §1.2: a heading cell is F + 11 = 29 wide, so every heading ends with its column.
    assert_eq!(text(&c, &TableOptions::y2026(), &["Hmean", "HStddev", "HCoeffVar", "BHmean.95"]), want);
}

#[test]
fn section_4_5_ops_form_takes_the_best() {
    let mut c = set_h();
    c.workloads[0].family = Some(Family::Best);
    let want = lines(
        "
                         6.4.0-rc2              6.4.0-rc2              6.4.0-rc2
                              base                   fixA                   fixB
Ops Score-4   104000.00 (   0.00%)   107500.00 (   3.37%)   152000.00 (  46.15%)
",
    );
    assert_eq!(text(&c, &TableOptions::default(), &[]), want);
}

#[test]
fn section_4_5_set_t_under_generation_c() {
    let options = TableOptions { rule: StarRule::GenC, labels: Labels::Y2026, ..TableOptions::default() };
    let got = text(&set_t(), &options, &["Amean", "BAmean.95"]);
    let want = lines(
        "
Amean     elsp-NUMA02        3.16 (   0.00%)        3.10 (   1.81%)        2.74 *  13.25%*
BAmean.95 elsp-NUMA02        3.15 (   0.00%)        3.09 (   1.75%)        2.73 (  13.23%)
",
    );
    assert!(got.ends_with(want), "{got}");
    // The option adds rows with 1 or 0 and the interval ratio; with generation B, p in percent.
    let with = |rule| TableOptions { rule, significant_rows: true, keep: vec!["none".into()], ..options.clone() };
    let rows = |rule| {
        let c = set_t();
        let table = &comparison_tables(&c, &c.workloads[0], &with(rule))[0];
        mmtests::table(&c, table, LongNames::Widen).lines().last().unwrap().to_string()
    };
    assert_eq!(
        rows(StarRule::GenC),
        "Significant elsp-NUMA02        0.00 (   0.00%)        0.00 (   0.39%)        1.00 (   2.85%)"
    );
    assert_eq!(
        rows(StarRule::GenB),
        "Significant elsp-NUMA02        0.00 ( 100.00%)        1.00 (   1.62%)        1.00 (   0.00%)"
    );
}

/// §4.3: sums in centiseconds over 7 iterations.
const MAIL_000: [(&str, [f64; 3]); 8] = [
    ("syst-NUMA01", [210_319.0, 16_776.0, 47_023.0]),
    ("syst-NUMA01_THREADLOCAL", [142.0, 155.0, 155.0]),
    ("syst-NUMA02", [491.0, 494.0, 489.0]),
    ("syst-NUMA02_SMT", [409.0, 431.0, 424.0]),
    ("elsp-NUMA01", [224_641.0, 193_288.0, 226_874.0]),
    ("elsp-NUMA01_THREADLOCAL", [711.0, 724.0, 724.0]),
    ("elsp-NUMA02", [2215.0, 2751.0, 2197.0]),
    ("elsp-NUMA02_SMT", [2676.0, 2710.0, 2411.0]),
];

fn disjoint_vma_2023() -> Comparison {
    let kernels = kernels(&["6.4.0-rc2-base-numascan", "6.4.0-rc2-base", "6.4.0-rc2-base+fix"]);
    let metrics = MAIL_000.map(|(name, sums)| {
        let samples = sums.map(|s| vec![s / 100.0 / 7.0; 7]).to_vec();
        // All 16 cells are starred in the mail; no test over real samples would do that (§4.3).
        Metric { significant: Some(vec![false, true, true]), ..Metric::new(name, "s", false, samples) }
    });
    let counter =
        |name: &str, growth: [f64; 3]| Counter { name: name.into(), samples: growth.map(|g| vec![g]).to_vec() };
    let counters = vec![
        counter("numa_hit", [55_795_455.0, 45_452_739.0, 45_500_387.0]),
        counter("numa_local", [55_794_177.0, 45_435_858.0, 45_500_070.0]),
        counter("numa_pte_updates", [147_858_285.0, 18_601.0, 42_043_107.0]),
        counter("numa_hint_faults", [150_531_983.0, 18_254.0, 42_450_080.0]),
        counter("numa_hint_faults_local", [125_691_825.0, 11_964.0, 32_993_313.0]),
        counter("numa_pages_migrated", [13_535_786.0, 2207.0, 4_654_628.0]),
    ];
    let duration = |user_s, system_s, elapsed_s| Some(Duration { user_s, system_s, elapsed_s });
    let durations = vec![
        duration(403_532.43, 2114.31, 2312.20),
        duration(279_173.53, 179.20, 2004.48),
        duration(359_098.23, 481.54, 2335.84),
    ];
    let workload = Workload {
        name: "autonumabench".into(),
        metrics: metrics.to_vec(),
        counters,
        durations,
        ..Workload::default()
    };
    Comparison { kernels, workloads: vec![workload], ..Comparison::default() }
}

/// The text with single blanks, as the archive of the mail has it.
fn squeezed(text: &str) -> Vec<String> {
    text.lines().map(layout::squeezed).collect()
}

#[test]
fn disjoint_vma_2023_amean_rows_with_given_stars() {
    let got = text(&disjoint_vma_2023(), &TableOptions::default(), &["Amean"]);
    let want = lines(
        "
6.4.0-rc2 6.4.0-rc2 6.4.0-rc2
base-numascan base base+fix
Amean syst-NUMA01 300.46 ( 0.00%) 23.97 * 92.02%* 67.18 * 77.64%*
Amean syst-NUMA01_THREADLOCAL 0.20 ( 0.00%) 0.22 * -9.15%* 0.22 * -9.15%*
Amean syst-NUMA02 0.70 ( 0.00%) 0.71 * -0.61%* 0.70 * 0.41%*
Amean syst-NUMA02_SMT 0.58 ( 0.00%) 0.62 * -5.38%* 0.61 * -3.67%*
Amean elsp-NUMA01 320.92 ( 0.00%) 276.13 * 13.96%* 324.11 * -0.99%*
Amean elsp-NUMA01_THREADLOCAL 1.02 ( 0.00%) 1.03 * -1.83%* 1.03 * -1.83%*
Amean elsp-NUMA02 3.16 ( 0.00%) 3.93 * -24.20%* 3.14 * 0.81%*
Amean elsp-NUMA02_SMT 3.82 ( 0.00%) 3.87 * -1.27%* 3.44 * 9.90%*",
    );
    assert_eq!(squeezed(&got), want.lines().collect::<Vec<_>>());
    // Positions by rule 0.1 and 1.2: labels of 9 + 1 + 23 characters, cells of 23.
    let row = "Amean     syst-NUMA01_THREADLOCAL        0.20 (   0.00%)        0.22 *  -9.15%*        0.22 *  -9.15%*";
    assert_eq!(got.lines().nth(3), Some(row));
}

#[test]
fn disjoint_vma_2023_duration_and_ops() {
    let c = disjoint_vma_2023();
    let w = &c.workloads[0];
    let duration = mmtests::table(&c, &monitor::duration(&c, w, 12).unwrap(), LongNames::Widen);
    let want = lines(
        "
Duration User 403532.43 279173.53 359098.23
Duration System 2114.31 179.20 481.54
Duration Elapsed 2312.20 2004.48 2335.84",
    );
    assert_eq!(squeezed(&duration)[2..], want.lines().collect::<Vec<_>>());
    let ops = mmtests::table(&c, &monitor::vmstat(&c, w, VmstatRows::All, false).unwrap(), LongNames::Widen);
    assert_eq!(ops.lines().count(), 2 + 62);
    let want = lines(
        "
Ops NUMA alloc hit 55795455.00 45452739.00 45500387.00
Ops NUMA alloc local 55794177.00 45435858.00 45500070.00
Ops NUMA base-page range updates 147858285.00 18601.00 42043107.00
Ops NUMA PTE updates 147858285.00 18601.00 42043107.00
Ops NUMA hint faults 150531983.00 18254.00 42450080.00
Ops NUMA hint local faults % 125691825.00 11964.00 32993313.00
Ops NUMA hint local percent 83.50 65.54 77.72
Ops NUMA pages migrated 13535786.00 2207.00 4654628.00
Ops AutoNUMA cost 753952.10 91.44 212633.14",
    );
    let got = squeezed(&ops);
    let mut at = 0;
    for line in want.lines() {
        at += got[at..].iter().position(|l| l == line).unwrap_or_else(|| panic!("{line}")) + 1;
    }
    // Values are 15 wide behind the widest name of all 62 rows, also if rows are cut.
    let widest = "NUMA base-page range updates".len();
    let cost = format!("Ops {:<widest$}{:>15}{:>15}{:>15}", "AutoNUMA cost", "753952.10", "91.44", "212633.14");
    let cost = cost.as_str();
    assert_eq!(ops.lines().last(), Some(cost));
    let cut = mmtests::table(&c, &monitor::vmstat(&c, w, VmstatRows::NonZero, false).unwrap(), LongNames::Widen);
    assert_eq!(cut.lines().last(), Some(cost));
    assert!(cut.lines().count() < 20);
}

#[test]
fn corrected_figures_stand_beside_under_other_names() {
    let c = disjoint_vma_2023();
    let ops =
        mmtests::table(&c, &monitor::vmstat(&c, &c.workloads[0], VmstatRows::NonZero, true).unwrap(), LongNames::Widen);
    assert!(squeezed(&ops).contains(&"Ops AutoNUMA cost 753952.10 91.44 212633.14".to_string()));
    assert!(squeezed(&ops).iter().any(|l| l.starts_with("Ops AutoNUMA cost with copy 760977.18 ")), "{ops}");
}

#[test]
fn imb_numa_nr_2021_cells() {
    // §4.2 rows 53 to 60 through the renderer; the harmonic means are published, so each is fed as a single value.
    let kernels = kernels(&["5.16.0-rc1-vanilla", "5.16.0-rc1-sched-numaimb-v3r1"]);
    let rows = [
        ("copy-16", 166_712.18, 587_662.60, "MB/sec copy-16 166712.18 ( 0.00%) 587662.60 ( 252.50%)"),
        ("scale-16", 140_109.66, 393_528.14, "MB/sec scale-16 140109.66 ( 0.00%) 393528.14 ( 180.87%)"),
        ("add-16", 160_791.18, 618_622.00, "MB/sec add-16 160791.18 ( 0.00%) 618622.00 ( 284.74%)"),
        ("triad-16", 160_043.84, 589_188.40, "MB/sec triad-16 160043.84 ( 0.00%) 589188.40 ( 268.14%)"),
    ];
    let metrics = rows.iter().map(|r| Metric::new(r.0, "MB/sec", true, vec![vec![r.1], vec![r.2]])).collect();
    let c =
        Comparison { kernels, workloads: vec![Workload { metrics, ..Workload::default() }], ..Comparison::default() };
    let got = squeezed(&text(&c, &TableOptions::default(), &[]));
    assert_eq!(got[2..], rows.map(|r| r.3));
}

/// Percent of the last cell of the last line.
fn percent_of(text: &str) -> f64 {
    let end = text.trim_end_matches(['\n', ')', '*', '%']);
    end.rsplit(['(', '*']).next().unwrap().trim().parse().unwrap()
}

#[test]
fn every_published_cell_renders_as_printed() {
    // §4.2: where recomputation reproduces the last digit, the whole cell must come out as in the mail.
    let lines = include_str!("../../../stats/tests/vectors-4.2.tsv").lines().filter(|l| !l.starts_with('#'));
    let mut rendered = 0;
    for line in lines {
        let f: Vec<&str> = line.split('\t').collect();
        let (base, value) = (f[4].parse::<f64>().unwrap(), f[5].parse::<f64>().unwrap());
        let higher = f[6] == "pdiff";
        let metric = Metric::new("op", if higher { "ops/s" } else { "s" }, higher, vec![vec![base; 2], vec![value; 2]]);
        let metric = Metric { significant: Some(vec![false, f[10] == "*"]), ..metric };
        let workload = Workload { metrics: vec![metric], ..Workload::default() };
        let kernels = kernels(&["1-base", "1-fix"]);
        let c = Comparison { kernels, workloads: vec![workload], ..Comparison::default() };
        let mean = if higher { "Hmean" } else { "Amean" };
        let got = text(&c, &TableOptions::default(), &[mean]);
        let recomputed: f64 = percent_of(&got);
        let printed: f64 = f[9].parse().unwrap();
        let (open, close) = if f[10] == "*" { ('*', '*') } else { ('(', ')') };
        let shown = if (recomputed - printed).abs() < 1e-9 { printed } else { recomputed };
        let want = format!("{value:12.2} {open}{shown:7.2}%{close}\n");
        assert!(got.ends_with(&want), "{line}\n{got}{want}");
        rendered += usize::from((recomputed - printed).abs() < 1e-9);
    }
    assert_eq!(rendered, 4 + 36 + 25);
}
