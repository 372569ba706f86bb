//! The event from a tree of files, real records of a software event, and what samples say of a chunk.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::balance::usage::CHUNK_BYTES;
use crate::watch::tests_support::Tree;

const PMU: &str = "bus/event_source/devices";

fn with_mem_loads(tree: &Tree) {
    tree.sys(&format!("{PMU}/cpu/type"), "4\n");
    tree.sys(&format!("{PMU}/cpu/events/mem-loads"), "event=0xcd,umask=0x1,ldlat=3\n");
    for (field, bits) in
        [("event", "config:0-7"), ("umask", "config:8-15"), ("ldlat", "config1:0-15"), ("inv", "config:23")]
    {
        tree.sys(&format!("{PMU}/cpu/format/{field}"), &format!("{bits}\n"));
    }
}

#[test]
fn the_event_is_found_where_there_is_one() {
    let tree = Tree::new();
    assert_eq!(find(&tree.roots), None);
    with_mem_loads(&tree);
    let expected = Pmu { name: "cpu".into(), kind: 4, config: 0x1cd, config1: 30, beside: None, with_kernel: false };
    assert_eq!(find(&tree.roots), Some(expected.clone()));
    tree.sys(&format!("{PMU}/cpu/events/mem-loads-aux"), "event=0x03,umask=0x82,inv\n");
    assert_eq!(find(&tree.roots), Some(Pmu { beside: Some(0x80_8203), ..expected }));
    for bad in ["event=0x1ff", "event=x", "nosuch=1", "event=?"] {
        tree.sys(&format!("{PMU}/cpu/events/mem-loads"), bad);
        assert_eq!(find(&tree.roots), None, "{bad}");
    }
    tree.sys(&format!("{PMU}/ibs_op/type"), "11\n");
    let ibs = find(&tree.roots).unwrap();
    assert_eq!((ibs.name.as_str(), ibs.kind, ibs.with_kernel), ("ibs_op", 11, true));
}

#[test]
fn an_event_that_does_not_open_says_what_is_missing() {
    let tree = Tree::new();
    with_mem_loads(&tree);
    // No kernel has a PMU of this number.
    tree.sys(&format!("{PMU}/cpu/type"), "4000000000\n");
    tree.proc("sys/kernel/perf_event_paranoid", "4\n");
    let shape = Shape::read(&tree.roots).unwrap();
    let budget = Budget { every: std::time::Duration::from_secs(1), cpu_share: 0.01 };
    let why = (WAY.open)(&tree.roots, &shape, budget).err().unwrap();
    assert!(why.starts_with("cpu: ") && why.contains("expected"), "{why}");
    let path = tree.roots.proc.join("sys/kernel/perf_event_paranoid");
    let why = denied("ibs_op", &io::Error::from_raw_os_error(libc::EACCES), &path);
    assert!(why.contains("CAP_PERFMON") && why.contains("it is 4"), "{why}");
}

/// Page faults of this thread have addresses as memory samples do, on every machine that lets programs count their own.
#[test]
fn records_are_read_from_a_buffer() {
    let mut builder = Builder::new(Software::PAGE_FAULTS);
    builder.observe_self().any_cpu().sample_period(1).enabled(true);
    builder.sample(SampleFlag::TID).sample(SampleFlag::ADDR).sample(SampleFlag::CPU).sample(SampleFlag::DATA_SRC);
    let Ok(mut sampler) = builder.build().and_then(|c| c.sampled(BUFFER_BYTES)) else {
        return println!("this machine does not let programs count their own page faults");
    };
    let pages = 64;
    let memory = vec![0u8; pages * 4096 + 4096];
    let first = memory.as_ptr() as u64;
    // Fresh zeroed memory is mapped at the first touch.
    let touched: u64 = memory.iter().step_by(4096).map(|b| u64::from(std::hint::black_box(*b))).sum();
    let samples = drain(&mut sampler);
    let own = samples.iter().filter(|a| {
        a.pid == std::process::id() && a.tid > 0 && (first..first + memory.len() as u64).contains(&a.address)
    });
    assert!(own.count() >= 1 && touched == 0, "{samples:?}");
    assert!(drain(&mut sampler).iter().all(|s| !samples.contains(s)), "each record once");
}

#[test]
fn a_chunk_belongs_to_the_node_that_three_quarters_of_its_samples_come_from() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = State::open(&dir.path().join("state.json")).unwrap();
    let open = || Ok(Vec::new());
    let mut perf = Perf { open: Box::new(open), rings: Vec::new(), nodes: 2, weights: BTreeMap::new(), looks: 0 };
    let range = (CHUNK_BYTES, 4 * CHUNK_BYTES);
    let target = Target { pid: 7, start: 1, ranges: vec![range], pages: 1 };
    let targets = BTreeMap::from([(7, &target)]);
    let access = |pid, address| Access { pid, tid: pid, address, writes: false, source: Source::Beyond, period: 1 };
    let samples = |chunk: u64, n: usize| vec![access(7, chunk * CHUNK_BYTES + 5); n];
    let seen =
        |perf: &mut Perf, chunk: u64| perf.seen(&target, (chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES)).unwrap();
    perf.prepare(std::slice::from_ref(&target), &mut state);
    assert_eq!(seen(&mut perf, 1), None, "sampling has just begun");
    perf.prepare(std::slice::from_ref(&target), &mut state);
    perf.take(&targets, 1, samples(1, 3));
    perf.take(&targets, 0, samples(1, 1));
    perf.take(&targets, 0, samples(2, 2));
    perf.take(&targets, 1, samples(2, 2));
    // Neither memory that is not the target's nor another process.
    perf.take(&targets, 1, vec![access(7, 5), access(8, CHUNK_BYTES), access(7, 4 * CHUNK_BYTES)]);
    let user = |perf: &mut Perf, chunk| seen(perf, chunk).map(|s| (s.pages.iter().count(), s.user));
    assert_eq!(user(&mut perf, 1), Some((512, Some(1))));
    assert_eq!(user(&mut perf, 2), Some((512, None)), "both use it");
    assert_eq!(user(&mut perf, 3), Some((0, None)));
    for _ in 0..6 {
        perf.prepare(std::slice::from_ref(&target), &mut state);
    }
    assert_eq!(user(&mut perf, 1), Some((0, None)), "samples fade");
}

/// Bytes of a record as the kernel writes them, through the parser that reads the buffers.
#[test]
fn samples_of_the_processor_are_read_from_their_bytes() {
    use perf_event::data::endian::Little;
    use perf_event::data::parse::{ParseConfig, Parser};
    let flags = SampleFlag::TID | SampleFlag::ADDR | SampleFlag::CPU | SampleFlag::DATA_SRC | SampleFlag::PERIOD;
    let mut attr = Builder::new(Software::DUMMY).attrs().to_owned();
    attr.sample_type = flags.bits();
    let read = |pid: u32, tid: u32, address: u64, period: u64, source: u64| {
        // The fields in the order of perf_event_open(2): pid and tid, address, CPU, period, source.
        let mut bytes = Vec::new();
        [pid, tid].iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
        bytes.extend_from_slice(&address.to_le_bytes());
        [3u32, 0].iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
        [period, source].iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
        let config = ParseConfig::<Little>::from(attr);
        let sample: Sample<'_> = Parser::new(bytes.as_slice(), config).parse().unwrap();
        access_of(&sample)
    };
    // mem_op in bits 0 to 4 (2 load, 4 store), mem_lvl in 5 to 18 (hit 2, miss 4, L1 8, L3 0x40, RAM 0x80),
    // mem_lvl_num in 33 to 36 (L3 3, RAM 0xd).
    let (load, store) = (2u64, 4u64);
    let old = |op: u64, level: u64| op | level << 5 | 0xf << 33;
    let new = |op: u64, number: u64| op | number << 33;
    let seen = |source| read(7, 8, 0x7f00_1234, 500, source).map(|a| (a.writes, a.source));
    assert_eq!(seen(old(load, 2 | 8)), Some((false, Source::Near)));
    assert_eq!(seen(old(load, 2 | 0x40)), Some((false, Source::Far)));
    assert_eq!(seen(old(store, 2 | 0x80)), Some((true, Source::Beyond)));
    assert_eq!(seen(new(load, 3)), Some((false, Source::Far)));
    assert_eq!(seen(new(load, 0xd)), Some((false, Source::Beyond)));
    assert_eq!(seen(old(1, 1)), Some((false, Source::Unknown)));
    let one = read(7, 8, 0x7f00_1234, 500, old(store, 2 | 0x80)).unwrap();
    assert_eq!((one.pid, one.tid, one.address, one.period), (7, 8, 0x7f00_1234, 500));
    assert_eq!(read(7, 8, 0, 500, load), None, "a sample without address");
}
