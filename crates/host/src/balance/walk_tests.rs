//! Walks with samplers of the test's own.
#![allow(clippy::unwrap_used)]

use super::super::sampler::Seen;
use super::*;
use crate::balance::usage::CHUNK_PAGES;
use numalab_kernel::numa::topology::{NodeParts, NumaTopology};
use numalab_kernel::userspace_balance::MappingLook;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

#[test]
fn a_walk_has_every_chunk_once_and_its_beginning_is_spread() {
    let ranges = [(4096, 100 * CHUNK_BYTES), (200 * CHUNK_BYTES, 200 * CHUNK_BYTES + 4096)];
    for round in 0..3 {
        let mut all = order(&ranges, round);
        let first: Vec<u64> = all.iter().rev().take(11).map(|a| a / CHUNK_BYTES).collect();
        assert!(first.contains(&200), "every mapping is seen early: {first:?}");
        assert!(first.iter().any(|c| *c < 34) && first.iter().any(|c| (67..100).contains(c)), "{first:?}");
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 101);
        assert_eq!(all[0], 4096, "the first chunk is cut by its mapping");
    }
}

/// What a sampler of the test is asked, and what it answers.
#[derive(Default)]
struct Script {
    asked: Vec<(u32, u64)>,
    begun: Vec<u32>,
    /// Number of pages at the start of each chunk that are in use; `None` while nothing is known.
    used: Option<usize>,
    /// This process cannot be sampled.
    denied: u32,
}

struct Scripted(Rc<RefCell<Script>>);

impl Sampler for Scripted {
    fn prepare(&mut self, _: &[Target], _: &mut State) -> Vec<String> {
        Vec::new()
    }
    fn begin(&mut self, target: &Target) -> io::Result<()> {
        let mut script = self.0.borrow_mut();
        script.begun.push(target.pid);
        match script.denied == target.pid {
            true => Err(io::Error::from_raw_os_error(libc::EPERM)),
            false => Ok(()),
        }
    }
    fn seen(&mut self, target: &Target, range: (u64, u64)) -> io::Result<Option<Seen>> {
        let mut script = self.0.borrow_mut();
        script.asked.push((target.pid, range.0));
        Ok(script.used.map(|n| Seen { pages: Bits::first(n), user: None }))
    }
    fn end(&mut self, _: &mut State) {}
}

/// All memory is on node 1.
struct OnNode1;

impl Hands for OnNode1 {
    fn page_nodes(&mut self, _: u32, pages: &[u64], nodes: &mut Vec<i32>) -> io::Result<()> {
        *nodes = vec![1; pages.len()];
        Ok(())
    }
    fn move_pages(&mut self, _: u32, _: &[u64], _: u32, _: &mut Vec<i32>) -> io::Result<()> {
        unreachable!("sampling moves nothing")
    }
    fn set_affinity(&mut self, _: u32, _: &[u32]) -> io::Result<()> {
        unreachable!("sampling moves nothing")
    }
}

const RANGE: (u64, u64) = (CHUNK_BYTES, 11 * CHUNK_BYTES);

struct World {
    script: Rc<RefCell<Script>>,
    walk: Walk,
    shape: Shape,
    state: State,
    _dir: tempfile::TempDir,
}

impl World {
    fn new(script: Script) -> Self {
        let script = Rc::new(RefCell::new(script));
        let dir = tempfile::tempdir().unwrap();
        let parts = vec![NodeParts { cpus: 1, memory: true, tier: 0 }; 2];
        let topo = NumaTopology::from_parts(&parts, &[10, 20, 20, 10]).unwrap();
        Self {
            walk: Walk::new(Box::new(Scripted(Rc::clone(&script)))),
            script,
            shape: Shape { topo, llc_cpus: vec![1, 1], ids: vec![0, 1], cpus: vec![vec![0], vec![1]] },
            state: State::open(&dir.path().join("state.json")).unwrap(),
            _dir: dir,
        }
    }
    /// A look at processes 7 and 8 with time for `chunks` questions to each; the pages in use of process 7 come back.
    fn look(&mut self, mut rounds: usize) -> (Option<Vec<u64>>, Vec<String>) {
        let target = |pid| Target { pid, start: 1, ranges: vec![RANGE], pages: 100 };
        let mut goes_on = || {
            rounds = rounds.saturating_sub(1);
            rounds > 0
        };
        let targets = [target(7), target(8)];
        let notes = self.walk.look(&targets, &self.shape, &mut OnNode1, &mut self.state, &mut goes_on);
        let mapping = |pid| MappingLook {
            group: pid,
            start: RANGE.0,
            pages: vec![100, 9000],
            used: None,
            huge: false,
            hold: None,
            allowed: Default::default(),
        };
        let mut look = Look { mappings: vec![mapping(7), mapping(8)], ..Look::default() };
        self.walk.tell(&mut look, 2, |_, _| Some(RANGE.1));
        (look.mappings[0].used.take().map(|u| u.pages), notes)
    }
}

#[test]
fn what_is_not_seen_yet_waits_and_a_part_stands_for_the_whole() {
    let mut w = World::new(Script { used: Some(64), ..Script::default() });
    assert_eq!(w.look(100).0, Some(vec![0, 0]), "the first look only begins");
    assert_eq!(w.script.borrow().begun, [7, 8]);
    assert_eq!(w.look(4).0, Some(vec![0, 640]), "three of ten chunks stand for all");
    assert_eq!(w.script.borrow().asked.len(), 6, "both processes take turns, and the limit holds");
    assert_eq!(w.look(100).0, Some(vec![0, 640]));
    let mut asked = w.script.borrow().asked.clone();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!((asked.len(), w.script.borrow().asked.len()), (20, 20), "each chunk once in a walk");
    assert_eq!(w.script.borrow().begun, [7, 8, 7, 8], "a new walk has begun");
    assert!(w.walk.counts_use(7));
}

#[test]
fn a_process_that_cannot_be_sampled_is_judged_by_its_memory() {
    let mut w = World::new(Script { used: Some(CHUNK_PAGES), denied: 7, ..Script::default() });
    let (used, notes) = w.look(100);
    assert_eq!(used, None);
    assert!(notes[0].contains("process 7 is judged by where its memory is"), "{notes:?}");
    assert!(!w.walk.counts_use(7) && w.walk.counts_use(8));
    assert_eq!(w.look(100).1, Vec::<String>::new(), "it is said once");
}

#[test]
fn a_process_without_pages_in_use_is_judged_by_its_memory() {
    let mut w = World::new(Script::default());
    w.look(100);
    w.look(100);
    assert_eq!(w.look(100).0, Some(vec![0, 0]), "nothing is known yet");
    w.script.borrow_mut().used = Some(0);
    w.look(100);
    assert_eq!(w.look(100).0, None);
    w.script.borrow_mut().used = Some(8);
    w.look(100);
    assert_eq!(w.look(100).0, Some(vec![0, 80]));
}
