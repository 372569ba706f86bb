//! `numalab record`: a program of this machine as a run with a record.

use crate::context::{named, Context};
use crate::failure::{note, Done, Exit, Failure};
use crate::options::{self, scope, time_option};
use crate::service::guest_accesses::{self, GuestRecordArgs, HEADING};
use crate::service::measured_program::{running_kernel, unknown_workload};
use crate::service::{accesses, sampled_accesses};
use numalab_accesses::recorder::{self, Settings};
use numalab_host::procfs::scope::Scope;
use numalab_host::procfs::{cgroup, numa_balancing, process, Roots};
use numalab_host::record::{Recorder, Recording};
use numalab_host::sys;
use numalab_host::watch::Limits;
use numalab_model::experiment::{Axes, Cell, Experiment};
use numalab_model::kernel::Kernel;
use numalab_model::machine::{import, size, Machine};
use numalab_model::plan::{Backend, PlanId, PlanInput, SourceFile};
use numalab_model::record::{EffectiveTunable, Status, Store};
use numalab_model::workload::Workload;
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Arguments of `record`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command to run and record, after `--`
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["pid", "cgroup"], required_unless_present_any = ["pid", "cgroup"])]
    command: Vec<OsString>,
    /// Process to record, with its descendants, until it ends
    #[arg(long, value_name = "PID", conflicts_with = "cgroup")]
    pid: Option<u32>,
    /// Control group to record, until it is empty
    #[arg(long, value_name = "GROUP")]
    cgroup: Option<String>,
    /// Longest time to record, such as 30s. A command that still runs goes on unrecorded, and is waited for; with
    /// --accesses it is told to end
    #[arg(long = "for", value_name = "TIME", value_parser = time_option)]
    longest: Option<Duration>,
    /// Time between two samples
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time_option)]
    every: Duration,
    /// Record accesses to memory: run the command under QEMU's user mode, or in a guest (--in guest), and count the
    /// lines that its threads visit (docs/how-to/record-accesses.md)
    #[arg(long, conflicts_with_all = ["pid", "cgroup", "every", "column"])]
    accesses: bool,
    /// Where accesses come from
    #[arg(long, value_enum, default_value_t = AccessSampler::Qemu, requires = "accesses")]
    sampler: AccessSampler,
    /// Largest size of a record of accesses
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size::read_option, requires = "accesses")]
    most: u64,
    /// Record the accesses of all instructions: else long runs are recorded in stretches, and what lies between them is
    /// taken to be alike (under QEMU's user mode alone)
    #[arg(long, requires = "accesses")]
    every_access: bool,
    #[command(flatten)]
    guest: GuestRecordArgs,
    /// Kernel image of the guest [default: debian-6.12]
    #[arg(help_heading = HEADING, long, value_name = "IMAGE")]
    kernel: Option<String>,
    /// Name of the recorded program in reports [default: that of the command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Name of the setting under which it ran: the column of a comparison [default: balancing-on or balancing-off]
    #[arg(long = "as", value_name = "NAME")]
    column: Option<String>,
    /// Directory of the records. Further recordings are added to it [default: out/record]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print where the record is and its figures as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Where accesses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AccessSampler {
    /// Every access, under QEMU's user mode
    Qemu,
    /// Samples of the processor (PEBS, IBS), while the command runs at its own speed
    Perf,
}

/// Name of the list of recordings.
const EXPERIMENT: &str = "record";

/// Records a command, a process or a control group.
///
/// # Errors
/// No such command, process or control group; a directory that cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    if args.accesses {
        return record_accesses(args);
    }
    if let Some(option) = args.guest.given().or(args.kernel.as_ref().map(|_| "--kernel")) {
        return Err(Failure::usage(format!("{option}: is for a record of accesses; expected `--accesses` too")));
    }
    let roots = Roots::default();
    let dir = options::directory(args.out.as_deref(), EXPERIMENT);
    let target = scope(&roots, args.pid, args.cgroup.as_deref())?;
    let what = what(&roots, args)?;
    let plan = Planned::new(context, &roots, args, &what, &dir)?;
    let stop = Stop::new()?;
    let ended = match target {
        Some(scope) => record_scope(&roots, scope, args, &stop)?,
        None => record_command(&roots, args, &stop)?,
    };
    let (recording, exit) = ended;
    let cost = recording.own_cpu.as_secs_f64();
    let elapsed = recording.outcome.scalars.first().map_or(0.0, |s| s.value);
    let share = if elapsed > 0.0 { cost / elapsed * 100.0 } else { 0.0 };
    for lack in &recording.outcome.warnings {
        note(&format!("numalab: missing: {lack}"));
    }
    let path = plan.store(&dir, &recording)?;
    let text = format!(
        "recorded {what} for {elapsed:.1} s in {} samples; recording took {cost:.3} s of CPU time ({share:.2} % of one CPU)\n\
         record: {}\ncompare: numalab compare {}\nreport: numalab report {}\n",
        recording.samples,
        path.display(),
        dir.display(),
        dir.display()
    );
    let done = if args.json {
        let figures: serde_json::Map<String, serde_json::Value> =
            recording.outcome.scalars.iter().map(|s| (s.name.clone(), json!(s.value))).collect();
        Done::json(&json!({
            "directory": dir.display().to_string(),
            "record": path.display().to_string(),
            "samples": recording.samples,
            "overhead_percent": share,
            "figures": figures,
            "missing": recording.outcome.warnings,
        }))?
    } else {
        Done::text(text)
    };
    Ok(Done { exit, ..done })
}

/// Smallest room for a record of accesses, bytes.
const LEAST_ROOM: u64 = 1 << 20;

/// Refuses options that have no effect on a record of accesses by this sampler.
fn check_accesses(args: &Args) -> Result<(), Failure> {
    if args.most < LEAST_ROOM {
        return Err(Failure::usage(format!("--most: is {}; expected at least 1 MiB", size::short(args.most))));
    }
    args.guest.check()?;
    let (is_guest, by_perf) = (args.guest.is_guest(), args.sampler == AccessSampler::Perf);
    if args.kernel.is_some() && !is_guest {
        return Err(guest_accesses::without_guest("--kernel"));
    }
    if is_guest && by_perf {
        let what = "has no effect in a guest, which sees every access";
        return Err(Failure::usage(format!("--sampler perf: {what}; expected it without --in guest")));
    }
    if args.every_access && (is_guest || by_perf) {
        let (what, without) = match is_guest {
            true => ("has no effect in a guest, which sees every access", "--in guest"),
            false => ("has no effect with samples of the hardware", "--sampler perf"),
        };
        return Err(Failure::usage(format!("--every-access: {what}; expected it without {without}")));
    }
    Ok(())
}

/// Records the accesses of a command.
fn record_accesses(args: &Args) -> Result<Done, Failure> {
    let command: Vec<String> = args.command.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    check_accesses(args)?;
    let is_guest = args.guest.is_guest();
    let dir = options::directory(args.out.as_deref(), "accesses");
    let mut settings =
        Settings { limit_bytes: args.most, longest: args.longest, name: args.name.clone(), ..Settings::default() };
    if args.every_access {
        settings.stretch_insns = 0;
    }
    let stop = Stop::new()?;
    let (manifest, control, remarks) = match args.sampler {
        AccessSampler::Qemu if is_guest => {
            let recorded = {
                let guest = (&args.guest, args.kernel.as_deref());
                guest_accesses::record(&dir, &command, guest, &settings, &|| stop.asked())?
            };
            (recorded.manifest, recorded.control, recorded.remarks)
        }
        AccessSampler::Qemu => {
            let recorded = accesses::record(&dir, &command, &settings, &|| stop.asked())?;
            (recorded.manifest, recorded.control, recorded.remarks)
        }
        AccessSampler::Perf => {
            let recorded = sampled_accesses::record(&dir, &command, &settings, &|| stop.asked())?;
            (recorded.manifest, recorded.control, Vec::new())
        }
    };
    let by = match args.sampler {
        AccessSampler::Qemu if is_guest => format!("in a guest of {}", manifest.guest),
        AccessSampler::Qemu => format!("under {}", recorder::QEMU),
        AccessSampler::Perf => format!("by {}", manifest.qemu),
    };
    let exit = accesses::exit(&manifest.ending);
    if args.json {
        let value = json!({
            "directory": dir.display().to_string(),
            "ending": manifest.ending,
            "instructions": control.insns,
            "lines": control.lines,
            "images": control.images,
            "bytes": control.used_bytes,
            "wall_s": manifest.wall_s,
            "cpu_s": manifest.cpu_s,
            "remarks": remarks,
        });
        return Ok(Done { exit, ..Done::json(&value)? });
    }
    let text = format!(
        "recorded {} {by}: {:.1} M instructions, {:.2} M lines visited, {} program images; {}\n\
         record: {} ({})\nfit: numalab fit {}\nreport: numalab report {}\n",
        manifest.name,
        control.insns as f64 / 1e6,
        control.lines as f64 / 1e6,
        control.images,
        accesses::ended(&manifest.ending),
        dir.display(),
        size::short(control.used_bytes),
        dir.display(),
        dir.display()
    );
    Ok(Done { exit, ..Done::text(text) })
}

/// Whether a signal has asked for the end.
struct Stop {
    /// Ctrl-C, which a command on the same terminal gets too.
    interrupted: Arc<AtomicBool>,
    /// SIGTERM, which it does not get.
    terminated: Arc<AtomicBool>,
}

impl Stop {
    fn new() -> Result<Self, Failure> {
        let stop = Self { interrupted: Arc::default(), terminated: Arc::default() };
        for (signal, flag) in [(SIGINT, &stop.interrupted), (SIGTERM, &stop.terminated)] {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .map_err(|e| Failure::environment(format!("signals: {e}")))?;
        }
        Ok(stop)
    }
    fn terminated(&self) -> bool {
        self.terminated.load(Ordering::Relaxed)
    }
    fn asked(&self) -> bool {
        self.terminated() || self.interrupted.load(Ordering::Relaxed)
    }
}

/// What is recorded, in a word.
fn what(roots: &Roots, args: &Args) -> Result<String, Failure> {
    let of_path = |p: &OsString| Path::new(p).file_name().unwrap_or(p).to_string_lossy().into_owned();
    let name = match (&args.name, args.command.first(), args.pid, &args.cgroup) {
        (Some(name), ..) => name.clone(),
        (None, Some(command), ..) => of_path(command),
        (None, None, Some(pid), _) => process::stat(roots, pid).map(|s| s.name).unwrap_or_default(),
        (None, None, None, cgroup) => of_path(&cgroup.clone().unwrap_or_default().into()),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let plain: String = name.chars().map(|c| if fits(c) { c } else { '_' }).take(60).collect();
    match plain.is_empty() {
        true => Err(Failure::usage("--name: is empty; expected letters, digits and ._+-")),
        false => Ok(plain),
    }
}

/// Records until the scope is empty, the time is over, or a signal asks for the end.
fn record_scope(roots: &Roots, scope: Scope, args: &Args, stop: &Stop) -> Result<(Recording, Exit), Failure> {
    let begun = Instant::now();
    let group = match &scope {
        Scope::Cgroup(name) => Some(cgroup::directory(roots, name)),
        _ => None,
    };
    let mut recorder = Recorder::start(roots.clone(), scope, Limits::default(), true).map_err(Failure::environment)?;
    let limit = args.longest.unwrap_or(Duration::MAX);
    while !stop.asked() && begun.elapsed() < limit {
        std::thread::sleep(args.every.min(limit.saturating_sub(begun.elapsed())));
        match recorder.sample() {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) => {
                // A control group that has gone is empty. One that is there and cannot be read ends it too early.
                if group.as_ref().is_some_and(|g| g.exists()) {
                    recorder.lack(format!("the end: {e}"));
                }
                break;
            }
        }
    }
    Ok((recorder.finish(begun.elapsed(), None, Status::Completed), Exit::OK))
}

/// Runs a command and records it.
fn record_command(roots: &Roots, args: &Args, stop: &Stop) -> Result<(Recording, Exit), Failure> {
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Err(Failure::usage("record: no command; expected one after `--`, or --pid or --cgroup"));
    };
    // Processes whose parents have ended stay descendants of this one.
    numalab_worker::sys::adopt_orphans();
    let scope = Scope::Tree(std::process::id());
    let mut recorder = Recorder::start(roots.clone(), scope, Limits::default(), true).map_err(Failure::environment)?;
    let begun = Instant::now();
    let mut child = Command::new(program).args(arguments).spawn().map_err(|e| {
        let name = Path::new(program).display();
        Failure::usage(format!("{name}: {e}; expected a program (`command -v` says whether there is one)"))
    })?;
    let limit = args.longest.unwrap_or(Duration::MAX);
    let mut next = begun;
    let mut passed_on = false;
    let status = loop {
        if begun.elapsed() < limit && Instant::now() >= next {
            recorder.sample().map_err(Failure::environment)?;
            next = Instant::now() + args.every;
        }
        if let Some(status) = child.try_wait().map_err(|e| Failure::environment(format!("wait: {e}")))? {
            break status;
        }
        if stop.terminated() && !passed_on {
            sys::terminate(child.id());
            passed_on = true;
        }
        std::thread::sleep(Duration::from_millis(10).min(args.every));
    };
    let elapsed = begun.elapsed().min(limit);
    let (how, exit) = ending(status);
    let recording = recorder.finish(elapsed, Some(sys::children_times()), how);
    Ok((recording, exit))
}

/// How a command ended, as the status of its run, and the exit code of this one.
fn ending(status: ExitStatus) -> (Status, Exit) {
    match (status.code(), status.signal()) {
        (Some(0), _) => (Status::Completed, Exit::OK),
        (Some(code), _) => (Status::Failed(format!("the command ended with exit code {code}")), Exit::FINDING),
        (None, signal) => {
            let signal = signal.unwrap_or(0);
            (Status::Failed(format!("the command was ended by signal {signal}")), Exit::FINDING)
        }
    }
}

/// The plan of a recording.
struct Planned {
    input: PlanInput,
    /// Recordings that the directory has already, and this one, of the same machine, program and setting.
    earlier: Vec<Cell>,
    iteration: u32,
    /// Mode of the kernel's balancing.
    mode: Option<u32>,
}

/// The setting of the kernel's balancing as a record has it.
fn balancing(mode: u32) -> EffectiveTunable {
    EffectiveTunable {
        name: "system.numa_balancing".into(),
        value: mode.to_string(),
        unit: String::new(),
        kernel_name: "kernel.numa_balancing".into(),
    }
}

impl Planned {
    /// Machine, kernel and program as they are now. The setting is the column of a comparison.
    fn new(context: &Context, roots: &Roots, args: &Args, what: &str, dir: &Path) -> Result<Self, Failure> {
        let text = import::sysfs(Path::new("/"), "host")?;
        let machine = Arc::new(numalab_model::machine::from_toml("host.toml", &text)?);
        let kernel = Arc::new(running_kernel(context, roots, args.column.as_deref())?);
        let workload = Arc::new(unknown_workload(what));
        let earlier = earlier(dir, &machine, &kernel, &workload)?;
        let iteration = earlier.iter().map(|c| c.iteration + 1).max().unwrap_or(0);
        let seed = u64::from(iteration) + 1;
        let version = format!("{} {}", env!("CARGO_PKG_VERSION"), kernel.image.as_deref().unwrap_or_default());
        let backend = Backend { name: "host", version: &version };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis());
        let command: Vec<String> = args.command.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        let conditions = vec![
            ("recorded".to_string(), if command.is_empty() { what.to_string() } else { command.join(" ") }),
            ("at_unix_ms".to_string(), at.to_string()),
        ];
        let source = SourceFile { place: "machines/host.toml".into(), bytes: text.as_bytes().into() };
        let input = PlanInput::new(backend, machine, kernel, workload, seed)?.under(conditions)?;
        let mode = numa_balancing::mode(&roots.proc);
        Ok(Self { input: input.with_sources([source].into()), earlier, iteration, mode })
    }

    /// Writes the record and lists it after the earlier ones.
    fn store(self, dir: &Path, recording: &Recording) -> Result<PathBuf, Failure> {
        let mut outcome = recording.outcome.clone();
        outcome.tunables = self.mode.map(balancing).into_iter().collect();
        let name = |value: &str| named(EXPERIMENT, value);
        let plan = &self.input.plan;
        let experiment = Experiment {
            name: EXPERIMENT.into(),
            title: "Programs recorded on this machine".into(),
            about: String::new(),
            machines: vec![name(&plan.machine.name)],
            kernels: vec![name(&plan.kernel.name)],
            workloads: vec![name(&plan.workload.name)],
            baseline: None,
            iterations: self.iteration + 1,
            seed: 1,
            sets: vec![],
            params: vec![],
            axes: Axes::default(),
        };
        let mut cells = self.earlier;
        cells.push(Cell { iteration: self.iteration, input: self.input });
        let store = Store::create(dir, &experiment, &cells)?;
        let Some(own) = cells.last() else { return Err(Failure::environment("record: no plan")) };
        let record = store.put(&own.input, &outcome)?;
        store.settle()?;
        Ok(record.path)
    }
}

/// Recordings in a directory of the same machine, program and setting, as cells of a list.
fn earlier(
    dir: &Path,
    machine: &Arc<Machine>,
    kernel: &Arc<Kernel>,
    workload: &Arc<Workload>,
) -> Result<Vec<Cell>, Failure> {
    if !dir.join("experiment.json").exists() {
        return Ok(Vec::new());
    }
    let store = Store::open(dir)?;
    if store.file().name != EXPERIMENT {
        let what = format!("{}: it holds the experiment `{}`", dir.display(), store.file().name);
        return Err(Failure::usage(format!("{what}; expected a new directory, or one of recordings (--out)")));
    }
    let mut out = Vec::new();
    let same = |m: &&numalab_model::record::Member| {
        (m.machine.as_str(), m.workload.as_str(), m.kernel.as_str())
            == (machine.name.as_str(), workload.name.as_str(), kernel.name.as_str())
    };
    for member in store.file().runs.iter().filter(same) {
        let Some(record) = store.record(member)? else { continue };
        let plan = record.manifest.plan;
        let id = PlanId::of(&plan)?;
        let (machine, kernel, workload) = (Arc::clone(machine), Arc::clone(kernel), Arc::clone(workload));
        let seed = plan.seed;
        let input = PlanInput { plan, id, machine, kernel, workload, seed, sources: Arc::new([]) };
        out.push(Cell { iteration: member.iteration, input });
    }
    Ok(out)
}
