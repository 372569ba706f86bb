//! The tables of the catalog are complete, and wrong ones are refused.

use super::*;
use crate::catalog::{Catalog, Kind};

fn disjoint_vma_2023() -> Published {
    let catalog = Catalog::embedded();
    let file = catalog.get(Kind::Published, "disjoint-vma-2023").unwrap();
    parse(&file.label, &file.text).unwrap()
}

#[test]
fn disjoint_vma_2023_is_complete() {
    let p = disjoint_vma_2023();
    let block = &p.blocks[0];
    assert_eq!(p.columns[p.baseline].name, "base-numascan");
    assert_eq!(block.rows.len(), 10);
    // The passes of the source, and a search where they do not fit.
    let run = |i: usize| p.blocks[i].run.as_ref().unwrap();
    let loops = |i: usize| run(i).params.iter().map(|s| s.value.as_str()).collect::<Vec<_>>();
    assert_eq!((loops(0), loops(1)), (vec!["1000"], vec!["50"]));
    let searched = |i: usize| run(i).calibrate.as_ref().map(|c| c.metric.as_str());
    assert_eq!([0, 1, 2, 3].map(searched), [None, None, Some("elapsed_s + 1.02"), Some("elapsed_s + 1.02")]);
    for (block, test) in p.blocks[1..4].iter().zip(["numa01", "numa02", "numa02_SMT"]) {
        let run = block.run.as_ref().unwrap();
        assert_eq!((run.workload.value.as_str(), run.iterations, block.rows.len()), (test, 7, 2));
    }
    let [whole, sums] = &p.blocks[4..] else { panic!("{} blocks", p.blocks.len()) };
    assert_eq!((whole.rows.len(), sums.rows.len()), (8, 12));
    assert_eq!(whole.rows.iter().filter(|r| r.formatter_only.is_some()).count(), 2);
    assert!(whole.run.is_err() && whole.sum_of.is_empty());
    assert_eq!((sums.sum_of.len(), sums.times), (3, 7));
    // The rows of a test have the values of the whole table.
    for row in p.blocks[1..4].iter().flat_map(|b| &b.rows) {
        assert_eq!(whole.rows.iter().find(|r| r.id == row.id).unwrap().values, row.values, "{}", row.id);
    }
}

/// kernel-numa-balancing.md section 8: ratios 0.954 and 0.995.
#[test]
fn shared_cow_2018_is_complete() {
    let catalog = Catalog::embedded();
    let file = catalog.get(Kind::Published, "shared-cow-2018").unwrap();
    let p = parse(&file.label, &file.text).unwrap();
    let values = &p.blocks[0].rows[0].values;
    let ratios: Vec<f64> = values.iter().map(|v| (1000.0 * v / values[p.baseline]).round() / 1000.0).collect();
    assert_eq!(ratios, [1.0, 0.954, 0.995]);
}

/// mmtests-report.md section 4.1: changes recomputed against column 1, and the local share of hint faults.
#[test]
fn disjoint_vma_2023_agrees_with_the_recomputed_percentages() {
    let p = disjoint_vma_2023();
    let row = |id: &str| &p.blocks[0].rows.iter().find(|r| r.id == id).unwrap().values;
    let percent = |v: &[f64], c: usize| (100.0 - 100.0 * v[c] / v[0]) as f32;
    let near = |a: f32, b: f32| assert!((a - b).abs() <= 0.006, "{a} is not {b}");
    for (id, base, fix) in [("real", -35.37, -1.83), ("user", -17.73, -3.15), ("sys", 93.19, 12.00)] {
        near(percent(row(id), 1), base);
        near(percent(row(id), 2), fix);
    }
    for (c, share) in [46.87, 93.31, 60.23].into_iter().enumerate() {
        near((100.0 * row("numa_hint_faults_local")[c] / row("numa_hint_faults")[c]) as f32, share);
    }
}

/// designs-2012.md sections 5.1 and 5.5: the rows agree with each other.
#[test]
fn numa_core_autonuma_2012_is_complete_and_consistent() {
    let catalog = Catalog::embedded();
    let file = catalog.get(Kind::Published, "numa-core-autonuma-2012").unwrap();
    let p = parse(&file.label, &file.text).unwrap();
    let row = |id: &str, block: usize| &p.blocks[block].rows.iter().find(|r| r.id == id).unwrap().values;
    assert_eq!(p.blocks.iter().map(|b| b.rows.len()).collect::<Vec<_>>(), [4, 4, 4, 4, 3, 43, 40, 45]);
    assert_eq!(p.blocks[4].sum_of.len(), 4);
    for w in 1..=18 {
        let (mean, tput) = (row(&format!("Mean {w}"), 6), row(&format!("TPut {w}"), 6));
        assert!(mean.iter().zip(tput).all(|(m, t)| 4.0 * m == *t), "{w} warehouses");
    }
    for column in 0..3 {
        let peak = (1..=18).map(|w| row(&format!("TPut {w}"), 6)[column]).fold(0.0, f64::max);
        assert_eq!(peak, row("Actual Peak Bops", 6)[column]);
        assert_eq!(row("TPut 12", 6)[column], row("Expctd Peak Bops", 6)[column]);
        for block in [5, 7] {
            let v = |id: &str| row(id, block)[column];
            let cost = 7.0 * v("NUMA PTE updates") + 5000.0 * v("NUMA hint faults") + 19.0 * v("NUMA pages migrated");
            assert_eq!((cost / 1e6).trunc(), v("AutoNUMA cost"));
            assert_eq!((1038.0 * v("Page migrate success") / 1e6).trunc(), v("Compaction cost"));
        }
    }
    let percent = |v: &[f64], c: usize| 100.0 - 100.0 * v[c] / v[0];
    let elapsed = row("Elapsed NUMA01", 0);
    assert!((percent(elapsed, 1) - 53.85).abs() < 0.006 && (percent(elapsed, 2) - 5.97).abs() < 0.006);
}

/// mmtests-report.md section 4.2, rows 53 to 78: the printed changes follow from the values.
#[test]
fn imb_numa_nr_2021_is_complete_and_agrees_with_its_printed_percentages() {
    let catalog = Catalog::embedded();
    let file = catalog.get(Kind::Published, "imb-numa-nr-2021").unwrap();
    let p = parse(&file.label, &file.text).unwrap();
    let printed = [
        ("MB/sec copy-16", 252.50),
        ("MB/sec scale-16", 180.87),
        ("MB/sec add-16", 284.74),
        ("MB/sec triad-16", 268.14),
        ("Min Score-16", 9.68),
        ("Hmean Score-16", 15.76),
        ("Max Score-16", 15.34),
        ("Stddev Score-16", 86.49),
        ("CoeffVar Score-16", 60.57),
    ];
    let warehouses =
        [-4.73, 5.00, 1.55, 0.38, 18.59, 19.69, -3.33, 12.86, -1.96, 20.09, 4.64, 8.24, 16.56, 9.97, 13.15, 6.52, 3.89];
    let names = (0..17).map(|i| format!("Hmean tput-{}", if i == 0 { 1 } else { 8 * i }));
    let printed = printed.map(|(n, v)| (n.to_string(), v)).into_iter().chain(names.zip(warehouses));
    let rows: Vec<&Row> = p.blocks.iter().flat_map(|b| &b.rows).collect();
    let mut seen = 0;
    for (id, percent) in printed {
        let row = rows.iter().find(|r| r.id == id).unwrap_or_else(|| panic!("no row {id}"));
        let got = 100.0 * (row.values[1] / row.values[0] - 1.0);
        // The coefficient of variation is printed with two digits, so the margin is wider.
        let margin = if id.starts_with("Coeff") { 0.2 } else { 0.006 };
        assert!((got - percent).abs() < margin, "{id}: {got} is not {percent}");
        seen += 1;
    }
    assert_eq!((seen, rows.len()), (26, 26));
}

/// Cells outside the baseline column from which something was derived, and those that are predicted, of a table of the
/// catalog.
fn derived_and_predicted(name: &str) -> (usize, usize) {
    let catalog = Catalog::embedded();
    let file = catalog.get(Kind::Published, name).unwrap();
    let p = parse(&file.label, &file.text).unwrap();
    let (mut derived, mut predicted) = (0, 0);
    for block in p.blocks.iter().filter(|b| b.run.is_ok() || !b.sum_of.is_empty()) {
        let (columns, baseline) = p.columns_of(block);
        for row in block.rows.iter().filter(|r| r.formatter_only.is_none()) {
            let own = |c: &usize| *c == baseline || Some(*c) == row.base || row.calibrated.contains(c);
            let cells = (0..columns.len()).filter(|c| !own(c)).count();
            *if row.derived.is_some() { &mut derived } else { &mut predicted } += cells;
        }
    }
    (derived, predicted)
}

/// The numbers that docs/explanation/trust.md and docs/log/scores.toml state.
#[test]
fn what_was_derived_is_marked_cell_by_cell() {
    assert_eq!(derived_and_predicted("disjoint-vma-2023"), (0, 56));
    assert_eq!(derived_and_predicted("shared-cow-2018"), (0, 2));
    // Five rows of system time, and 39 of SPECjbb, in two columns each.
    assert_eq!(derived_and_predicted("numa-core-autonuma-2012"), (10 + 78, 51));
    assert_eq!(derived_and_predicted("thp-locality-2019"), (2, 9));
    assert_eq!(derived_and_predicted("imb-numa-nr-2021"), (4, 22));
    assert_eq!(derived_and_predicted("imb-numa-nr-2021-stream"), (0, 24));
}

#[test]
fn a_block_marks_its_rows_as_derived_unless_they_say_why_themselves() {
    let file = |block: &str, row: &str| {
        format!(
            "name = \"x\"\ntitle = \"t\"\nsource = \"s\"\nbaseline = \"a\"\n[[columns]]\nname = \"a\"\nkernel = \"6.1\"\n\
             [[blocks]]\ngroup = \"g\"\nmachine = \"m\"\nworkload = \"w\"\n{block}\n\
             rows = [{{ id = \"r\", metric = \"elapsed_s\", unit = \"s\", better = \"lower\", {row}values = [1] }}]\n"
        )
    };
    let derived = |block, row| parse("x", &file(block, row)).map(|p| p.blocks[0].rows[0].derived.clone());
    assert_eq!(derived("", "").unwrap(), None);
    assert_eq!(derived("derived = \"links\"", "").unwrap().as_deref(), Some("links"));
    assert_eq!(derived("derived = \"links\"", "derived = \"ticks\", ").unwrap().as_deref(), Some("ticks"));
    let e = derived("", "derived = \" \", ").unwrap_err().to_string();
    assert!(e.contains("`derived` is empty; expected which figure was derived"), "{e}");
}

#[test]
fn wrong_tables_are_refused() {
    let file = |rows: &str, calibrate: &str| {
        format!(
            "name = \"x\"\ntitle = \"t\"\nsource = \"s\"\nbaseline = \"a\"\n[[columns]]\nname = \"a\"\nkernel = \"6.1\"\n\
             [[blocks]]\ngroup = \"g\"\nmachine = \"m\"\nworkload = \"w\"\n{calibrate}\nrows = [{rows}]\n"
        )
    };
    let row = "{ id = \"r\", metric = \"elapsed_s\", unit = \"s\", better = \"lower\", values = [1] }";
    assert!(parse("x", &file(row, "")).is_ok());
    for (text, part) in [
        (file(&row.replace("[1]", "[1, 2]"), ""), "2 values; expected 1 numbers"),
        (file(&row.replace("\"lower\"", "\"lowr\""), ""), "did you mean `lower`?"),
        (file(&row.replace("unit", "units"), ""), "`blocks[0].rows[0].unit` is missing"),
        (file(row, "").replace("baseline = \"a\"", "baseline = \"b\""), "no column `b`; expected one of a"),
        (file(row, "").replace("\"t\"", "\"\""), "x:2:9: `title` is empty"),
        (file(row, "").replace("\"m\"", "\"\""), "`machine` is empty; expected a machine"),
        (file("", ""), "`blocks.rows` is missing; expected at least one block with a row"),
        (file(&row.replace("unit", "form = \"recip\", unit"), ""), "did you mean `reciprocal`?"),
        (file(&row.replace("unit", "stat = \"hmeen\", unit"), ""), "did you mean `hmean`?"),
        (
            file(row, "calibrate = { parameter = \"loops\", metric = \"system_s\", start = 1, min = 1, max = 2 }"),
            "only the baseline's elapsed time",
        ),
        (
            file(
                row,
                "calibrate = { parameter = \"loops\", metric = \"elapsed_s + user_s\", start = 1, min = 1, max = 2 }",
            ),
            "calibration of `elapsed_s + user_s`; expected elapsed_s, or elapsed_s + SECONDS",
        ),
        (
            file(row, "calibrate = { parameter = \"loops\", metric = \"elapsed_s\", start = 3, min = 1, max = 2 }"),
            "`start` is 3; expected a value from 1 to 2",
        ),
    ] {
        let e = parse("x", &text).unwrap_err().to_string();
        assert!(e.contains(part), "{e}");
    }
}

#[test]
fn a_band_per_column_or_none() {
    let table = |bands: &str| {
        let text = format!(
            "name = \"t\"\ntitle = \"T\"\nsource = \"nobody\"\nbaseline = \"a\"\n\
             columns = [{{ name = \"a\", kernel = \"6.12\" }}, {{ name = \"b\", kernel = \"6.11\" }}]\n\
             [[blocks]]\ngroup = \"g\"\nmachine = \"2x1x2x1\"\nworkload = \"numa02\"\n\
             rows = [{{ id = \"real\", metric = \"elapsed_s\", unit = \"s\", better = \"lower\", \
              values = [1.0, 2.0]{bands} }}]\n"
        );
        parse("f", &text)
    };
    let bands = |text: &str| table(text).unwrap().blocks[0].rows[0].bands.clone();
    assert_eq!(bands(""), []);
    assert_eq!(bands(", bands = [[], [1.2, 1.5]]"), [None, Some((1.2, 1.5))]);
    for wrong in ["[[1.0, 2.0]]", "[[], [2.0, 1.0]]", "[[], [1.0]]", "[[], [-1.0, 1.0]]"] {
        let e = table(&format!(", bands = {wrong}")).unwrap_err().to_string();
        assert!(e.contains("2 lists, one per column, each empty or [least, largest]"), "{wrong}: {e}");
    }
}
