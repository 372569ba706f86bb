//! Tests of `reproduce` with a backend that computes its figures.

use super::*;
use crate::execute::tests::Mock;
use std::sync::atomic::Ordering;

const COLUMNS: [(&str, f64); 3] = [("6.4-rc2-numascan", 1.0), ("6.4-rc2", 1.5), ("6.4-rc2+rfc-v3", 0.5)];

/// The table disjoint-vma-2023, with a calibration of its first block.
fn published(context: &Context) -> Published {
    let file = context.catalog.get(Kind::Published, "disjoint-vma-2023").unwrap();
    let searched = r#"calibrate = { parameter = "loops", metric = "elapsed_s", start = 1000, min = 1, max = 1000000 }"#;
    published::parse(&file.label, &file.text.replacen("params = { loops = 1000 }", searched, 1)).unwrap()
}

/// Work on a table in a directory.
fn work<'a>(context: &'a Context, published: &'a Published, dir: PathBuf, executor: Executor<'a>) -> Work<'a> {
    Work { context, published, dir, executor, quiet_machine: true, ahead: Vec::new() }
}

#[test]
fn one_cell_is_calibrated_and_ratios_refer_to_the_baseline() {
    let context = Context::new(None).unwrap();
    let published = published(&context);
    let mock = Mock { factors: COLUMNS.to_vec(), ..Mock::default() };
    let dir = tempfile::tempdir().unwrap();
    let progress = Progress::new(0);
    let executor = Executor { backend: &mock, jobs: 2, progress: &progress };
    let work = work(&context, &published, dir.path().join("r"), executor);
    let block = &published.blocks[0];
    let run = BlockRun { iterations: 2, ..block.run.clone().unwrap() };
    let done = work.block(block, &run).unwrap();
    // The mock takes loops/100 s, so 61.507 s are 6151 loops, within the tolerance.
    assert!(done.note.contains("loops = 61"), "{}", done.note);
    assert_eq!(done.exit, Exit::OK);
    assert_eq!(done.cells.len(), 10 * 3);
    let calibrated: Vec<&str> =
        done.cells.iter().filter(|c| c.role == Role::Calibrated).map(|c| c.id.as_str()).collect();
    assert_eq!(calibrated, ["disjoint-vma-2023/base-numascan/real"]);
    let cell = |id: &str| done.cells.iter().find(|c| c.id == id).unwrap();
    let real = cell("disjoint-vma-2023/base/real");
    assert_eq!(
        (real.kernel.as_str(), real.metric.as_str(), real.group.as_str()),
        ("base", "elapsed", "numa01_THREAD_ALLOC")
    );
    assert_eq!((real.published, real.published_ratio), (Some(83.259), Some(83.259 / 61.507)));
    assert!((real.simulated_ratio.unwrap() - 1.5).abs() < 1e-12);
    assert!((cell("disjoint-vma-2023/base-numascan/real").simulated.unwrap() / 61.507 - 1.0).abs() < 0.003);
    assert_eq!(cell("disjoint-vma-2023/base+fix/numa_pte_updates").simulated, Some(500.0));
    // A counter that the backend does not have is no figure, and not 0.
    assert_eq!(cell("disjoint-vma-2023/base/numa_hint_faults").simulated, None);

    let runs = mock.runs.load(Ordering::Relaxed);
    // Two runs in each of at most three steps, and two in each column.
    assert!(runs <= 3 * 2 + 6, "{runs} runs");
    let again = work.block(block, &run).unwrap();
    assert_eq!(mock.runs.load(Ordering::Relaxed), runs, "search and runs are read back from their records");
    assert_eq!(again.cells, done.cells);
}

/// A row of a catalog table that says what was derived from it gives cells of that role, with the reason.
#[test]
fn cells_of_a_derived_row_are_derived_and_not_counted() {
    let context = Context::new(None).unwrap();
    let file = context.catalog.get(Kind::Published, "numa-core-autonuma-2012").unwrap();
    let published = published::parse(&file.label, &file.text).unwrap();
    let mock = Mock::default();
    let progress = Progress::new(0);
    let executor = Executor { backend: &mock, jobs: 1, progress: &progress };
    let work = work(&context, &published, PathBuf::new(), executor);
    let block = &published.blocks[0];
    // Every simulated figure is the published one.
    let cells = work.cells(block, None, &|i, row| Some(row.values[i]));
    let derived: Vec<&Cell> = cells.iter().filter(|c| c.role == Role::Derived).collect();
    assert!(derived.len() == 3 && derived.iter().all(|c| c.id.ends_with("/System NUMA01") && !c.derived.is_empty()));
    assert!(cells.iter().all(|c| (c.role == Role::Derived) != c.derived.is_empty()));
    let s = score(&cells);
    assert_eq!((s.derived, s.predicted, s.within_1_25), (2, 6, 6), "four rows in two columns, one of them derived");
}

/// A repeated measurement takes the place of the simulated value. Its ratio refers to the baseline of the same
/// measurement. Columns and rows without one are left out.
#[test]
fn a_repeat_is_a_list_of_cells_like_those_simulated() {
    let context = Context::new(None).unwrap();
    let published = published(&context);
    let cell = |column: &str, value: f64| Cell {
        id: format!("disjoint-vma-2023/{column}/real"),
        group: "numa01_THREAD_ALLOC".into(),
        metric: "elapsed".into(),
        figure: numalab_report::trust::FigureKind::Elapsed,
        kernel: column.into(),
        published: Some(value),
        simulated: Some(70.0),
        published_ratio: Some(value / 61.507),
        simulated_ratio: Some(1.0),
        role: Role::Predicted,
        derived: String::new(),
        band: None,
        baseline: column == "base-numascan",
        note: String::new(),
    };
    let mut cells = vec![cell("base-numascan", 61.507), cell("base", 83.259), cell("base+fix", 60.0)];
    // A row with the same name in another group is not mixed up with this one.
    cells.insert(0, Cell { group: "NUMA01".into(), ..cell("base", 1.0) });
    let list = repeated::repeats(&published, &cells);
    assert_eq!(list.len(), published.repeats.len());
    let rfc = &list[0];
    assert_eq!(rfc.simulated, cells[1..3]);
    let again: Vec<_> = rfc.again.iter().map(|c| (c.published, c.simulated, c.simulated_ratio)).collect();
    let want = [(61.507, 63.025), (83.259, 84.163)].map(|(p, s)| (Some(p), Some(s), Some(s / 63.025)));
    assert_eq!(again, want);
    assert!(list[2].again.is_empty(), "that run has no row of this group");
}

#[test]
fn a_score_below_the_expected_one_is_a_finding() {
    let context = Context::new(None).unwrap();
    let mut published = published(&context);
    let cells = [Cell {
        id: "disjoint-vma-2023/base/real".into(),
        group: "numa01".into(),
        kernel: "base".into(),
        metric: "elapsed".into(),
        figure: numalab_report::trust::FigureKind::Elapsed,
        published: Some(80.0),
        simulated: None,
        published_ratio: Some(1.3),
        simulated_ratio: None,
        role: Role::Predicted,
        derived: String::new(),
        band: None,
        baseline: false,
        note: String::new(),
    }];
    published.expect =
        Some(published::Expect { direction_right: 1, within_1_25: 0, within_2: 0, in_band: 0, runs: None });
    let worse = Some("worse than the file expects: direction right 0 of 1\n".to_string());
    for (iterations, want) in [(None, &worse), (Some(7), &worse), (Some(6), &None)] {
        assert_eq!(&regression(&published, iterations, &cells), want, "{iterations:?} of 7 runs");
    }
    published.expect = None;
    assert_eq!(regression(&published, None, &cells), None);
}

#[test]
fn an_incomplete_run_ends_the_search() {
    let context = Context::new(None).unwrap();
    let published = published(&context);
    for (status, exit, why) in [
        (Status::Timeout, Exit::TIMEOUT, "reached its limit of time"),
        (Status::Failed("no memory".into()), Exit::FINDING, "failed (no memory)"),
    ] {
        // The run has an elapsed time, with which the search could go on.
        let mock = Mock { status, ..Mock::default() };
        let dir = tempfile::tempdir().unwrap();
        let progress = Progress::new(0);
        let executor = Executor { backend: &mock, jobs: 1, progress: &progress };
        let work = work(&context, &published, dir.path().join("r"), executor);
        let run = BlockRun { iterations: 1, ..published.blocks[0].run.clone().unwrap() };
        let failure = work.block(&published.blocks[0], &run).err().unwrap();
        assert_eq!(failure.exit, exit);
        let want = format!("6.4-rc2-numascan seed 1 {why}, so nothing tells how long that work takes");
        assert!(failure.message.starts_with("calibration: numa01_THREAD_ALLOC: loops = "), "{}", failure.message);
        assert!(failure.message.contains(&want), "{}", failure.message);
        assert_eq!(mock.runs.load(Ordering::Relaxed), 1, "the search ends there");
    }
}

#[test]
fn a_target_out_of_reach_is_a_finding() {
    let context = Context::new(None).unwrap();
    let published = published(&context);
    let mock = Mock { factors: vec![("6.4-rc2-numascan", 1e9)], ..Mock::default() };
    let dir = tempfile::tempdir().unwrap();
    let progress = Progress::new(0);
    let executor = Executor { backend: &mock, jobs: 1, progress: &progress };
    let work = work(&context, &published, dir.path().join("r"), executor);
    let run = published.blocks[0].run.clone().unwrap();
    let failure = work.block(&published.blocks[0], &run).err().unwrap();
    assert_eq!(failure.exit, Exit::FINDING);
    assert!(failure.message.contains("calibration: no count from 1 to 1000000 gives 61.507 s"), "{}", failure.message);
}

/// A published elapsed time is the model time of a run, without what else was measured with it.
#[test]
fn runs_last_about_as_long_as_the_table_says() {
    let context = Context::new(None).unwrap();
    let published = published(&context);
    let (mock, progress) = (Mock::default(), Progress::new(0));
    let executor = Executor { backend: &mock, jobs: 1, progress: &progress };
    let work = work(&context, &published, PathBuf::from("r"), executor);
    let blocks: Vec<_> = published.blocks[..2].iter().map(|b| (b, b.run.clone().unwrap())).collect();
    let ahead = work.runs_of(&blocks).unwrap();
    let lasts = |list: &[(Run, Option<f64>)]| list.iter().map(|r| r.1.unwrap()).collect::<Vec<_>>();
    let own = lasts(&ahead[0].parts[0].1);
    assert_eq!(own, [61.507, 61.507, 61.507, 83.259, 83.259, 83.259, 62.632, 62.632, 62.632]);
    assert_eq!(lasts(&ahead[0].search), vec![61.507; 3 * ahead::CALIBRATION_STEPS]);
    // `elapsed_s + 1.02`: the program was compiled meanwhile.
    assert!((lasts(&ahead[1].parts[0].1)[0] - (320.92 - 1.02)).abs() < 1e-9 && ahead[1].search.is_empty());
}

#[test]
fn the_seeds_are_said_and_whether_they_are_those_of_the_score() {
    let context = Context::new(None).unwrap();
    let published = published(&context);
    let blocks = |iterations| {
        let run = |b: &Block| BlockRun { iterations, ..b.run.clone().unwrap() };
        published.blocks[..2].iter().map(|b| (b, run(b))).collect::<Vec<_>>()
    };
    let two = ahead::seeds(&blocks(2), Some(2));
    assert_eq!(
        two,
        "Each column has 2 runs (seeds 1 to 2): the runs that were scored for docs/explanation/trust.md.\n"
    );
    let one = ahead::seeds(&blocks(1), Some(2));
    assert!(one.starts_with("Each column has 1 run (seed 1). The scores of docs/explanation/trust.md are of 2 runs"));
    assert_eq!(ahead::seeds(&blocks(3), None), "Each column has 3 runs (seeds 1 to 3).\n");
}
