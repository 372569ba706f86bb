//! The daemon on a tree of files, with hands that remember what was asked.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::procfs::scope::Scope;
use crate::procfs::Roots;
use crate::watch::tests_support::Tree;
use numalab_kernel::userspace_balance::{Action, Hold};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// First address of the only mapping of a process.
const START: u64 = 0x7f00_0000;
/// Pages of the mapping.
pub(super) const PAGES: u64 = 3000;
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Node of each page by address.
    nodes: BTreeMap<u64, i32>,
    pub(super) affinities: Vec<(u32, Vec<u32>)>,
    /// No affinity may be changed.
    pub(super) denied: bool,
    /// Pages that another process maps too.
    shared: bool,
    moves: u64,
}

#[derive(Clone)]
pub(super) struct Mock {
    pub(super) done: Arc<Mutex<Done>>,
    roots: Roots,
}

impl Hands for Mock {
    fn page_nodes(&mut self, _pid: u32, pages: &[u64], nodes: &mut Vec<i32>) -> io::Result<()> {
        let done = self.done.lock().unwrap();
        *nodes = pages.iter().map(|p| done.nodes.get(p).copied().unwrap_or(-libc::ENOENT)).collect();
        Ok(())
    }
    fn move_pages(&mut self, _pid: u32, pages: &[u64], node: u32, status: &mut Vec<i32>) -> io::Result<()> {
        let mut done = self.done.lock().unwrap();
        done.moves += pages.len() as u64;
        status.clear();
        for page in pages {
            let refused = done.shared;
            if !refused {
                done.nodes.insert(*page, node as i32);
            }
            status.push(if refused { -libc::EACCES } else { node as i32 });
        }
        Ok(())
    }
    fn set_affinity(&mut self, tid: u32, cpus: &[u32]) -> io::Result<()> {
        if self.done.lock().unwrap().denied {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let list = numalab_model::machine::cpulist::format(cpus);
        for pid in crate::procfs::numbers_in(&self.roots.proc) {
            let file = self.roots.task(pid, tid).join("status");
            if file.exists() {
                std::fs::write(file, status(&list)).unwrap();
            }
        }
        self.done.lock().unwrap().affinities.push((tid, cpus.to_vec()));
        Ok(())
    }
}

pub(super) fn status(cpus: &str) -> String {
    format!("Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n")
}

/// Two processes on two nodes of two CPUs: one whose thread runs on node 1 and whose memory is on node 0, and one that
/// fills node 0.
pub(super) struct World {
    pub(super) tree: Tree,
    pub(super) mock: Mock,
    ticks: u64,
    lines: Arc<Mutex<Vec<u8>>>,
    policy: &'static str,
    mapmax: &'static str,
    cpus: &'static str,
}

struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl World {
    pub(super) fn new() -> Self {
        let tree = Tree::new();
        tree.proc("sys/kernel/numa_balancing", "0\n");
        for node in 0..2 {
            let cpus = if node == 0 { "0-1\n" } else { "2-3\n" };
            tree.sys(&format!("devices/system/node/node{node}/cpulist"), cpus);
        }
        let mock = Mock { done: Arc::default(), roots: tree.roots.clone() };
        mock.done.lock().unwrap().nodes = (0..PAGES).map(|i| (START + i * 4096, 0)).collect();
        let mut world =
            Self { tree, mock, ticks: 0, lines: Arc::default(), policy: "default", mapmax: "", cpus: "0-3" };
        for tid in [7, 8, 9] {
            world.tree.proc(&format!("{tid}/task/{tid}/status"), &status("0-3"));
        }
        world.step();
        world
    }

    /// A second passes: every thread runs all of it.
    pub(super) fn step(&mut self) {
        self.ticks += 100;
        let nodes = self.mock.done.lock().unwrap().nodes.values().fold([0u64; 2], |mut sum, n| {
            sum[*n as usize] += 1;
            sum
        });
        // A thread runs on the last CPU that it may use, or on CPU 3.
        let cpu = |tid: u32| {
            let path = self.tree.roots.task(tid, tid).join("status");
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let may = crate::procfs::status::Status::parse(&text).cpus_allowed;
            may.last().copied().unwrap_or(3)
        };
        let places = [(7, cpu(7).max(2)), (8, 0), (9, 1)];
        for (pid, on) in places {
            self.tree.process(pid, "p", &[(pid, self.ticks, on)], "N0=1");
            let maps = format!("{START:x}-{:x} rw-p 00000000 00:00 0 \n", START + PAGES * 4096);
            self.tree.proc(&format!("{pid}/maps"), if pid == 7 { &maps } else { "" });
            self.tree.proc(&format!("{pid}/status"), &status("0-3"));
        }
        let line = format!(
            "{START:x} {} anon=9 {} N0={} N1={} kernelpagesize_kB=4\n",
            self.policy, self.mapmax, nodes[0], nodes[1]
        );
        self.tree.proc("7/numa_maps", &line);
        if self.cpus != "0-3" {
            self.tree.proc("7/task/7/status", &status(self.cpus));
        }
    }

    pub(super) fn options(&self, dir: &Path) -> Options {
        Options {
            scope: Scope::All,
            every: SECOND,
            rate_bytes_per_s: 1e12,
            cpu_share: 1000.0,
            dry_run: false,
            sampler: None,
            state: dir.join("state.json"),
        }
    }

    pub(super) fn daemon(&self, options: Options) -> Result<Daemon, Halt> {
        let log = Log::new(Box::new(Shared(Arc::clone(&self.lines))), false);
        Daemon::start(self.tree.roots.clone(), options, Box::new(self.mock.clone()), log)
    }

    pub(super) fn looks(&mut self, daemon: &mut Daemon, looks: usize) {
        for _ in 0..looks {
            daemon.look_after(SECOND).unwrap();
            self.step();
        }
    }

    pub(super) fn on_node_1(&self) -> u64 {
        self.mock.done.lock().unwrap().nodes.values().filter(|n| **n == 1).count() as u64
    }

    pub(super) fn log(&self) -> String {
        String::from_utf8(self.lines.lock().unwrap().clone()).unwrap()
    }
}

#[test]
fn memory_follows_its_thread_and_the_log_says_why() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    w.looks(&mut d, 4);
    assert_eq!(w.on_node_1(), PAGES);
    let log = w.log();
    assert!(
        log.contains("moved 3000 pages of p[7] at 7f000000 from node 0 to 1: no thread of the process runs"),
        "{log}"
    );
    let metrics = d.metrics().lock().unwrap().clone();
    assert_eq!((metrics.pages_moved[&(0, 1)], metrics.looks), (PAGES, 4));
    assert_eq!(metrics.local_share, 1.0, "{metrics:?}");
}

/// A process that writes a few pages of its memory: with soft-dirty bits only those move.
#[test]
fn only_pages_in_use_move_where_use_is_sampled() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    let asked = Options { sampler: Some("soft-dirty".into()), ..w.options(dir.path()) };
    assert!(matches!(w.daemon(asked.clone()), Err(Halt::Sampler(why)) if why.starts_with("--sampler soft-dirty: ")));
    w.tree.proc("self/maps", "10000-20000 rw-p 00000000 00:00 0    [stack]\n");
    let write = |file: &str, page: u64, word: u64| {
        let path = w.tree.roots.proc.join(file);
        let file = std::fs::File::options().create(true).truncate(false).write(true).open(path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &word.to_ne_bytes(), page * 8).unwrap();
    };
    write("self/pagemap", 0x1f, 1 << 63 | 1 << 55);
    for page in 0..PAGES {
        let is_written = (1200..1300).contains(&page);
        write("7/pagemap", START / 4096 + page, 1 << 63 | u64::from(is_written) << 55);
    }
    w.tree.proc("7/clear_refs", "");
    let mut d = w.daemon(asked).unwrap();
    w.looks(&mut d, 5);
    assert_eq!(w.on_node_1(), 100, "{}", w.log());
    assert!((1200..1300).all(|page| w.mock.done.lock().unwrap().nodes[&(START + page * 4096)] == 1));
    assert_eq!(d.metrics().lock().unwrap().local_share, 1.0, "what nobody uses does not count");
    let log = w.log();
    assert!(log.contains("sampler soft-dirty: sees which pages are written"), "{log}");
    assert!(log.contains("not sampler damon: --sampler asks for soft-dirty"), "{log}");
}

#[test]
fn names_of_other_programs_cannot_hide_in_the_log() {
    let name = "a\u{202e}b\u{200b}\n";
    for json in [false, true] {
        let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
        w.tree.process(7, name, &[(7, 100, 3)], "N0=1");
        let log = Log::new(Box::new(Shared(Arc::clone(&w.lines))), json);
        let hands = Box::new(w.mock.clone());
        let dry = Options { dry_run: true, ..w.options(dir.path()) };
        let mut d = Daemon::start(w.tree.roots.clone(), dry, hands, log).unwrap();
        for ticks in [200, 300, 400] {
            d.look_after(SECOND).unwrap();
            w.tree.process(7, name, &[(7, ticks, 3)], "N0=1");
            w.tree.proc("7/numa_maps", &format!("{START:x} default anon=9 N0={PAGES} kernelpagesize_kB=4\n"));
            w.tree.proc("7/maps", &format!("{START:x}-{:x} rw-p 00000000 00:00 0 \n", START + PAGES * 4096));
        }
        let text = w.log();
        let shown = if json { r"a\\u{202e}b\\u{200b}\\u{a}" } else { r"a\u{202e}b\u{200b}\u{a}[7]" };
        assert!(text.contains(shown), "{text}");
        assert!(!text.contains(['\u{202e}', '\u{200b}']), "{text}");
    }
}

#[test]
fn the_rate_limit_holds() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    let limited = Options { rate_bytes_per_s: 500.0 * 4096.0, ..w.options(dir.path()) };
    let mut d = w.daemon(limited).unwrap();
    w.looks(&mut d, 2);
    let before = w.on_node_1();
    w.looks(&mut d, 3);
    assert!(before <= 1000 && w.on_node_1() - before == 1500, "{before} and {}", w.on_node_1());
}

#[test]
fn a_dry_run_touches_nothing() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    w.tree.proc("sys/kernel/numa_balancing", "1\n");
    let mut d = w.daemon(Options { dry_run: true, ..w.options(dir.path()) }).unwrap();
    w.looks(&mut d, 4);
    assert_eq!((w.on_node_1(), w.mock.done.lock().unwrap().moves), (0, 0));
    assert!(w.log().contains("would move 3000 pages of p[7]"), "{}", w.log());
}

#[test]
fn what_is_pinned_or_has_a_policy_or_is_shared_is_left_alone() {
    type Change = fn(&mut World);
    let cases: [(Change, Hold); 3] = [
        (|w| w.cpus = "3", Hold::Pinned),
        (|w| w.policy = "bind:0", Hold::OwnPolicy),
        (|w| w.mapmax = "mapmax=9", Hold::SharedCow),
    ];
    for (change, hold) in cases {
        let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
        change(&mut w);
        w.step();
        let mut d = w.daemon(w.options(dir.path())).unwrap();
        let mut moved = Vec::new();
        for _ in 0..5 {
            let verdict = d.look_after(SECOND).unwrap();
            moved.extend(verdict.decisions.into_iter().filter(|d| matches!(d.action, Action::MovePages { .. })));
            w.step();
        }
        assert_eq!((w.mock.done.lock().unwrap().moves, moved.len()), (0, 0), "{hold:?}");
        // Threads may go to memory that must stay. Of a pinned process nothing moves.
        if hold == Hold::Pinned {
            assert_eq!(w.mock.done.lock().unwrap().affinities, [], "{hold:?}");
            assert!(w.log().contains("left p[7] alone, 1 of its threads are pinned"), "{}", w.log());
        }
    }
}

#[test]
fn the_kernel_is_not_fought() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    w.tree.proc("sys/kernel/numa_balancing", "1\n");
    let Err(Halt::KernelBalances(why)) = w.daemon(w.options(dir.path())) else { panic!("it started") };
    assert!(why.contains("kernel.numa_balancing is 1") && why.contains("--dry-run"), "{why}");
    w.tree.proc("sys/kernel/numa_balancing", "0\n");
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    w.tree.proc("sys/kernel/numa_balancing", "1\n");
    w.looks(&mut d, 4);
    assert_eq!(w.mock.done.lock().unwrap().moves, 0);
    assert_eq!(w.log().matches("has become 1").count(), 1, "{}", w.log());
}

#[test]
fn pages_that_the_kernel_refuses_are_counted() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    w.mock.done.lock().unwrap().shared = true;
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    w.looks(&mut d, 3);
    assert!(w.log().contains("moved 0 pages") && w.log().contains("(3000 refused)"), "{}", w.log());
    w.looks(&mut d, 3);
    assert_eq!(w.mock.done.lock().unwrap().moves, PAGES, "they are not tried again soon");
}

/// Threads that an earlier daemon left pinned, one of which somebody else has pinned again since, and a child that has
/// inherited.
#[test]
fn a_restart_undoes_what_a_crash_left_behind() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    w.tree.proc("7/task/7/status", &status("2-3"));
    w.tree.proc("8/task/8/status", &status("1"));
    // Process 9 is a child of process 7.
    let child = std::fs::read_to_string(w.tree.roots.process(9).join("stat")).unwrap().replace(" S 1 ", " S 7 ");
    w.tree.proc("9/stat", &child);
    w.tree.proc("9/task/9/status", &status("2-3"));
    let entry =
        |tid: u32| format!(r#"{{"pid":{tid},"tid":{tid},"start":{},"before":[0,1,2,3],"set":[2,3]}}"#, 1000 + tid);
    let state = format!(r#"{{"format":"numalab balance state 1","entries":[{},{}]}}"#, entry(7), entry(8));
    std::fs::write(dir.path().join("state.json"), state).unwrap();
    let d = w.daemon(w.options(dir.path())).unwrap();
    let mut undone = w.mock.done.lock().unwrap().affinities.clone();
    undone.sort();
    assert_eq!(undone, [(7, vec![0, 1, 2, 3]), (9, vec![0, 1, 2, 3])], "{}", w.log());
    assert!(!dir.path().join("state.json").exists());
    assert!(w.log().contains("thread 7 may run on CPUs 0-3 again"), "{}", w.log());
    drop(d);
}

/// What a killed daemon left is put back without a daemon, also while the kernel balances; the second time nothing is
/// left, and nothing is made.
#[test]
fn what_a_killed_daemon_left_is_put_back_without_another_daemon() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    w.tree.proc("sys/kernel/numa_balancing", "1\n");
    w.tree.proc("7/task/7/status", &status("2-3"));
    w.tree.proc("8/task/8/status", &status("1"));
    let entry = r#"{"pid":7,"tid":7,"start":1007,"before":[0,1,2,3],"set":[2,3]}"#;
    let state = format!(r#"{{"format":"numalab balance state 1","entries":[{entry}]}}"#);
    std::fs::write(dir.path().join("state.json"), state).unwrap();
    let undo = || {
        let log = Log::new(Box::new(Shared(Arc::clone(&w.lines))), false);
        Daemon::undo_left(w.tree.roots.clone(), w.options(dir.path()), Box::new(w.mock.clone()), log).unwrap()
    };
    assert_eq!((undo(), undo()), (1, 0));
    assert_eq!(w.mock.done.lock().unwrap().affinities, [(7, vec![0, 1, 2, 3])], "{}", w.log());
    assert!(!dir.path().join("state.json").exists());
    let empty = tempfile::tempdir().unwrap();
    let none = w.options(&empty.path().join("absent"));
    let log = Log::new(Box::new(Shared(Arc::clone(&w.lines))), false);
    let left = Daemon::undo_left(w.tree.roots.clone(), none, Box::new(w.mock.clone()), log);
    assert_eq!(left.unwrap(), 0);
    assert!(!empty.path().join("absent").exists());
}

/// Every file of a tree with its contents, mode and time of change.
fn snapshot(dir: &Path) -> BTreeMap<std::path::PathBuf, (Vec<u8>, u32, i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    let (mut out, mut dirs) = (BTreeMap::new(), vec![dir.to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let bytes = if meta.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap() };
            if meta.is_dir() {
                dirs.push(path.clone());
            }
            out.insert(path, (bytes, meta.mode(), meta.ctime(), meta.ctime_nsec()));
        }
    }
    out
}

/// Takes the right to write away from all files below a folder, or gives it back.
fn writable(dir: &Path, may: bool) {
    use std::os::unix::fs::PermissionsExt;
    for path in snapshot(dir).keys().chain([&dir.to_path_buf()]) {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        let mode = if may { mode | 0o200 } else { mode & !0o222 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// A kdamond of the system that reclaims memory: it has no targets, and does not count.
fn with_reclaimer(w: &World) {
    let at = "kernel/mm/damon/admin/kdamonds";
    w.tree.sys(&format!("{at}/nr_kdamonds"), "1\n");
    w.tree.sys(&format!("{at}/0/state"), "on\n");
    w.tree.sys(&format!("{at}/0/contexts/nr_contexts"), "1\n");
    w.tree.sys(&format!("{at}/0/contexts/0/operations"), "paddr\n");
    w.tree.sys(&format!("{at}/0/contexts/0/targets/nr_targets"), "0\n");
}

/// The record of a daemon that crashed while it had pinned thread 7 and let kdamonds watch process 7.
const STALE: &str = r#"{"format":"numalab balance state 1","entries":[{"pid":7,"tid":7,"start":1007,"before":[0,1,2,3],"set":[2,3]}],"damon":[7]}"#;

#[test]
fn a_dry_run_says_what_it_would_undo_and_changes_nothing() {
    for read_only in [false, true] {
        let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
        w.tree.proc("7/task/7/status", &status("2-3"));
        w.tree.proc("7/clear_refs", "");
        with_reclaimer(&w);
        std::fs::write(dir.path().join("state.json"), STALE).unwrap();
        let parts = [w.tree.roots.proc.clone(), w.tree.roots.sys.clone(), dir.path().to_path_buf()];
        if read_only {
            parts.iter().for_each(|p| writable(p, false));
        }
        let before = parts.clone().map(|p| snapshot(&p));
        let mut d = w.daemon(Options { dry_run: true, ..w.options(dir.path()) }).unwrap();
        d.look_after(SECOND).unwrap();
        d.look_after(SECOND).unwrap();
        d.end("the test ends");
        drop(d);
        assert_eq!(parts.clone().map(|p| snapshot(&p)), before, "read-only: {read_only}");
        parts.iter().for_each(|p| writable(p, true));
        assert_eq!(w.mock.done.lock().unwrap().affinities, []);
        let log = w.log();
        assert_eq!(log.matches("thread 7 could run on CPUs 0-3 again").count(), 1, "{log}");
        assert!(log.contains("not sampler damon: it writes to files of the kernel"), "{log}");
        assert!(
            log.contains(
                "has 1 kdamonds, but the 1 here are set up otherwise: they stay, and the record of them would be"
            ),
            "{log}"
        );
    }
}

#[test]
fn a_dry_run_makes_no_folder_for_the_state() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    let dry = Options { dry_run: true, state: dir.path().join("a/state.json"), ..w.options(dir.path()) };
    let mut d = w.daemon(dry).unwrap();
    d.look_after(SECOND).unwrap();
    d.end("the test ends");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn at_its_end_it_says_what_its_looks_came_to() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    d.run(&std::sync::atomic::AtomicBool::new(false), Duration::from_millis(1)).unwrap();
    let log = w.log();
    assert!(log.contains("1 look in ") && log.contains("the next was due in "), "{log}");
    assert!(log.contains("Nothing was moved: "), "{log}");
}

#[test]
fn a_restart_leaves_kdamonds_of_others_and_drops_the_record() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    with_reclaimer(&w);
    std::fs::write(dir.path().join("state.json"), STALE).unwrap();
    let before = snapshot(&w.tree.roots.sys);
    let d = w.daemon(w.options(dir.path())).unwrap();
    assert_eq!(snapshot(&w.tree.roots.sys), before);
    assert!(w.log().contains("they stay, and the record of them is dropped"), "{}", w.log());
    assert!(!dir.path().join("state.json").exists(), "nothing is left to undo");
    drop(d);
}

#[test]
fn a_machine_of_one_node_has_nothing_to_balance() {
    let (dir, w) = (tempfile::tempdir().unwrap(), World::new());
    w.tree.sys("devices/system/node/online", "0\n");
    assert!(matches!(w.daemon(w.options(dir.path())), Err(Halt::Machine(why)) if why.contains("one node")));
}

/// A thread whose memory may not move goes to it, and the affinity is given back at the end.
#[test]
fn affinities_are_given_back_at_the_end() {
    let (dir, mut w) = (tempfile::tempdir().unwrap(), World::new());
    // Only the process with memory is busy: node 0 has room.
    w.policy = "bind:0";
    w.step();
    for pid in [8, 9] {
        std::fs::remove_dir_all(w.tree.roots.process(pid)).unwrap();
    }
    let mut d = w.daemon(w.options(dir.path())).unwrap();
    for _ in 0..4 {
        d.look_after(SECOND).unwrap();
        w.ticks += 100;
        let line = crate::procfs::stat::tests::line(7, "p", 'R', w.ticks, 3);
        w.tree.proc("7/stat", &line);
        w.tree.proc("7/task/7/stat", &line);
    }
    assert_eq!(w.mock.done.lock().unwrap().affinities[0], (7, vec![0, 1]), "{}", w.log());
    assert!(dir.path().join("state.json").exists());
    d.undo("the test ends");
    assert_eq!(w.mock.done.lock().unwrap().affinities.last().unwrap(), &(7, vec![0, 1, 2, 3]));
    assert!(!dir.path().join("state.json").exists());
}
