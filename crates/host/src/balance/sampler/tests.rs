//! The list of ways, and each sampler on a tree of files.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::balance::state::State;
use crate::balance::usage::{CHUNK_BYTES, CHUNK_PAGES};
use crate::watch::tests_support::Tree;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

const BUDGET: Budget = Budget { every: Duration::from_millis(1), cpu_share: 0.01 };
/// First address of the memory of process 7.
const START: u64 = 16 * CHUNK_BYTES;

fn shape(tree: &Tree) -> Shape {
    Shape::read(&tree.roots).unwrap()
}

fn target(pages: u64) -> Target {
    Target { pid: 7, start: 1007, ranges: vec![(START, START + CHUNK_BYTES)], pages }
}

fn state(tree: &Tree) -> State {
    State::open(&tree.roots.proc.join("state/state.json")).unwrap()
}

/// Writes a word of a file of words.
fn word(path: &Path, index: u64, value: u64) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::options().create(true).truncate(false).write(true).open(path).unwrap();
    file.write_all_at(&value.to_ne_bytes(), index * 8).unwrap();
}

fn open(way: Way, tree: &Tree) -> Result<Box<dyn Sampler>, String> {
    (way.open)(&tree.roots, &shape(tree), BUDGET).map(Option::unwrap)
}

/// What samples see of the memory of process 7.
fn seen(sampler: &mut dyn Sampler) -> Option<Vec<usize>> {
    let seen = sampler.seen(&target(2000), (START, START + CHUNK_BYTES)).unwrap();
    seen.map(|s| s.pages.iter().collect())
}

#[test]
fn every_file_of_the_folder_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/balance/sampler");
    let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names.filter(|n| n != "mod.rs" && !n.ends_with("tests.rs")).collect();
    files.sort();
    let mut listed: Vec<String> = names_of_files();
    listed.sort();
    assert_eq!(files, listed);
}

fn names_of_files() -> Vec<String> {
    let file = |name: &str| if name == "procfs" { "residence".into() } else { name.replace('-', "_") };
    names().iter().map(|n| format!("{}.rs", file(n))).collect()
}

#[test]
fn the_first_that_works_is_used_and_the_others_say_why_not() {
    let tree = Tree::new();
    let from = |list, asked, dry_run| choose(&Ways { list, asked, dry_run }, &tree.roots, &shape(&tree), BUDGET);
    let choice = from(&LIST, None, false).unwrap();
    assert_eq!((choice.name, choice.sampler.is_none()), ("procfs", true));
    let why: Vec<String> = choice.others.iter().map(|(n, w)| format!("{n}: {w}")).collect();
    for (why, expected) in why.iter().zip([
        "perf: the processor has no memory samples here",
        "damon: this kernel has no DAMON",
        "idle-page: this kernel has no idle page tracking",
        "soft-dirty: it sees writes only",
    ]) {
        assert!(why.starts_with(expected), "{why}");
    }
    let asked = |name| from(&LIST, Some(name), false);
    assert_eq!(asked("procfs").unwrap().others[0].1, "--sampler asks for procfs");
    for name in ["perf", "damon", "idle-page", "soft-dirty"] {
        let why = asked(name).err().unwrap();
        assert!(why.starts_with(&format!("--sampler {name}: ")), "{why}");
    }
    fn works(_: &Roots, _: &Shape, _: Budget) -> Result<Option<Box<dyn Sampler>>, String> {
        Ok(None)
    }
    fn fails(_: &Roots, _: &Shape, _: Budget) -> Result<Option<Box<dyn Sampler>>, String> {
        Err("broken".into())
    }
    let way = |name, open| Way { name, sees: "", only_asked: "", writes: name == "b", open };
    let list = [way("a", fails), way("b", works), way("c", works)];
    let choice = from(&list, None, false).unwrap();
    assert_eq!((choice.name, choice.others), ("b", vec![("a", "broken".into()), ("c", "b comes first".into())]));
    assert!(from(&list[..1], None, false).err().unwrap().contains("expected one of a"));
    let dry = from(&list, None, true).unwrap();
    assert_eq!((dry.name, dry.others[1].1.contains("a dry run does not")), ("c", true));
    assert!(from(&list, Some("b"), true).err().unwrap().starts_with("--sampler b: it writes"));
    let writes: Vec<&str> = LIST.iter().filter(|w| w.writes).map(|w| w.name).collect();
    assert_eq!(writes, ["damon", "idle-page", "soft-dirty"]);
}

/// A tree whose own stack has one page with the soft-dirty bit and a frame.
fn with_own_page(tree: &Tree) {
    tree.proc("self/maps", "10000-20000 rw-p 00000000 00:00 0    [stack]\n");
    word(&tree.roots.proc.join("self/pagemap"), 0x1f, 1 << 63 | 1 << 55 | 5);
}

#[test]
fn soft_dirty_bits_tell_which_pages_were_written() {
    let tree = Tree::new();
    with_own_page(&tree);
    let pagemap = tree.roots.process(7).join("pagemap");
    for (page, bits) in [(3, 1 << 63 | 1 << 55), (4, 1 << 63), (5, 1 << 55), (511, 1 << 63 | 1 << 55)] {
        word(&pagemap, START / 4096 + page, bits);
    }
    tree.proc("7/clear_refs", "");
    let mut s = open(soft_dirty::WAY, &tree).unwrap();
    assert_eq!(seen(s.as_mut()), None, "bits that were not cleared tell nothing");
    s.begin(&target(1)).unwrap();
    assert_eq!(std::fs::read_to_string(tree.roots.process(7).join("clear_refs")).unwrap(), "4");
    assert_eq!(seen(s.as_mut()), Some(vec![3, 511]));
    s.prepare(&[], &mut state(&tree));
    assert_eq!(seen(s.as_mut()), None, "another process with its id is not known");
    assert!(s.begin(&Target { pid: 8, ..target(1) }).is_err(), "there is no such process");
    word(&tree.roots.proc.join("self/pagemap"), 0x1f, 1 << 63);
    assert!(open(soft_dirty::WAY, &tree).err().unwrap().contains("CONFIG_MEM_SOFT_DIRTY"));
}

#[test]
fn idle_marks_tell_which_pages_were_accessed() {
    let tree = Tree::new();
    with_own_page(&tree);
    let (pagemap, flags) = (tree.roots.process(7).join("pagemap"), tree.roots.proc.join("kpageflags"));
    let bitmap = tree.roots.sys.join("kernel/mm/page_idle/bitmap");
    // Pages 0 and 1 have frames 640 and 130, page 2 is absent, pages 8 to 11 are one larger page from frame 200 on.
    for (page, frame) in [(0, 640), (1, 130), (8, 200), (9, 201), (10, 202), (11, 203)] {
        word(&pagemap, START / 4096 + page, 1 << 63 | frame);
    }
    word(&pagemap, START / 4096 + 511, 0);
    word(&flags, 700, 0);
    (201..204).for_each(|f| word(&flags, f, 1 << 16));
    word(&bitmap, 11, 0);
    let mut s = open(idle_page::WAY, &tree).unwrap();
    assert_eq!(seen(s.as_mut()), None, "the first time only marks");
    let marks = |at: u64| {
        let words = words(&bitmap);
        words[at as usize / 64] >> (at % 64) & 1 == 1
    };
    assert!(marks(640) && marks(130) && marks(200) && !marks(201));
    assert_eq!(seen(s.as_mut()), Some(vec![]));
    // The kernel takes the marks of two pages off.
    word(&bitmap, 2, 0);
    word(&bitmap, 3, 0);
    assert_eq!(seen(s.as_mut()), Some(vec![1, 8, 9, 10, 11]));
    assert!(marks(130) && marks(200), "marked again");
    s.end(&mut state(&tree));
    assert_eq!(seen(s.as_mut()), None);
    word(&tree.roots.proc.join("self/pagemap"), 0x1f, 1 << 63);
    assert!(open(idle_page::WAY, &tree).err().unwrap().contains("CAP_SYS_ADMIN"));
}

fn words(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks_exact(8).map(|b| u64::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// A tree that has what the kernel makes for one kdamond.
fn with_damon(tree: &Tree, operations: &str) {
    tree.sys("kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n");
    let context = "kernel/mm/damon/admin/kdamonds/0/contexts/0";
    tree.sys(&format!("{context}/avail_operations"), operations);
    for folder in [
        "targets/0",
        "monitoring_attrs/intervals",
        "monitoring_attrs/nr_regions",
        "schemes/0/access_pattern/sz",
        "schemes/0/access_pattern/nr_accesses",
        "schemes/0/access_pattern/age",
        "schemes/0/tried_regions",
    ] {
        std::fs::create_dir_all(tree.roots.sys.join(context).join(folder)).unwrap();
    }
}

#[test]
fn damon_lists_regions_and_leaves_nothing_behind() {
    let tree = Tree::new();
    tree.process(7, "db", &[(7, 1, 0)], "N0=1");
    with_damon(&tree, "vaddr\nfvaddr\npaddr\n");
    let admin = tree.roots.sys.join("kernel/mm/damon/admin/kdamonds");
    let reads = |file: &str| std::fs::read_to_string(admin.join(file)).unwrap_or_default().trim().to_string();
    assert!(open(damon::WAY, &tree).is_ok());
    assert_eq!(reads("nr_kdamonds"), "0", "trying it out leaves nothing");
    let mut s: Box<dyn Sampler> = Box::new(damon::Damon::open(&tree.roots, BUDGET, Duration::ZERO).unwrap());
    let mut state = state(&tree);
    assert!(s.prepare(&[target(2000)], &mut state).is_empty());
    assert_eq!((reads("nr_kdamonds"), reads("0/state"), state.damon()), ("1".into(), "on".into(), &[7][..]));
    let context = "0/contexts/0";
    assert_eq!(reads(&format!("{context}/targets/0/pid_target")), "7");
    assert_eq!(reads(&format!("{context}/operations")), "vaddr");
    assert_eq!(reads(&format!("{context}/schemes/0/action")), "stat");
    assert_eq!(reads(&format!("{context}/schemes/0/access_pattern/nr_accesses/min")), "1");
    assert_eq!(seen(s.as_mut()), None, "no answer yet");
    for (n, (start, end)) in [(START + 8192, START + 16384), (0, 4096)].into_iter().enumerate() {
        let at = format!("kernel/mm/damon/admin/kdamonds/{context}/schemes/0/tried_regions/{n}");
        tree.sys(&format!("{at}/start"), &format!("{start}\n"));
        tree.sys(&format!("{at}/end"), &format!("{end}\n"));
    }
    assert!(s.prepare(&[target(2000)], &mut state).is_empty());
    assert_eq!((reads("0/state"), seen(s.as_mut())), ("update_schemes_tried_regions".into(), Some(vec![2, 3])));
    // A process that is too small to be watched counts as a whole.
    let small = Target { pid: 8, pages: 10, ..target(0) };
    let all = s.seen(&small, (START, START + 8192)).unwrap().unwrap();
    assert_eq!(all.pages.iter().collect::<Vec<_>>(), [0, 1]);
    std::fs::write(admin.join("0/state"), "on\n").unwrap();
    s.end(&mut state);
    assert_eq!((reads("nr_kdamonds"), reads("0/state"), state.damon()), ("0".into(), "off".into(), &[][..]));
}

#[test]
fn damon_that_belongs_to_others_is_left_alone() {
    let tree = Tree::new();
    with_damon(&tree, "paddr\n");
    assert!(open(damon::WAY, &tree).err().unwrap().contains("CONFIG_DAMON_VADDR"));
    with_damon(&tree, "vaddr\n");
    let admin = "kernel/mm/damon/admin/kdamonds";
    tree.sys(&format!("{admin}/nr_kdamonds"), "1\n");
    assert!(open(damon::WAY, &tree).err().unwrap().contains("somebody else has 1 kdamonds"));
    assert_eq!(reads(&tree, "nr_kdamonds"), "1", "it stays");
}

/// A file of the folder of kdamonds.
fn reads(tree: &Tree, file: &str) -> String {
    let path = tree.roots.sys.join("kernel/mm/damon/admin/kdamonds").join(file);
    std::fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

/// Kdamonds as this daemon sets them up, one for each process.
fn with_samplers(tree: &Tree, pids: &[u32]) {
    let admin = "kernel/mm/damon/admin/kdamonds";
    tree.sys(&format!("{admin}/nr_kdamonds"), &format!("{}\n", pids.len()));
    for (i, pid) in pids.iter().enumerate() {
        tree.sys(&format!("{admin}/{i}/state"), "on\n");
        for (file, value) in [
            ("nr_contexts", "1"),
            ("0/operations", "vaddr"),
            ("0/targets/nr_targets", "1"),
            ("0/targets/0/pid_target", &pid.to_string()),
            ("0/schemes/nr_schemes", "1"),
            ("0/schemes/0/action", "stat"),
            ("0/schemes/0/access_pattern/nr_accesses/min", "1"),
        ] {
            tree.sys(&format!("{admin}/{i}/contexts/{file}"), &format!("{value}\n"));
        }
    }
}

#[test]
fn kdamonds_of_a_crash_are_known_by_the_record_and_by_what_they_watch() {
    let tree = Tree::new();
    with_samplers(&tree, &[7, 9]);
    for other in [&[7][..], &[9, 7], &[7, 8], &[7, 9, 11]] {
        assert_eq!(damon::remove(&tree.roots, other).unwrap(), damon::Left::Others(2), "{other:?}");
    }
    assert_eq!(damon::remove(&tree.roots, &[]).unwrap(), damon::Left::Nothing);
    // Each difference alone makes one of them somebody else's.
    let context = "kernel/mm/damon/admin/kdamonds/1/contexts";
    for (file, value) in [
        ("0/targets/nr_targets", "0"),
        ("0/targets/nr_targets", "2"),
        ("0/targets/0/pid_target", "0"),
        ("0/operations", "paddr"),
        ("0/schemes/0/action", "pageout"),
        ("0/schemes/nr_schemes", "0"),
        ("0/schemes/nr_schemes", "2"),
        ("nr_contexts", "0"),
    ] {
        with_samplers(&tree, &[7, 9]);
        tree.sys(&format!("{context}/{file}"), value);
        assert_eq!(damon::remove(&tree.roots, &[7, 9]).unwrap(), damon::Left::Others(2), "{file} {value}");
        assert_eq!((reads(&tree, "nr_kdamonds"), reads(&tree, "1/state")), ("2".into(), "on".into()), "{file}");
        assert_eq!(reads(&tree, "0/state"), "on", "{file}");
    }
    with_samplers(&tree, &[7, 9]);
    assert_eq!(damon::left(&tree.roots, &[7, 9]), damon::Left::Own);
    assert_eq!(reads(&tree, "0/state"), "on", "a look changes nothing");
    assert_eq!(damon::remove(&tree.roots, &[7, 9]).unwrap(), damon::Left::Own);
    assert_eq!((reads(&tree, "nr_kdamonds"), reads(&tree, "1/state")), ("0".into(), "off".into()));
}

/// Somebody else sets up kdamonds while the daemon runs.
#[test]
fn kdamonds_that_others_set_up_meanwhile_stay() {
    let tree = Tree::new();
    tree.process(7, "db", &[(7, 1, 0)], "N0=1");
    with_damon(&tree, "vaddr\n");
    let mut s: Box<dyn Sampler> = Box::new(damon::Damon::open(&tree.roots, BUDGET, Duration::ZERO).unwrap());
    let mut state = state(&tree);
    tree.sys("kernel/mm/damon/admin/kdamonds/nr_kdamonds", "3\n");
    let said = s.prepare(&[target(2000)], &mut state);
    assert!(said.len() == 1 && said[0].contains("somebody else has 3 kdamonds"), "{said:?}");
    assert_eq!((reads(&tree, "nr_kdamonds"), state.damon()), ("3".into(), &[][..]));
    tree.sys("kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n");
    assert!(s.prepare(&[target(2000)], &mut state).is_empty());
    with_samplers(&tree, &[99]);
    s.end(&mut state);
    assert_eq!((reads(&tree, "nr_kdamonds"), reads(&tree, "0/state")), ("1".into(), "on".into()));
    assert_eq!(CHUNK_PAGES, 512);
}
