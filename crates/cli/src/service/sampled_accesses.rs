//! A record of accesses from the processor's memory samples, of a command that runs natively.

use crate::failure::Failure;
use numalab_accesses::format::Control;
use numalab_accesses::record::{Ending, Manifest};
use numalab_accesses::recorder::{self, Settings};
use numalab_accesses::sampled::{Mapped, Sample, Sampling};
use numalab_host::procfs::{process, Roots};
use numalab_host::record::memory_samples::{watched, MemorySample, MemorySamples};
use numalab_host::sys;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Length of a slice of time.
const SLICE: Duration = Duration::from_millis(20);
/// Time that a command has to end when it is told to.
const GRACE: Duration = Duration::from_secs(5);

/// What was recorded.
pub struct Recorded {
    /// The manifest.
    pub manifest: Manifest,
    /// Totals.
    pub control: Control,
}

/// Runs a command and records its memory samples in a directory, which is made, or must hold a record of accesses,
/// which is replaced. `stop` is asked often whether somebody wants the end.
///
/// # Errors
/// The processor has no samples, which is said before anything runs; no such command; a file cannot be written.
pub fn record(dir: &Path, command: &[String], s: &Settings, stop: &dyn Fn() -> bool) -> Result<Recorded, Failure> {
    let roots = Roots::default();
    let emulated = "expected a machine whose processor takes them, or --sampler qemu, which needs none";
    let mut samples = MemorySamples::open(&roots)
        .map_err(|why| Failure::environment(format!("--sampler perf: {why}; {emulated}")))?;
    let [program, arguments @ ..] = command else {
        return Err(Failure::usage("record: no command; expected one after `--`"));
    };
    let dir = recorder::prepare(dir, s)?;
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    // Processes whose parents have ended stay descendants of this one.
    numalab_worker::sys::adopt_orphans();
    let child = Command::new(program).args(arguments).spawn().map_err(|e| {
        Failure::usage(format!("{program}: {e}; expected a program (`command -v` says whether there is one)"))
    })?;
    let begun = Instant::now();
    let mut sampling = Sampling::new(s.limit_bytes);
    let (ending, cpu_ns) = watch(child, (&mut sampling, &mut samples), &roots, s.longest, stop)?;
    let manifest = Manifest {
        format: 1,
        numalab: env!("CARGO_PKG_VERSION").into(),
        command: command.to_vec(),
        name: s.name.clone().unwrap_or_else(|| program.rsplit('/').next().unwrap_or(program).into()),
        qemu: format!("memory samples ({})", samples.name()),
        near_bytes: s.near_bytes,
        far_bytes: s.far_bytes,
        slice_insns: 1,
        began_unix_ms: began,
        wall_s: begun.elapsed().as_secs_f64(),
        cpu_s: cpu_ns as f64 / 1e9,
        guest: String::new(),
        sampled: true,
        ending,
    };
    let unwritten = |e: std::io::Error| Failure::environment(format!("{}: {e}", dir.display()));
    let control = sampling.write(&dir, &manifest).map_err(unwritten)?;
    Ok(Recorded { manifest, control })
}

/// Samples until the command ends. Returns how it ended, and the CPU time of all its processes.
fn watch(
    mut child: Child,
    (sampling, samples): (&mut Sampling, &mut MemorySamples),
    roots: &Roots,
    longest: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> Result<(Ending, u64), Failure> {
    let begun = Instant::now();
    let mut told: Option<(Instant, Ending)> = None;
    // Threads that have ended keep what they had.
    let mut cpu: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    loop {
        let slice = Instant::now();
        std::thread::sleep(SLICE);
        for pid in process::with_descendants(roots, child.id()) {
            let Some(seen) = watched(roots, pid) else { continue };
            let mapped = |(address, bytes, name)| Mapped { address, bytes, name };
            sampling.process(pid, seen.parent, &seen.path, seen.mappings.into_iter().map(mapped).collect());
            cpu.extend(seen.cpu_ns.into_iter().map(|(tid, ns)| ((pid, tid), ns)));
        }
        samples.take().into_iter().for_each(|s| sampling.add(&sample(s)));
        let now: Vec<(u32, u32, u64)> = cpu.iter().map(|((pid, tid), ns)| (*pid, *tid, *ns)).collect();
        sampling.end_slice(slice.elapsed().as_nanos() as u64, &now);
        if let Some(status) = child.try_wait().map_err(|e| Failure::environment(format!("wait: {e}")))? {
            let ending = told.map_or_else(|| recorder::ending(status), |(_, why)| why);
            return Ok((ending, cpu.values().sum()));
        }
        let over = longest.is_some_and(|l| begun.elapsed() >= l);
        match &told {
            None if stop() || over => {
                sys::terminate(child.id());
                told = Some((Instant::now(), if over { Ending::TimeOver } else { Ending::Interrupted }));
            }
            Some((when, _)) if when.elapsed() > GRACE => drop(child.kill()),
            _ => {}
        }
    }
}

fn sample(s: MemorySample) -> Sample {
    let MemorySample { pid, tid, address, writes, is_near_miss, is_far_miss, period } = s;
    Sample { pid, tid, address, writes, is_near_miss, is_far_miss, lines: period }
}
