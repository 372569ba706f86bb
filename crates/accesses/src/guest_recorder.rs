//! Records a program in a guest of one node: what `qemu-x86_64` cannot run.
//!
//! Problem: QEMU's user mode stands for the kernel, and does not do all that a kernel does. PostgreSQL ends under it.
//! Approach: a packaged kernel boots in QEMU with the same plugin, which tells processes and threads apart by what the
//! kernel itself knows (`plugin/guest.c`). The program gets into the guest as for `run --backend vm`. The plugin counts
//! in the same files, so what reads a record needs to know nothing of guests.

use crate::format::Control;
use crate::image::Image;
use crate::record::{self, Ending};
use crate::recorder::{self, Look, RecordError, Recorded, Settings};
use crate::sites;
use numalab_lab::cache::Cache;
use numalab_lab::failure::{Failure, RunError};
use numalab_lab::guest::{self, Budgets, GuestReport, GuestRun};
use numalab_lab::plugin::Plugin;
use numalab_lab::program::Program;
use numalab_lab::qemu::{self, Timing};
use numalab_lab::topology::{GuestNode, GuestTopology, Smp, MEMORY_UNIT};
use numalab_lab::worker::Worker;
use numalab_worker::invocation;
use numalab_worker::job::Job;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two looks at the guest.
const POLL: Duration = Duration::from_millis(50);
/// Times that a guest is booted, if it dies of a breakpoint that its own code patching has removed.
const BOOTS: u32 = 4;
/// Longest time of a program without a limit.
const ENDLESS: Duration = Duration::from_secs(30 * 86_400);
/// CPUs of the plugin's tables (`plugin/guest.c`).
pub const MOST_CPUS: usize = 255;

/// The guest in which a program is recorded.
#[derive(Clone, Debug)]
pub struct Guest {
    /// QEMU program for guests.
    pub qemu: PathBuf,
    /// Name of the kernel.
    pub name: String,
    /// Kernel image, of a kernel that describes itself (BTF).
    pub kernel: PathBuf,
    /// CPUs, 1 to [`MOST_CPUS`]. Threads run side by side on them.
    pub cpus: usize,
    /// Memory, bytes; rounded up to 128 MiB.
    pub memory_bytes: u64,
    /// Longest time to boot.
    pub boot: Duration,
}

/// Records a program in a directory, which is made, or must hold a record of accesses, which is replaced. `look` is
/// called often with totals so far.
///
/// # Errors
/// The guest cannot be started or fails, or a file cannot be written. What was recorded until then is kept. A program
/// that fails is no error.
pub fn record(
    dir: &Path,
    program: &Program,
    guest: &Guest,
    settings: &Settings,
    look: &mut dyn FnMut(&Control) -> Look,
) -> Result<Recorded, RecordError> {
    let install = "install it with `apt-get install qemu-system-x86`, or name it with --qemu";
    let (major, minor, patch) =
        numalab_lab::probe::qemu_version(&guest.qemu).map_err(|e| RecordError::NoGuest(format!("{e}; {install}")))?;
    let worker = Worker::for_guests().and_then(|w| w.bytes()).map_err(RecordError::NoGuest)?;
    let cache = Cache::open().map_err(|e| RecordError::Files(e.to_string()))?;
    let library = crate::plugin::library(&cache).map_err(RecordError::Plugin)?;
    let dir = recorder::prepare(dir, settings)?;
    let version = format!("QEMU emulator version {major}.{minor}.{patch}, a guest of {} CPUs", guest.cpus);
    let mut manifest = recorder::manifest(&program.invocation.argv, settings, &version);
    manifest.guest.clone_from(&guest.name);
    recorder::write(&dir, &manifest)?;
    let (begun, used_before) = (Instant::now(), recorder::children_cpu_s());
    let plugin = Plugin { library, config: config(&dir, guest, settings)? };
    let topology = topology(guest);
    let (end, asked) = watch(&dir, settings, look, &|stop| {
        let vm = vm(guest, &topology, &worker, program, plugin.clone(), stop);
        boot(&cache, &vm, program, &dir, settings)
    })?;
    manifest.wall_s = begun.elapsed().as_secs_f64();
    manifest.cpu_s = recorder::children_cpu_s() - used_before;
    manifest.ending = match (&end, asked) {
        (_, Some(asked)) => asked,
        (Ok(report), None) => ending(&program.name, report),
        (Err(_), None) => Ending::Running,
    };
    let control = record::read_control(&dir)?;
    name_variables(&dir, program)?;
    recorder::write(&dir, &manifest)?;
    match end {
        Err(e) if matches!(manifest.ending, Ending::Running) => {
            Err(RecordError::Guest(Box::new(e), control.images > 0))
        }
        Ok(report) if control.images == 0 => {
            Err(RecordError::NotStarted { qemu: version, how: format!("{:?}", report.outcome.status) })
        }
        _ => {
            let remarks = recorder::remarks(&dir, &manifest, &control)?;
            Ok(Recorded { manifest, control, remarks })
        }
    }
}

/// How a guest ended, and why it was told to end, if it was.
type Ended = (Result<GuestReport, RunError>, Option<Ending>);

/// Runs `run` beside this thread, which looks at the record until the guest has ended.
fn watch(
    dir: &Path,
    settings: &Settings,
    look: &mut dyn FnMut(&Control) -> Look,
    run: &(dyn Fn(&AtomicBool) -> Result<GuestReport, RunError> + Sync),
) -> Result<Ended, RecordError> {
    let stop = AtomicBool::new(false);
    let (mut asked, mut begun) = (None, None);
    std::thread::scope(|scope| {
        let guest = scope.spawn(|| run(&stop));
        while !guest.is_finished() {
            let control = record::read_control(dir).unwrap_or_default();
            if control.images > 0 {
                begun.get_or_insert_with(Instant::now);
            }
            let is_over = settings.longest.zip(begun).is_some_and(|(longest, begun)| begun.elapsed() >= longest);
            let mut why = is_over.then_some(Ending::TimeOver);
            if look(&control) == Look::Stop {
                why = Some(Ending::Interrupted);
            }
            if let (Some(why), None) = (why, &asked) {
                asked = Some(why);
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(POLL);
        }
        let end = guest.join().map_err(|_| RecordError::NoGuest("the thread of the guest panicked".into()))?;
        Ok((end, asked))
    })
}

/// Boots the guest, and boots it again after a stale breakpoint ([`RunError::is_stale_breakpoint`]).
fn boot(
    cache: &Cache,
    vm: &GuestRun<'_>,
    program: &Program,
    dir: &Path,
    settings: &Settings,
) -> Result<GuestReport, RunError> {
    let cpus = vm.topology.smp.cpus();
    let mut job = Job::new(program.workload(), 1, vec![0; cpus], 1);
    job.invocation = Some(program.invocation.clone());
    job.recorded = true;
    job.trace = false;
    job.sample_tasks = false;
    job.maps_every = 0;
    let mut boots = 1;
    loop {
        let end = guest::run(cache, vm, &job, &mut |_| {});
        if boots == BOOTS || !end.as_ref().is_err_and(RunError::is_stale_breakpoint) {
            return end;
        }
        boots += 1;
        let failed =
            |e: RecordError| RunError { kind: Failure::QemuFailed, detail: e.to_string(), console: Vec::new() };
        recorder::clear(dir, settings).map_err(failed)?;
    }
}

fn vm<'a>(
    guest: &Guest,
    topology: &'a GuestTopology,
    worker: &'a [u8],
    program: &'a Program,
    plugin: Plugin,
    stop: &'a AtomicBool,
) -> GuestRun<'a> {
    GuestRun {
        qemu: guest.qemu.clone(),
        worker,
        files: Some(&program.tree),
        kernel: guest.kernel.clone(),
        topology,
        timing: Timing::Counters,
        kvm: false,
        shift: qemu::DEFAULT_SHIFT,
        plugin: Some(plugin),
        boot_options: Vec::new(),
        budgets: Budgets { boot: guest.boot, run: ENDLESS, ..Budgets::default().longer(4) },
        stop: Some(stop),
    }
}

/// One node with all CPUs and the memory.
fn topology(guest: &Guest) -> GuestTopology {
    let cpus: Vec<u32> = (0..guest.cpus as u32).collect();
    GuestTopology {
        smp: Smp { sockets: 1, dies: 1, cores: guest.cpus, threads: 1 },
        nodes: vec![GuestNode { cpus: cpus.clone(), memory_bytes: memory_bytes(guest), initiator: 0 }],
        distance: vec![vec![10]],
        hmat: None,
        cpu_ids: cpus,
    }
}

fn memory_bytes(guest: &Guest) -> u64 {
    guest.memory_bytes.max(MEMORY_UNIT).div_ceil(MEMORY_UNIT) * MEMORY_UNIT
}

/// The configuration of the plugin: a word and a value in each line.
fn config(dir: &Path, guest: &Guest, settings: &Settings) -> Result<String, RecordError> {
    let place = dir.to_str().filter(|d| !d.contains('\n') && d.len() < 3800);
    let what = || RecordError::Files(format!("{}: a path that QEMU cannot be given", dir.display()));
    let mut out = format!("dir {}\n", place.ok_or_else(what)?);
    let Settings { slice_insns, near_bytes, far_bytes, .. } = settings;
    let numbers =
        [("slice", *slice_insns), ("near", *near_bytes), ("far", *far_bytes), ("memory", memory_bytes(guest))];
    for (word, number) in numbers {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{word} {number}");
    }
    Ok(out)
}

/// How the program ended, from the worker's report.
fn ending(name: &str, report: &GuestReport) -> Ending {
    match invocation::end_of(name, &report.outcome.status) {
        Some(Ok(code)) => Ending::Exit(code),
        Some(Err(signal)) => Ending::Signal(signal),
        None => Ending::Running,
    }
}

/// Names variables of the programs. Their files are those of this machine, at the same paths.
fn name_variables(dir: &Path, program: &Program) -> Result<(), RecordError> {
    let control = record::read_control(dir)?;
    let files = program.tree.files();
    let mut raw = String::new();
    for image in &record::read(dir)?.images {
        // Only the end of a path is kept.
        let Some((path, ..)) = files.iter().find(|f| !image.path.is_empty() && f.0.ends_with(&image.path)) else {
            continue;
        };
        if let Some(bias) = bias(image, Path::new(path)) {
            let _ = writeln!(raw, "program\t{}\t{bias:x}\t{path}", image.head.pid);
        }
    }
    let file = dir.join(sites::RAW);
    let failed = |e: std::io::Error| RecordError::Files(format!("{}: {e}", file.display()));
    std::fs::write(&file, raw).map_err(failed)?;
    sites::write(dir, &recorder::written_lines(dir, &control)).map_err(failed)
}

/// How far from its own addresses a program was loaded.
fn bias(image: &Image, path: &Path) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    sites::code_address(&bytes).map(|code| image.code.wrapping_sub(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_one_node_and_whole_units_of_memory() {
        let guest = Guest {
            qemu: "q".into(),
            name: "debian-6.12".into(),
            kernel: "k".into(),
            cpus: 3,
            memory_bytes: (1 << 30) + 1,
            boot: Duration::from_secs(1),
        };
        let topology = topology(&guest);
        assert_eq!((topology.smp.cpus(), topology.nodes.len()), (3, 1));
        assert_eq!(topology.memory_bytes(), (1 << 30) + MEMORY_UNIT);
        let text = config(Path::new("/a b"), &guest, &Settings::default()).unwrap();
        assert!(text.starts_with("dir /a b\nslice 1048576\n"), "{text}");
        assert!(text.ends_with(&format!("memory {}\n", (1 << 30) + MEMORY_UNIT)), "{text}");
    }
}
