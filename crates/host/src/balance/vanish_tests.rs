//! What vanishes between two looks: processes, groups, nodes, files that cannot be read for a moment.
#![allow(clippy::unwrap_used)]

use super::super::tests::{status, World, PAGES, SECOND};
use super::*;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A process that ends file by file: the daemon goes on, and keeps nothing of it.
#[test]
fn a_process_that_vanishes_file_by_file_is_left_and_forgotten() {
    for file in ["stat", "status", "maps", "numa_maps", "task", "task/7/stat", "task/7/status", ""] {
        let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
        let mut d = w.daemon(w.options(dir.path())).unwrap();
        w.looks(&mut d, 1);
        let gone = w.tree.roots.process(7).join(file);
        if gone.is_dir() { std::fs::remove_dir_all(gone) } else { std::fs::remove_file(gone) }.unwrap();
        d.look_after(SECOND).unwrap();
        let _ = std::fs::remove_dir_all(w.tree.roots.process(7));
        d.look_after(SECOND).unwrap();
        d.end("the test ends");
        assert!(!dir.path().join("state.json").exists(), "{file}");
        assert!(!d.name(8).is_empty() && d.name(7).is_empty(), "{file}");
    }
}

/// The daemon ends with the place of the group, after it has put back what it changed.
#[test]
fn a_group_that_goes_ends_the_daemon_and_undoes_its_changes() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    w.tree.sys("fs/cgroup/g/cgroup.procs", "7\n8\n9\n");
    let set = Options { scope: Scope::Cgroup("g".into()), ..w.options(dir.path()) };
    let mut d = w.daemon(set).unwrap();
    w.looks(&mut d, 1);
    let entry = Entry { pid: 7, tid: 7, start: 1007, before: vec![0, 1, 2, 3], set: vec![2, 3] };
    d.state.add(entry).unwrap();
    w.tree.proc("7/task/7/status", &status("2-3"));
    std::fs::remove_dir_all(w.tree.roots.sys.join("fs/cgroup/g")).unwrap();
    let why = d.run(&AtomicBool::new(false), Duration::from_secs(60)).unwrap_err();
    assert!(why.contains("fs/cgroup/g/cgroup.procs"), "{why}");
    assert_eq!(w.mock.done.lock().unwrap().affinities.last().unwrap(), &(7, vec![0, 1, 2, 3]));
    assert!(!dir.path().join("state.json").exists());
}

/// Adds a third node to the machine.
fn third_node(w: &World) {
    w.tree.sys("devices/system/node/node2/cpulist", "4-5\n");
    w.tree.sys("devices/system/node/node2/meminfo", "Node 2 MemTotal: 1048576 kB\nNode 2 MemFree: 524288 kB\n");
    w.tree.sys("devices/system/node/online", "0-2\n");
}

/// With a node less the daemon begins anew, and ends once there is nothing to balance.
#[test]
fn nodes_that_go_offline_are_followed_until_one_is_left() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    third_node(&w);
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    w.looks(&mut d, 1);
    let nodes = w.tree.roots.sys.join("devices/system/node");
    std::fs::remove_dir_all(nodes.join("node2")).unwrap();
    w.looks(&mut d, 1);
    assert_eq!(d.shape.ids, [0, 1, 2], "what cannot be read now has not changed");
    w.tree.sys("devices/system/node/online", "0-1\n");
    w.looks(&mut d, 4);
    assert_eq!((d.shape.ids.as_slice(), w.on_node_1()), (&[0, 1][..], PAGES), "{}", w.log());
    assert_eq!(w.log().matches("everything begins anew").count(), 1, "{}", w.log());
    std::fs::remove_dir_all(nodes.join("node1")).unwrap();
    w.tree.sys("devices/system/node/online", "0\n");
    assert!(d.look_after(SECOND).unwrap_err().contains("one node with CPUs now"));
}

/// A list of nodes that is cut off for a moment changes nothing.
#[test]
fn a_list_of_nodes_that_cannot_be_read_for_a_look_changes_nothing() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    for text in ["", "0-", "0-1\n"] {
        w.tree.sys("devices/system/node/online", text);
        w.looks(&mut d, 1);
    }
    w.looks(&mut d, 3);
    assert_eq!(w.on_node_1(), PAGES, "{}", w.log());
    assert!(!w.log().contains("begins anew"), "{}", w.log());
}

/// CPU time since boot is not taken for that of one look, when `/proc/stat` or a CPU was away for a look.
#[test]
fn a_cpu_that_comes_back_has_no_load_of_hours() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    let all = "cpu  9 0 0 0\ncpu0 500000 0 0 0\ncpu1 500000 0 0 0\ncpu2 500000 0 0 0\ncpu3 500000 0 0 0\n";
    for text in [all, "", all, "cpu0 500000 0 0 0\n", all] {
        w.tree.proc("stat", text);
        let look = d.survey.look(&d.shape, &d.state, SECOND).unwrap();
        assert!(look.nodes.iter().all(|n| n.busy_elsewhere == 0), "{text:?}: {:?}", look.nodes);
    }
}

/// A thread whose file cannot be read for a look, or that cannot be given its CPUs now, stays in the state.
#[test]
fn an_affinity_is_given_back_although_a_look_could_not_read_the_thread() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    let entry = Entry { pid: 7, tid: 7, start: 1007, before: vec![0, 1, 2, 3], set: vec![2, 3] };
    d.state.add(entry.clone()).unwrap();
    w.tree.proc("7/task/7/status", &status("2-3"));
    let line = std::fs::read_to_string(w.tree.roots.task(7, 7).join("stat")).unwrap();
    for cut in ["", "7 (p"] {
        w.tree.proc("7/task/7/stat", cut);
        d.look_after(SECOND).unwrap();
        assert_eq!(d.state.entries(), std::slice::from_ref(&entry), "{cut:?}");
    }
    w.tree.proc("7/task/7/stat", &line);
    w.mock.done.lock().unwrap().denied = true;
    d.undo("the test");
    assert!(w.log().contains("thread 7 keeps its CPUs until the next start"), "{}", w.log());
    drop(d);
    w.mock.done.lock().unwrap().denied = false;
    let _d = w.daemon(w.options(dir.path())).unwrap();
    assert_eq!(w.mock.done.lock().unwrap().affinities, [(7, vec![0, 1, 2, 3])]);
    assert!(!dir.path().join("state.json").exists());
}

/// Durations come from a clock that never goes back or jumps: nothing here asks for the time of day.
#[test]
fn no_duration_comes_from_the_time_of_day() {
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    // Put together, so that this file does not name it.
    let clock = ["System", "Time"].concat();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            files += 1;
            assert!(!std::fs::read_to_string(&path).unwrap().contains(&clock), "{}", path.display());
        }
    }
    assert!(files > 50);
}
