//! Runs a program under `qemu-x86_64` with the plugin, and keeps what it counts.
//!
//! The plugin counts in files that it shares with this process, so that nothing is lost however the program ends. The
//! manifest is written before the start, and again at the end.

use crate::calls;
use crate::format::{self, Control, LINE_BYTES};
use crate::record::{self, Ending, Manifest, ReadError, CONTROL, MANIFEST, UNITS};
use crate::sites;
use numalab_lab::cache::Cache;
use numalab_lab::failure::RunError;
use numalab_lab::program::ProgramError;
use numalab_model::files::{input, output};
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// QEMU for programs of x86-64.
pub const QEMU: &str = "qemu-x86_64";
/// Variable that names another.
pub const QEMU_VARIABLE: &str = "NUMALAB_QEMU_USER";
/// What to do where this QEMU fails.
const IN_GUEST: &str = "`numalab record --accesses --in guest` records it in a guest";
/// Time between two looks at the program.
const POLL: Duration = Duration::from_millis(20);
/// Time that a program has to end when it is told to.
const GRACE: Duration = Duration::from_secs(5);
/// Scripts whose interpreters are scripts: how deep.
const MOST_SCRIPTS: usize = 4;
/// Machines in the head of a program (ELF).
const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// How to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most bytes of all files together; at least 1 MiB.
    pub limit_bytes: u64,
    /// Most program images: processes, and programs that they execute.
    pub most_images: u64,
    /// Modelled private cache of a thread, bytes.
    pub near_bytes: u64,
    /// Modelled share of the last-level cache, bytes.
    pub far_bytes: u64,
    /// Length of a first slice, instructions.
    pub slice_insns: u64,
    /// Least instructions of a stretch that is recorded before others are spared (`plugin/sampling.c`); 0 records all.
    pub stretch_insns: u64,
    /// Longest time to record; then the program is told to end.
    pub longest: Option<Duration>,
    /// Name of the program in reports; without one, the last part of its path.
    pub name: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limit_bytes: 64 << 20,
            most_images: 1024,
            near_bytes: 2 << 20,
            far_bytes: 4 << 20,
            slice_insns: 1 << 20,
            stretch_insns: 64 << 20,
            longest: None,
            name: None,
        }
    }
}

/// Why nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// There is no QEMU.
    #[error("{QEMU}: {0}; expected QEMU for programs (`apt-get install qemu-user`, or {QEMU_VARIABLE} names one)")]
    NoQemu(String),
    /// There is no such program.
    #[error("{0}: no such program; expected a program (`command -v` says whether there is one)")]
    NoProgram(String),
    /// The program is none for this QEMU.
    #[error("{program}: {what}; expected a program of x86-64, or a script of one")]
    Foreign {
        /// Its path.
        program: String,
        /// What it is.
        what: String,
    },
    /// The plugin cannot be compiled.
    #[error("{0}")]
    Plugin(String),
    /// A file cannot be written or read, or QEMU cannot be started.
    #[error("{0}")]
    Files(String),
    /// There is no QEMU for guests, or no worker.
    #[error("{0}")]
    NoGuest(String),
    /// The program, or what it is to have in the guest, is missing.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The guest failed.
    #[error("{0}{kept}", kept = if *.1 { "\nwhat was recorded until then is kept" } else { "" })]
    Guest(Box<RunError>, bool),
    /// QEMU ended before the program began.
    #[error(
        "{qemu} ended before the program began ({how}); it says why above. \
         expected a QEMU with version 1 of the plugin interface: 6.2 to 8.1"
    )]
    NotStarted {
        /// QEMU and its version.
        qemu: String,
        /// How it ended.
        how: String,
    },
}

impl From<ReadError> for RecordError {
    fn from(e: ReadError) -> Self {
        Self::Files(e.to_string())
    }
}

/// What a look at the running program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Go on.
    GoOn,
    /// Tell the program to end: somebody wants to stop.
    Stop,
}

/// A finished recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The manifest.
    pub manifest: Manifest,
    /// Totals.
    pub control: Control,
    /// What is to be said about how it ended, one sentence each: signals, system calls that QEMU lacks, room.
    pub remarks: Vec<String>,
}

/// Records a command in a directory, which is made, or must hold a record of accesses, which is replaced. `look` is
/// called often with totals so far.
///
/// # Errors
/// The program or QEMU is missing, or a file cannot be written. A program that fails is no error: its record is kept.
pub fn record(
    dir: &Path,
    command: &[String],
    settings: &Settings,
    look: &mut dyn FnMut(&Control) -> Look,
) -> Result<Recorded, RecordError> {
    let [program, arguments @ ..] = command else { return Err(RecordError::NoProgram("".into())) };
    let qemu = find_qemu()?;
    let mut line = program_line(program)?;
    line.extend(arguments.iter().cloned());
    let cache = Cache::open().map_err(|e| RecordError::Files(e.to_string()))?;
    let library = crate::plugin::library(&cache).map_err(RecordError::Plugin)?;
    let noted = crate::plugin::sites(&cache).map_err(RecordError::Plugin)?;
    let dir = prepare(dir, settings)?;
    let mut manifest = manifest(command, settings, &qemu.version);
    write(&dir, &manifest)?;
    let plugin = plugin_argument(&dir, &qemu.path, &library, settings)?;
    let again = translator_argument(&library);
    let mut start = Command::new(&qemu.path);
    start
        .arg("-plugin")
        .arg(plugin)
        .arg("-plugin")
        .arg(again)
        .args(sites_arguments(&dir, &qemu.path, &noted)?)
        .args(&line);
    let begun = Instant::now();
    let used_before = children_cpu_s();
    let child = start.spawn().map_err(|e| RecordError::Files(format!("{}: {e}", qemu.path.display())))?;
    let (status, asked) = watch(child, &dir, settings, begun, look)?;
    manifest.wall_s = begun.elapsed().as_secs_f64();
    manifest.cpu_s = children_cpu_s() - used_before;
    let control = record::read_control(&dir)?;
    if control.images == 0 {
        let how = status.to_string();
        return Err(RecordError::NotStarted { qemu: manifest.qemu, how });
    }
    manifest.ending = asked.unwrap_or_else(|| ending(status));
    sites::write(&dir, &written_lines(&dir, &control))
        .map_err(|e| RecordError::Files(format!("{}: {e}", dir.join(sites::FILE).display())))?;
    write(&dir, &manifest)?;
    let remarks = remarks(&dir, &manifest, &control)?;
    Ok(Recorded { manifest, control, remarks })
}

/// Processes, and addresses of lines that threads write by turns.
pub(crate) fn written_lines(dir: &Path, control: &Control) -> BTreeSet<(u32, u64)> {
    let image =
        |n: u64| crate::image::image(n, &input::bytes(&dir.join(format!("{n}.{UNITS}")), record::BYTES_MAX).ok()?);
    let images = (0..control.images.min(control.most_images).min(1 << 16)).filter_map(image);
    let of = |i: &crate::image::Image| i.writers.iter().map(|w| (i.head.pid, w.line * LINE_BYTES)).collect::<Vec<_>>();
    images.flat_map(|i| of(&i)).collect()
}

/// A QEMU.
struct Qemu {
    path: PathBuf,
    version: String,
}

fn find_qemu() -> Result<Qemu, RecordError> {
    let named = std::env::var_os(QEMU_VARIABLE).filter(|v| !v.is_empty());
    let missing = || RecordError::NoQemu("not found".into());
    let path = match named {
        Some(path) => PathBuf::from(path),
        None => find_in_path(QEMU).ok_or_else(missing)?,
    };
    let output = Command::new(&path).arg("--version").output();
    let output = output.map_err(|e| RecordError::NoQemu(format!("{}: {e}", path.display())))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().next().unwrap_or_default().to_string();
    let path = path.canonicalize().map_err(|e| RecordError::NoQemu(format!("{}: {e}", path.display())))?;
    Ok(Qemu { path, version })
}

/// A program by name, in the folders of `PATH`.
fn find_in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|f| f.join(name)).find(|p| is_executable(p))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// What QEMU is to run: the path of the program, or of a script's interpreter, its argument, and the script.
fn program_line(program: &str) -> Result<Vec<String>, RecordError> {
    let missing = || RecordError::NoProgram(program.into());
    let mut path = match program.contains('/') {
        true => PathBuf::from(program),
        false => find_in_path(program).ok_or_else(missing)?,
    };
    if !is_executable(&path) {
        return Err(missing());
    }
    let mut line = vec![path.display().to_string()];
    for _ in 0..MOST_SCRIPTS {
        let begin = first_bytes(&path).map_err(|e| RecordError::Files(format!("{}: {e}", path.display())))?;
        let Some(script) = begin.strip_prefix(b"#!") else { return check_program(&path, &begin).map(|()| line) };
        let text = String::from_utf8_lossy(script);
        let text = text.lines().next().unwrap_or_default().trim();
        let (interpreter, argument) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        path = PathBuf::from(interpreter);
        let argument = argument.trim();
        line.splice(0..0, [interpreter.to_string()].into_iter().chain((!argument.is_empty()).then(|| argument.into())));
    }
    Err(RecordError::Foreign { program: program.into(), what: "a script of scripts".into() })
}

fn first_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut out = Vec::new();
    std::fs::File::open(path)?.take(512).read_to_end(&mut out)?;
    Ok(out)
}

/// Refuses what is no 64-bit program of x86-64.
fn check_program(path: &Path, begin: &[u8]) -> Result<(), RecordError> {
    let machine = begin.get(18..20).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let what = match (begin.starts_with(b"\x7fELF"), begin.get(4), machine) {
        (true, Some(2), Some(X86_64)) => return Ok(()),
        (true, Some(1), _) => "a 32-bit program".to_string(),
        (true, _, Some(AARCH64)) => "a program of AArch64".to_string(),
        (true, _, Some(machine)) => format!("a program of another architecture (ELF machine {machine})"),
        _ => "neither a program nor a script".to_string(),
    };
    Err(RecordError::Foreign { program: path.display().to_string(), what })
}

/// Makes the directory, and removes the record that it may hold.
pub fn prepare(dir: &Path, settings: &Settings) -> Result<PathBuf, RecordError> {
    let failed = |e: std::io::Error| RecordError::Files(format!("{}: {e}", dir.display()));
    let is_empty = |dir: &Path| std::fs::read_dir(dir).map(|mut d| d.next().is_none());
    if dir.exists() && !record::is_record(dir) && !is_empty(dir).map_err(failed)? {
        let what = format!("{}: holds other files", dir.display());
        return Err(RecordError::Files(format!("{what}; expected a new directory, or a record of accesses (--out)")));
    }
    std::fs::create_dir_all(dir).map_err(failed)?;
    clear(dir, settings)?;
    dir.canonicalize().map_err(failed)
}

/// Removes the record of a directory, and begins another.
pub(crate) fn clear(dir: &Path, settings: &Settings) -> Result<(), RecordError> {
    let failed = |e: std::io::Error| RecordError::Files(format!("{}: {e}", dir.display()));
    for entry in std::fs::read_dir(dir).map_err(failed)?.flatten() {
        let path = entry.path();
        let is_units = path.extension().is_some_and(|e| e == UNITS);
        if is_units || [CONTROL, MANIFEST, sites::RAW, sites::FILE].iter().any(|n| path.ends_with(n)) {
            std::fs::remove_file(&path).map_err(failed)?;
        }
    }
    std::fs::write(dir.join(CONTROL), format::new_control(settings.limit_bytes, settings.most_images)).map_err(failed)
}

/// The manifest of a recording that begins now, under a QEMU of this version.
pub(crate) fn manifest(command: &[String], settings: &Settings, qemu: &str) -> Manifest {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let program = command.first().map(String::as_str).unwrap_or_default();
    Manifest {
        format: 1,
        numalab: env!("CARGO_PKG_VERSION").into(),
        command: command.to_vec(),
        name: settings.name.clone().unwrap_or_else(|| program.rsplit('/').next().unwrap_or_default().into()),
        qemu: qemu.into(),
        near_bytes: settings.near_bytes,
        far_bytes: settings.far_bytes,
        slice_insns: settings.slice_insns,
        began_unix_ms: at.as_millis() as u64,
        wall_s: 0.0,
        cpu_s: 0.0,
        guest: String::new(),
        sampled: false,
        ending: Ending::Running,
    }
}

/// Writes the manifest, whole or not at all.
pub(crate) fn write(dir: &Path, manifest: &Manifest) -> Result<(), RecordError> {
    let path = dir.join(MANIFEST);
    let failed = |e: std::io::Error| RecordError::Files(format!("{}: {e}", path.display()));
    let text = serde_json::to_string_pretty(manifest).map_err(|e| failed(e.into()))?;
    output::replace(&path, text.as_bytes()).map_err(failed)
}

/// The argument that loads the plugin. Commas divide it, so no path may have one.
fn plugin_argument(dir: &Path, qemu: &Path, library: &Path, settings: &Settings) -> Result<String, RecordError> {
    let text = |path: &Path| match path.to_str() {
        Some(text) if !text.contains(',') && text.len() < 3800 => Ok(text.to_string()),
        _ => {
            let what = format!("{}: a path that QEMU cannot be given", path.display());
            Err(RecordError::Files(format!("{what}; expected one of text without commas")))
        }
    };
    let (dir, qemu, library) = (text(dir)?, text(qemu)?, text(library)?);
    let Settings { slice_insns, near_bytes, far_bytes, stretch_insns, .. } = settings;
    Ok(format!(
        "{library},library={library},dir={dir},qemu={qemu},slice={slice_insns},near={near_bytes},far={far_bytes},\
         stretch={stretch_insns}"
    ))
}

/// The argument that loads the plugin a second time, which QEMU does only by another path (`plugin/sampling.c`).
fn translator_argument(library: &Path) -> String {
    let folder = library.parent().unwrap_or(Path::new("/")).display();
    format!("{folder}/./{},translates=on", library.file_name().unwrap_or_default().to_string_lossy())
}

/// The arguments that load the library of [`sites`] into the program, and tell it where to write.
fn sites_arguments(dir: &Path, qemu: &Path, library: &Path) -> Result<Vec<String>, RecordError> {
    let raw = dir.join(sites::RAW);
    std::fs::write(&raw, "").map_err(|e| RecordError::Files(format!("{}: {e}", raw.display())))?;
    let mut preload = library.display().to_string();
    // A comma would divide the argument, so such a list stays the program's own.
    if let Some(own) = std::env::var("LD_PRELOAD").ok().filter(|own| !own.is_empty() && !own.contains(',')) {
        preload = format!("{preload}:{own}");
    }
    let all = [
        ("LD_PRELOAD", preload),
        ("NUMALAB_SITES", raw.display().to_string()),
        ("NUMALAB_SITES_QEMU", qemu.display().to_string()),
    ];
    Ok(all.into_iter().flat_map(|(name, value)| ["-E".to_string(), format!("{name}={value}")]).collect())
}

/// CPU time of children that have been waited for, with theirs, s.
pub(crate) fn children_cpu_s() -> f64 {
    // SAFETY: the structure is plain data, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Waits for the program. The second value is why it was told to end, if it was.
fn watch(
    mut child: Child,
    dir: &Path,
    settings: &Settings,
    begun: Instant,
    look: &mut dyn FnMut(&Control) -> Look,
) -> Result<(ExitStatus, Option<Ending>), RecordError> {
    let mut asked: Option<(Ending, Instant)> = None;
    loop {
        if let Some(status) = child.try_wait().map_err(|e| RecordError::Files(format!("wait: {e}")))? {
            return Ok((status, asked.map(|a| a.0)));
        }
        let mut stop = settings.longest.is_some_and(|l| begun.elapsed() >= l).then_some(Ending::TimeOver);
        if look(&record::read_control(dir).unwrap_or_default()) == Look::Stop {
            stop = Some(Ending::Interrupted);
        }
        let pid = child.id() as i32;
        match (&asked, stop) {
            (None, Some(why)) => {
                // SAFETY: the child is not waited for yet, so the number is its own.
                unsafe { libc::kill(pid, libc::SIGTERM) };
                asked = Some((why, Instant::now()));
            }
            (Some((_, at)), _) if at.elapsed() > GRACE => {
                // SAFETY: as above.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            _ => {}
        }
        std::thread::sleep(POLL);
    }
}

/// How a program with this status ended.
pub fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exit(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Exit(0),
    }
}

/// The name of a signal, with its number: "SIGSEGV (signal 11)".
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGILL => "SIGILL",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGABRT => "SIGABRT",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        libc::SIGPIPE => "SIGPIPE",
        _ => return format!("signal {signal}"),
    };
    format!("{name} (signal {signal})")
}

/// What is to be said about a finished recording.
pub(crate) fn remarks(dir: &Path, manifest: &Manifest, control: &Control) -> Result<Vec<String>, RecordError> {
    let is_guest = !manifest.guest.is_empty();
    let advice = |whose: &str| match is_guest {
        true => String::new(),
        false => format!(". If {whose}, {QEMU} cannot run it: {IN_GUEST}"),
    };
    let record = record::read(dir)?;
    let mut out = Vec::new();
    let failed = !matches!(manifest.ending, Ending::Exit(0) | Ending::Interrupted | Ending::TimeOver);
    let unknown: Option<u32> = record.images.iter().find_map(|i| i.head.unknown_call);
    if let Ending::Signal(signal) = manifest.ending {
        let what =
            format!("{} was ended by {} after {} instructions", manifest.name, signal_name(signal), control.insns);
        out.push(format!("{what}; the record so far is kept{}", advice("it does not end so by itself")));
    }
    if let (true, Some(call)) = (failed, unknown) {
        let what = format!("the program asked for `{}`, a system call that {QEMU} does not have", calls::name(call));
        out.push(format!("{what}: {IN_GUEST}"));
    }
    let killed = record.images.iter().skip(1).filter(|i| i.was_killed()).count();
    if killed > 0 {
        let further = record.images.len() - 1;
        out.push(format!(
            "{killed} of {further} further program images ended without an exit, as by a signal{}",
            advice("they do not end so by themselves")
        ));
    }
    match control.full {
        format::Full::No => {}
        format::Full::Limit => out.push("the record has its largest size: the rest of the run is not in it".into()),
        format::Full::Disk => out.push("the disk is full: the rest of the run is not in the record".into()),
    }
    if control.unrecorded_images > 0 {
        out.push(format!(
            "{} of {} program images are not recorded, for want of room",
            control.unrecorded_images, control.images
        ));
    }
    if control.foreign_execs > 0 {
        out.push(format!("{} executed programs are not of x86-64, and ran unrecorded", control.foreign_execs));
    }
    Ok(out)
}
