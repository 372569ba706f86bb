//! Memory samples of the processor: which pages are accessed, and by which CPU.
//!
//! Intel's PEBS (`mem-loads`) and AMD's IBS (`ibs_op`) note the address of an access now and then. One event on each
//! CPU collects them for all processes (`perf_event_open`), which needs `CAP_PERFMON` or `kernel.perf_event_paranoid`
//! of 0 or less. It is the only sampler that tells who uses a page, and it changes nothing for programs.
//! Accesses of 30 cycles and more count on Intel, so that most hits of the first two caches do not. A chunk of 2 MiB
//! that had a sample counts as in use. Samples lose half of their weight from look to look.

use crate::balance::machine::Shape;
use crate::balance::sampling::{Budget, Sampler, Seen, Target, Way};
use crate::balance::state::State;
use crate::balance::usage::{chunk_of, Bits, PAGE_BYTES};
use crate::procfs::{read, Roots};
use perf_event::data::{DataSource, MemLevel, MemLevelNum, MemOp, Record, Sample};
use perf_event::events::Software;
use perf_event::{Builder, Counter, SampleFlag, SampleSkid};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The way that takes memory samples.
pub const WAY: Way = Way {
    name: "perf",
    sees: "which pages are accessed, and by which node's CPUs (memory samples of the processor)",
    only_asked: "",
    writes: false,
    open,
};

/// CPU time that a sample costs the kernel and this process, s. Published measurements of PEBS and IBS have 1 to 4 µs.
const SAMPLE_S: f64 = 4e-6;
/// Bytes of the buffer of a CPU; a sample takes 48.
const BUFFER_BYTES: usize = 1 << 15;
/// Weight of a sample; it is halved at each look.
const SAMPLE_WEIGHT: u32 = 16;
/// Smallest number of samples from which a chunk's user is told, in weights.
const USER_WEIGHT: u32 = 2 * SAMPLE_WEIGHT;
/// Smallest latency of a load that counts, cycles.
const LATENCY_CYCLES: u64 = 30;

/// An event that samples memory accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pmu {
    pub(crate) name: String,
    kind: u32,
    config: u64,
    config1: u64,
    /// Event that must be counted beside it (`mem-loads-aux`), on Intel since Sapphire Rapids.
    beside: Option<u64>,
    /// IBS refuses to leave the kernel out.
    with_kernel: bool,
}

/// Finds the event that samples memory accesses.
pub(crate) fn find(roots: &Roots) -> Option<Pmu> {
    let devices = roots.sys.join("bus/event_source/devices");
    let kind = |dir: &Path| read(&dir.join("type")).ok()?.trim().parse().ok();
    let ibs = devices.join("ibs_op");
    if let Some(kind) = kind(&ibs) {
        return Some(Pmu { name: "ibs_op".into(), kind, config: 0, config1: 0, beside: None, with_kernel: true });
    }
    ["cpu", "cpu_core"].into_iter().find_map(|name| {
        let dir = devices.join(name);
        let (config, config1) = event(&dir, "mem-loads", &[("ldlat", LATENCY_CYCLES)])?;
        let beside = event(&dir, "mem-loads-aux", &[]).map(|e| e.0);
        Some(Pmu { name: name.into(), kind: kind(&dir)?, config, config1, beside, with_kernel: false })
    })
}

/// `config` and `config1` of an event of a PMU, with fields that are set besides
/// (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
fn event(pmu: &Path, name: &str, set: &[(&str, u64)]) -> Option<(u64, u64)> {
    let text = read(&pmu.join("events").join(name)).ok()?;
    let mut out = (0, 0);
    let own = text.trim().split(',').map(|term| {
        let (field, value) = term.split_once('=').unwrap_or((term, "1"));
        let number = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => value.parse().ok(),
        };
        Some((field, number?))
    });
    for term in
        own.collect::<Option<Vec<_>>>()?.into_iter().filter(|t| set.iter().all(|s| s.0 != t.0)).chain(set.to_vec())
    {
        let format = read(&pmu.join("format").join(term.0)).ok()?;
        let (word, bits) = format.trim().split_once(':')?;
        let (low, high) = bits.split_once('-').unwrap_or((bits, bits));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        if low > high || high > 63 || term.1 > u64::MAX >> (63 - (high - low)) {
            return None;
        }
        match word {
            "config" => out.0 |= term.1 << low,
            "config1" => out.1 |= term.1 << low,
            _ => return None,
        }
    }
    Some(out)
}

/// Weights of the samples of a chunk, by the node of the CPU.
type Weights = Vec<u32>;

/// Sampled accesses.
struct Perf {
    open: Box<dyn Fn() -> io::Result<Vec<Ring>>>,
    rings: Vec<Ring>,
    nodes: usize,
    /// By process and first address of a chunk.
    weights: BTreeMap<(u32, u64), Weights>,
    /// Looks since sampling began.
    looks: u32,
}

/// The buffer of a CPU.
pub(crate) struct Ring {
    pub(crate) sampler: perf_event::Sampler,
    /// The event that is counted beside it lives as long.
    _beside: Option<Counter>,
    node: usize,
}

fn open(roots: &Roots, shape: &Shape, budget: Budget) -> Result<Option<Box<dyn Sampler>>, String> {
    let pmu = find(roots).ok_or("the processor has no memory samples here (no ibs_op, no mem-loads)")?;
    let places: Vec<(u32, usize)> = shape.online().into_iter().filter_map(|c| Some((c, shape.node_of(c)?))).collect();
    let per_s = (budget.cpu_share / SAMPLE_S / places.len().max(1) as f64).clamp(1.0, 1000.0) as u64;
    let name = pmu.name.clone();
    let open =
        move || places.iter().map(|&(cpu, node)| ring(&pmu, cpu, node, per_s)).collect::<io::Result<Vec<Ring>>>();
    let paranoid = roots.proc.join("sys/kernel/perf_event_paranoid");
    let rings = open().map_err(|e| denied(&name, &e, &paranoid))?;
    let nodes = shape.ids.len();
    Ok(Some(Box::new(Perf { open: Box::new(open), rings, nodes, weights: BTreeMap::new(), looks: 0 })))
}

/// Why an event could not be opened, in words.
pub(crate) fn denied(pmu: &str, e: &io::Error, paranoid: &Path) -> String {
    let level = read(paranoid).map(|t| t.trim().to_string()).unwrap_or_else(|_| "absent".into());
    match e.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            format!("{pmu}: {e}; expected CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less (it is {level})")
        }
        _ => format!("{pmu}: {e}; expected an event that counts on every CPU"),
    }
}

/// Opens the event on a CPU.
pub(crate) fn ring(pmu: &Pmu, cpu: u32, node: usize, per_s: u64) -> io::Result<Ring> {
    let base = |config: u64, config1: u64| {
        let mut builder = Builder::new(Software::DUMMY);
        let attrs = builder.attrs_mut();
        attrs.type_ = pmu.kind;
        attrs.config = config;
        attrs.__bindgen_anon_3.config1 = config1;
        builder.any_pid().one_cpu(cpu as usize).exclude_hv(!pmu.with_kernel).exclude_kernel(!pmu.with_kernel);
        builder
    };
    let mut samples = base(pmu.config, pmu.config1);
    samples
        .sample_frequency(per_s)
        .sample(SampleFlag::TID)
        .sample(SampleFlag::ADDR)
        .sample(SampleFlag::CPU)
        .sample(SampleFlag::DATA_SRC)
        .sample(SampleFlag::PERIOD)
        .enabled(true);
    if !pmu.with_kernel {
        samples.precise_ip(SampleSkid::RequestZero);
    }
    let mut beside = pmu.beside.map(|config| base(config, 0).enabled(true).build()).transpose()?;
    let counter = match &mut beside {
        Some(leader) => samples.build_with_group(leader)?,
        None => samples.build()?,
    };
    Ok(Ring { sampler: counter.sampled(BUFFER_BYTES)?, _beside: beside, node })
}

/// A sampled access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) address: u64,
    /// Whether it was a store; of an unknown kind it is none.
    pub(crate) writes: bool,
    /// What answered it.
    pub(crate) source: Source,
    /// Events that it stands for.
    pub(crate) period: u64,
}

/// What answered an access, as far as a record tells it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A private cache.
    Near,
    /// The last-level cache.
    Far,
    /// Memory, or another core's cache.
    Beyond,
    /// It was not said.
    Unknown,
}

fn source_of(data: DataSource) -> Source {
    let level = data.mem_lvl();
    // The older field has a bit for each level, the newer one a number.
    match data.mem_lvl_num() {
        MemLevelNum::L1 | MemLevelNum::L2 | MemLevelNum::LFB => Source::Near,
        MemLevelNum::L3 | MemLevelNum::L4 if data.mem_hops() == 0 && !data.mem_remote() => Source::Far,
        MemLevelNum::L3 | MemLevelNum::L4 | MemLevelNum::RAM | MemLevelNum::PMEM | MemLevelNum::ANY_CACHE => {
            Source::Beyond
        }
        _ if level.intersects(MemLevel::L1 | MemLevel::L2 | MemLevel::LFB) => Source::Near,
        _ if level.contains(MemLevel::L3) && level.contains(MemLevel::HIT) => Source::Far,
        _ if level.is_empty() || level.contains(MemLevel::NA) => Source::Unknown,
        _ => Source::Beyond,
    }
}

/// The access of a sample; `None` for one without process or address.
pub(crate) fn access_of(sample: &Sample<'_>) -> Option<Access> {
    let data = sample.data_src().unwrap_or_default();
    Some(Access {
        pid: sample.pid()?,
        tid: sample.tid().or(sample.pid())?,
        address: sample.addr().filter(|a| *a != 0)?,
        writes: data.mem_op().contains(MemOp::STORE),
        source: source_of(data),
        period: sample.period().unwrap_or(1).max(1),
    })
}

/// Takes the samples out of a buffer. A record of another kind, or of a form that is not known, is no sample.
pub(crate) fn drain(sampler: &mut perf_event::Sampler) -> Vec<Access> {
    let mut out = Vec::new();
    while let Some(record) = sampler.next_record() {
        if let Ok(Record::Sample(s)) = record.parse_record() {
            out.extend(access_of(&s));
        }
    }
    out
}

impl Perf {
    fn take(&mut self, targets: &BTreeMap<u32, &Target>, node: usize, samples: Vec<Access>) {
        for Access { pid, address: addr, .. } in samples {
            let Some(target) = targets.get(&pid) else { continue };
            let place = target.ranges.partition_point(|r| r.0 <= addr);
            let Some(range) = target.ranges[..place].last().filter(|r| addr < r.1) else { continue };
            let weights = self.weights.entry((pid, chunk_of(*range, addr).0)).or_insert_with(|| vec![0; self.nodes]);
            weights[node] = weights[node].saturating_add(SAMPLE_WEIGHT);
        }
    }

    fn fade(&mut self) {
        self.weights.retain(|_, w| {
            w.iter_mut().for_each(|w| *w /= 2);
            w.iter().any(|w| *w > 0)
        });
    }
}

impl Sampler for Perf {
    fn prepare(&mut self, targets: &[Target], _: &mut State) -> Vec<String> {
        if self.rings.is_empty() {
            match (self.open)() {
                Ok(rings) => self.rings = rings,
                Err(e) => return vec![format!("memory samples: {e}")],
            }
        }
        let targets: BTreeMap<u32, &Target> = targets.iter().map(|t| (t.pid, t)).collect();
        self.fade();
        self.weights.retain(|(pid, _), _| targets.contains_key(pid));
        let taken: Vec<_> = self.rings.iter_mut().map(|r| (r.node, drain(&mut r.sampler))).collect();
        for (node, samples) in taken {
            self.take(&targets, node, samples);
        }
        self.looks = self.looks.saturating_add(1);
        Vec::new()
    }

    fn begin(&mut self, _: &Target) -> io::Result<()> {
        Ok(())
    }

    fn seen(&mut self, target: &Target, range: (u64, u64)) -> io::Result<Option<Seen>> {
        if self.looks < 2 {
            return Ok(None);
        }
        let Some(weights) = self.weights.get(&(target.pid, range.0)) else {
            return Ok(Some(Seen { pages: Bits::default(), user: None }));
        };
        let all: u32 = weights.iter().sum();
        // As for a group's memory in the kernel, three quarters are enough.
        let user = weights.iter().position(|w| all >= USER_WEIGHT && w * 4 >= all * 3);
        Ok(Some(Seen { pages: Bits::first(((range.1 - range.0) / PAGE_BYTES) as usize), user }))
    }

    fn end(&mut self, _: &mut State) {
        self.rings.clear();
        self.weights.clear();
        self.looks = 0;
    }
}

#[cfg(test)]
#[path = "perf_tests.rs"]
mod tests;
