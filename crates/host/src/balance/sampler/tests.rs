//! The list of ways, and each sampler on a tree of files.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::balance::usage::{CHUNK_BYTES, CHUNK_PAGES};
use crate::watch::tests_support::Tree;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

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
    State::open(&tree.roots.proc.join("state.json")).unwrap()
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
    let choice = choose(&LIST, None, &tree.roots, &shape(&tree), BUDGET).unwrap();
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
    let asked = |name| choose(&LIST, Some(name), &tree.roots, &shape(&tree), BUDGET);
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
    let way = |name, open| Way { name, sees: "", only_asked: "", open };
    let list = [way("a", fails), way("b", works), way("c", works)];
    let choice = choose(&list, None, &tree.roots, &shape(&tree), BUDGET).unwrap();
    assert_eq!((choice.name, choice.others), ("b", vec![("a", "broken".into()), ("c", "b comes first".into())]));
    assert!(choose(&list[..1], None, &tree.roots, &shape(&tree), BUDGET).err().unwrap().contains("expected one of a"));
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
    // What a crash has left is known by its target.
    tree.sys(&format!("{admin}/0/contexts/0/targets/0/pid_target"), "99\n");
    tree.sys(&format!("{admin}/0/state"), "on\n");
    let state = tree.roots.sys.join(admin).join("0/state");
    assert!(!damon::remove(&tree.roots, &[7]).unwrap() && !damon::remove(&tree.roots, &[]).unwrap());
    assert_eq!(std::fs::read_to_string(&state).unwrap(), "on\n");
    tree.sys(&format!("{admin}/0/contexts/0/targets/0/pid_target"), "7\n");
    assert!(damon::remove(&tree.roots, &[7]).unwrap());
    assert_eq!(std::fs::read_to_string(&state).unwrap(), "off");
    assert_eq!(std::fs::read_to_string(tree.roots.sys.join(admin).join("nr_kdamonds")).unwrap(), "0");
    assert_eq!(CHUNK_PAGES, 512);
}
