//! §19.9: end-to-end scenarios under 6.12 rules.

use super::faults::{fault, DEFAULT};
use super::mock::{mib_pages, settings, system, Content, MockHost, MockMemory, MockPage, MockSpace, MockVma, GIB};
use numalab_kernel::numa::init_numa_balancing::CloneKind;
use numalab_kernel::numa::state::{PRIVATE, SHARED};
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, NumaBalancing, PageFacts, ScanArgs};

const MS: u64 = 1_000_000;
const BASE: u64 = 0x4000_0000;

/// E1: task 1 (pid 1001) of mm 1 is pinned to CPU 2 (node 1), and all its memory is on node 0.
struct Pinned {
    n: NumaBalancing,
    host: MockHost,
    space: MockSpace,
    works: Vec<Work>,
}

/// A row of E1's table: times in ms.
#[derive(Debug, PartialEq)]
struct Work {
    at: u64,
    stamp: u64,
    next_scan: u64,
    offset: u64,
    seq: i32,
    updates: u64,
}

impl Pinned {
    fn new() -> Self {
        let mut n = system("6.12", 1000);
        n.fork(0, 1, CloneKind::Process(1), 1001, 0, mib_pages(1024));
        let pages = vec![MockPage::new(PageFacts::private_anon(0)); (GIB / 4096) as usize];
        let space = MockSpace::of(vec![MockVma::anon(BASE, GIB).with(Content::Pages(pages))]);
        Self { n, host: MockHost::new(4, 2), space, works: Vec::new() }
    }

    /// Ticks every 1 ms. Runtime is wall time, scanning costs nothing, and all memory is touched between ticks.
    fn run(&mut self, from: u64, to: u64) {
        for t in from..=to {
            self.host.runtime_ns[1] = t * MS;
            self.host.clock_ns = t * MS;
            if self.n.task_tick_numa(1, t * MS, t, mib_pages(1024)) {
                let args = ScanArgs { now: t, this_node: 1, rss_pages: mib_pages(1024) };
                let report = self.n.task_numa_work(1, args, &mut self.space);
                self.n.scan_done(1, &report, 0);
                let mm = self.n.mms[1];
                self.works.push(Work {
                    at: t,
                    stamp: self.n.tasks[1].node_stamp / MS,
                    next_scan: mm.numa_next_scan,
                    offset: mm.numa_scan_offset,
                    seq: mm.numa_scan_seq,
                    updates: report.updates,
                });
                self.touch_all(t);
            }
        }
    }

    fn touch_all(&mut self, now: u64) {
        let vma = &mut self.space.vmas[0];
        let Content::Pages(pages) = &mut vma.content else { return };
        let at = FaultSite { task: 1, cpu: 2, now };
        for page in pages.iter_mut().filter(|p| p.marked) {
            page.marked = false;
            let d = self.n.hint_fault_begin(at, &mut page.facts, vma.state.as_mut(), &DEFAULT, &MockMemory::plenty());
            let result = if d.target.is_some() { MigrateResult::Migrated } else { MigrateResult::NotTried };
            self.n.hint_fault_end(at, &mut page.facts, &d, result, &mut self.host);
        }
    }
}

#[test]
fn e1_single_thread_with_all_memory_on_the_wrong_node() {
    let mut p = Pinned::new();
    p.run(1, 2009);
    let row = |at, stamp, next_scan, offset, seq, updates| Work { at, stamp, next_scan, offset, seq, updates };
    let mib = 1 << 20;
    assert_eq!(
        p.works,
        [
            row(1001, 1002, 1251, BASE + 256 * mib, 0, 65_536),
            row(1253, 1254, 1503, BASE + 512 * mib, 0, 65_536),
            row(1505, 1506, 1755, BASE + 768 * mib, 0, 65_536),
            row(1757, 1758, 2007, BASE + 1024 * mib, 0, 65_536),
            row(2009, 2010, 2259, 0, 2, 0),
        ]
    );
    let c = &p.n.counters;
    assert_eq!((c.numa_pte_updates, c.numa_hint_faults, c.numa_pages_migrated), (262_144, 262_144, 262_144));
    assert_eq!(c.numa_hint_faults_local, 0);
    let t = &p.n.tasks[1];
    assert_eq!((t.numa_preferred_nid, t.numa_scan_period, t.total_numa_faults), (None, 250, 0), "no placement");
    assert_eq!(t.numa_faults_locality, [262_144, 0, 0]);
    assert_eq!(p.n.buffered(1, 1, PRIVATE), (262_144, 262_144));
}

#[test]
fn e1_continuation_forced_scans_after_the_pid_bit_is_gone() {
    let mut p = Pinned::new();
    p.run(1, 10_000);
    let state = p.space.vmas[0].state.unwrap();
    assert!(state.pids_active[0] != 0 && state.pids_active[1] == 0, "one shift so far");
    assert!(state.accessed_by(1001), "the bit lives until the second shift, after 10001 ms");
    // One pass per work while the bit lives.
    let live: Vec<i32> = p.works[4..].iter().map(|w| w.seq).collect();
    assert!(live.windows(2).all(|w| w[1] == w[0] + 1), "{live:?}");
    assert!(p.works[4..].iter().all(|w| w.offset == 0 && w.updates == 0));
    let before = p.works.len();
    p.run(10_001, 14_000);
    assert!(!p.space.vmas[0].state.unwrap().accessed_by(1001));
    let later = &p.works[before..];
    let forced = later.iter().position(|w| w.offset == BASE + GIB).unwrap();
    let forced = &later[forced..];
    assert!(forced.len() > 5 && forced.iter().all(|w| w.offset == BASE + GIB), "the offset stays at the VMA's end");
    assert!(forced.windows(2).all(|w| w[1].seq == w[0].seq + 1), "one pass per work, ended at its start");
}

/// A page shared by thread A (task 0, pid 1000, CPU 0 on node 0) and B (task 1, pid 1001, CPU 2 on node 1).
struct SharedPage {
    n: NumaBalancing,
    host: MockHost,
    page: PageFacts,
    stores: bool,
}

const A: FaultSite = FaultSite { task: 0, cpu: 0, now: 1000 };
const B: FaultSite = FaultSite { task: 1, cpu: 2, now: 1000 };

impl SharedPage {
    fn new(stores: bool, change: &[(&str, &str)]) -> Self {
        let mut n = system("6.12", 1000);
        let mut s = settings("6.12");
        change.iter().for_each(|(key, value)| s.set("numa", key, value).unwrap());
        n.cfg = s.resolve(1000).unwrap();
        n.fork(0, 1, CloneKind::Thread, 1001, 0, 0);
        let mut host = MockHost::new(4, 2);
        host.run(0, 0);
        host.run(1, 2);
        Self { n, host, page: PageFacts::private_anon(0), stores }
    }
    /// A fault and, for a store, the write fault that follows. Returns the page's node and last cpupid afterwards.
    fn touch(&mut self, at: FaultSite) -> (usize, LastCpupid) {
        let (_, outcome) = fault(&mut self.n, &mut self.host, at, &mut self.page, MigrateResult::Migrated);
        if outcome.write_dropped && self.stores {
            self.n.wp_page_reuse(&mut self.page);
        }
        (self.page.nid, self.page.last)
    }
    fn shared(&self, task: u32) -> u64 {
        (0..2).map(|nid| self.n.buffered(task, nid, SHARED).0).sum()
    }
    fn grouped(&self, task: usize) -> bool {
        self.n.tasks[task].numa_group.is_some()
    }
}

/// The course of E2. With `migration_drops_write` off, that of stores is the same.
fn reads_of_two_threads(stores: bool, change: &[(&str, &str)]) {
    let (from_a, from_b) = (LastCpupid::new(0, 1000), LastCpupid::new(2, 1001));
    let mut s = SharedPage::new(stores, change);
    assert_eq!(s.touch(B), (1, from_b), "E2 step 1: private, migrates");
    assert_eq!(s.shared(1), 0);
    assert_eq!(s.touch(A), (1, from_a), "E2 step 2: no migration, exchanged");
    assert_eq!(s.shared(0), 1, "E2 step 2: shared");
    assert!(s.grouped(0) && !s.grouped(1), "E2 step 2: A creates a group");
    assert_eq!(s.touch(B), (1, from_a), "E2 step 3: local, not exchanged");
    assert_eq!(s.shared(1), 1, "E2 step 3: shared");
    assert!(s.grouped(1), "E2 step 3: B creates a group");
    assert_ne!(s.n.tasks[0].numa_group, s.n.tasks[1].numa_group, "the younger group does not join the older");
    assert_eq!(s.touch(A), (0, from_a), "E2 step 4: matches, early life, migrates");
    assert_eq!(s.shared(0), 1, "E2 step 4: private");
}

#[test]
fn e2_reads_of_two_threads() {
    reads_of_two_threads(false, &[]);
}

#[test]
fn e2_with_local_faults_updating_the_cpupid() {
    let mut s = SharedPage::new(false, &[("local_fault_updates_cpupid", "true")]);
    s.touch(B);
    s.touch(A);
    assert_eq!(s.touch(B), (1, LastCpupid::new(2, 1001)), "step 3 exchanges");
    assert_eq!(s.touch(A).0, 1, "step 4 is refused by the two-stage filter");
    assert_eq!(s.shared(0), 2, "and shared");
}

#[test]
fn e3_adaptation_over_three_passes() {
    let mut n = system("6.12", 1000);
    let mut host = MockHost::new(4, 1);
    // Read-only entries form no groups, so the task stays alone. CPU 0 is on node 0; pages of node 0 are local.
    let page = |nid, private, pages| {
        let last = LastCpupid::new(0, if private { 1000 } else { 77 });
        PageFacts { pages, last, writable: false, ..PageFacts::private_anon(nid) }
    };
    let mut pass = |n: &mut NumaBalancing, pass: i32, faults: &[(usize, bool, u32)], result| {
        n.mms[0].numa_scan_seq = pass;
        for &(nid, private, pages) in faults {
            let site = FaultSite { task: 0, cpu: 0, now: 10_000 * (pass as u64 + 1) };
            let d = n.hint_fault_begin(site, &mut page(nid, private, pages), None, &DEFAULT, &MockMemory::plenty());
            n.hint_fault_end(site, &mut page(nid, private, pages), &d, result, &mut host);
        }
        n.tasks[0].numa_scan_period
    };
    let not = MigrateResult::NotTried;
    // 100 shared + 900 private, 900 local / 100 remote.
    assert_eq!(pass(&mut n, 0, &[(0, false, 100), (0, true, 800), (1, true, 100)], not), 1000);
    // 800 shared + 200 private, 300 local / 700 remote. Its first fault places the first pass.
    assert_eq!(pass(&mut n, 1, &[(0, false, 300), (1, false, 500), (1, true, 200)], not), 1200, "E3 pass 1");
    // 50 failed migrations of remote private pages.
    assert_eq!(pass(&mut n, 2, &[(1, true, 50)], MigrateResult::Failed), 720, "E3 pass 2");
    assert_eq!(n.tasks[0].numa_faults_locality, [50, 0, 50]);
    assert_eq!(pass(&mut n, 3, &[(0, true, 1)], not), 1440, "E3 pass 3");
    assert_eq!(n.mms[0].numa_next_scan, 40_000 + 1440);
}

#[test]
fn e4_stores_of_two_threads() {
    let mut s = SharedPage::new(true, &[]);
    for (i, (site, nid)) in [(B, 1), (A, 0), (B, 1), (A, 0), (B, 1)].into_iter().enumerate() {
        assert_eq!(s.touch(site), (nid, LastCpupid::UNSET), "E4 step {}", i + 1);
    }
    assert_eq!(s.n.counters.pgreuse, 5, "E4: one minor fault per migration");
    assert_eq!((s.shared(0), s.shared(1)), (0, 0), "E4: all faults are private");
    assert_eq!(s.n.counters.numa_hint_faults_local, 0, "E4: all faults are remote");
    assert!(!s.grouped(0) && !s.grouped(1), "E4: no group ever appears");
}

#[test]
fn e4_later_in_life_nothing_changes() {
    let mut s = SharedPage::new(true, &[]);
    for task in 0..2 {
        s.n.tasks[task].numa_scan_seq = 9;
        s.n.tasks[task].numa_preferred_nid = Some(task);
    }
    s.n.mms[0].numa_scan_seq = 9;
    for (site, nid) in [(B, 1), (A, 0), (B, 1), (A, 0)] {
        assert_eq!(s.touch(site), (nid, LastCpupid::UNSET));
    }
}

#[test]
fn e4_without_dropping_write_permission_is_e2() {
    reads_of_two_threads(true, &[("migration_drops_write", "false")]);
}
