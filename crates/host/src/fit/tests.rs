#![allow(clippy::unwrap_used)]
use super::*;

/// A series from its columns.
fn series(name: &str, time_s: &[f64], columns: &[(&str, &[f64])]) -> Series {
    Series {
        name: name.into(),
        unit: String::new(),
        columns: columns.iter().map(|c| c.0.into()).collect(),
        time_ns: time_s.iter().map(|t| (t * 1e9) as u64).collect(),
        values: columns.iter().map(|c| c.1.to_vec()).collect(),
    }
}

const TIME: [f64; 7] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

/// Two processes of one name with 100 MiB each on node 0 and two threads, busy to a half after three seconds.
fn outcome() -> Outcome {
    let pages = [0.0, 25600.0, 25600.0, 20000.0, 12800.0, 12800.0, 12800.0];
    let moved = [0.0, 0.0, 0.0, 5600.0, 12800.0, 12800.0, 12800.0];
    let cpu = [0.0, 4.0, 8.0, 12.0, 14.0, 16.0, 18.0];
    let (on0, on1, idle) = ([0.0; 7], [1.0; 7], [-1.0; 7]);
    Outcome {
        series: vec![
            series(
                "process_pages",
                &TIME,
                &[("db.0/node0", &pages), ("db.0/node1", &moved), ("db.1/node0", &pages), ("db.1/node1", &moved)],
            ),
            series(
                "task_node",
                &TIME,
                &[("db.0/t0", &on0), ("db.0/t1", &on1), ("db.0/t2", &idle), ("db.1/t0", &on0), ("db.1/t1", &on1)],
            ),
            series("cpu_time", &TIME, &[("user", &cpu), ("system", &[0.0; 7]), ("blocked", &[9.0; 7])]),
            series("dram_bandwidth", &TIME, &[("dram/node0", &[3.0; 7]), ("dram/node1", &[0.0; 7])]),
        ],
        ..Outcome::default()
    }
}

#[test]
fn sizes_places_threads_and_phases_are_those_of_the_record() {
    let f = fit("my db", &outcome()).unwrap();
    let db = &f.processes[0];
    assert_eq!((f.processes.len(), db.count, db.bytes >> 20, db.threads), (1, 2, 100, 2));
    assert_eq!(db.start, [1.0, 0.0], "memory starts on node 0, wherever it goes later");
    assert_eq!(f.phases, [Phase { seconds: 3.0, busy: 1.0 }, Phase { seconds: 3.0, busy: 0.5 }]);
    assert!((f.bytes_per_cpu_s - 1e9).abs() < 1e6, "18 GB in 18 CPU seconds: {}", f.bytes_per_cpu_s);
    assert_eq!(f.assumed.len(), 1, "only sharing is not shown: {:?}", f.assumed);
}

#[test]
fn hinting_faults_tell_what_is_shared() {
    let with = |local: f64| {
        let mut outcome = outcome();
        // One process, so that an even spread means half of the faults.
        outcome.series[0].columns.truncate(2);
        outcome.series[0].values.truncate(2);
        let all: Vec<f64> = TIME.iter().map(|t| t * 10_000.0).collect();
        let local: Vec<f64> = all.iter().map(|n| n * local).collect();
        outcome.series.push(series(
            "numa_activity",
            &TIME,
            &[("numa_hint_faults", &all), ("numa_hint_faults_local", &local)],
        ));
        fit("x", &outcome).unwrap().shared
    };
    assert!(with(1.0) < 0.01);
    assert!((with(0.75) - 0.5).abs() < 0.01);
    assert!(with(0.4) > 0.99);
}

#[test]
fn short_phases_join_the_one_they_are_like() {
    let mut outcome = outcome();
    // A dip of a tenth of a second.
    let time = [0.0, 2.0, 2.1, 6.0];
    outcome.series[2] = series("cpu_time", &time, &[("user", &[0.0, 8.0, 8.0, 23.6])]);
    assert_eq!(fit("x", &outcome).unwrap().phases.len(), 1);
}

#[test]
fn what_is_not_in_the_record_is_named() {
    let mut outcome = outcome();
    outcome.series.truncate(1);
    let f = fit("x", &outcome).unwrap();
    assert_eq!(f.assumed.len(), 3, "{:?}", f.assumed);
    outcome.series[0].time_ns.truncate(2);
    assert_eq!(fit("x", &outcome), Err(FitError::TooShort(2)));
    outcome.series.clear();
    assert_eq!(fit("x", &outcome), Err(FitError::NoSeries));
}

#[test]
fn the_workload_names_its_record_and_what_was_assumed() {
    let toml = fit("my db", &outcome()).unwrap().to_toml("record 1234");
    for part in
        ["name = \"fit-my_db\"", "source = \"record 1234\"", "memory_db", "\"100MiB\"", "count = 2", "Assumed: half"]
    {
        assert!(toml.contains(part), "{part} in {toml}");
    }
}

/// As `numalab record` names what it sees: ids of processes and threads.
#[test]
fn names_of_a_recording_become_those_of_the_workload() {
    let mut recorded = outcome();
    let ids = [("db.0/t0", "my db.410/t410"), ("db.0/t1", "my db.410/t417"), ("db.0/t2", "my db.410/t411")];
    let ids = ids.into_iter().chain([("db.1/t0", "my db.77/t77"), ("db.1/t1", "my db.77/t79")]);
    let ids: Vec<(&str, &str)> = ids.collect();
    for series in &mut recorded.series {
        for column in &mut series.columns {
            if let Some((_, new)) = ids.iter().find(|(old, _)| old == column) {
                *column = (*new).into();
            }
            *column = column.replace("db.0/", "my db.410/").replace("db.1/", "my db.77/");
        }
    }
    recorded.series[0].name = "node_pages".into();
    recorded.series.push(series("local_share", &TIME, &[("my db.77", &[1.0; 7]), ("others", &[1.0; 7])]));
    let new = aligned(&recorded);
    let columns = |name: &str| find(&new, name).unwrap().columns.join(" ");
    assert_eq!(columns("process_pages"), "my_db.0/node0 my_db.0/node1 my_db.1/node0 my_db.1/node1");
    // Thread 411 has not run: it comes last, and does not count.
    assert_eq!(columns("task_node"), "my_db.0/t0 my_db.0/t1 my_db.0/t2 my_db.1/t0 my_db.1/t1");
    assert_eq!(columns("local_share"), "my_db.1 others");
    assert_eq!(columns("cpu_time"), "user system blocked");
    let f = fit("my db", &new).unwrap();
    assert_eq!((f.processes[0].name.as_str(), f.processes[0].count, f.processes[0].threads), ("my_db", 2, 2));
}
