//! One virtual machine: starts QEMU, follows the guest's report, and classifies the end.
//!
//! The guest reports in frames on its second serial line, which is a file on the host that is read as it grows. Three
//! budgets of the time in which QEMU could run bound every run: until process 1 reports, until the report is complete,
//! and between two frames.
//! Every kind of [`Failure`] has an exit code and keeps the last console lines.

use crate::cache::Cache;
use crate::child::ends_with_parent;
use crate::failure::{at_path, classify, tail, Failure, RunError};
use crate::initrd::initrd;
use crate::own_time::OwnTime;
use crate::plugin::Plugin;
use crate::program::tree::Tree;
use crate::qemu::{self, Launch, Timing};
use crate::setting;
use crate::topology::GuestTopology;
use numalab_model::record::Outcome;
use numalab_worker::frame::{Frame, Kind, Reader};
use numalab_worker::job::Job;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Budgets of a run, in time in which QEMU could run ([`OwnTime`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// From QEMU's start until process 1 of the guest reports.
    pub boot: Duration,
    /// From the report of process 1 to the end of the report.
    pub run: Duration,
    /// Longest time without a byte of the report while the guest runs.
    pub silence: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { boot: seconds(120), run: seconds(3600), silence: seconds(300) }
    }
}

impl Budgets {
    /// The budgets, each multiplied by `factor`.
    pub fn longer(self, factor: u32) -> Self {
        Self { boot: self.boot * factor, run: self.run * factor, silence: self.silence * factor }
    }

    /// The budget that a guest has exceeded, if any, and what did not happen in time. All times count from QEMU's
    /// start: `now`, `booted` (process 1 reported, if it has) and `heard` (the last bytes of the report).
    fn exceeded(self, now: Duration, booted: Option<Duration>, heard: Duration) -> Option<(Failure, String)> {
        match booted {
            None if now > self.boot => {
                Some((Failure::BootTimeout, format!("process 1 did not report within {} s", self.boot.as_secs())))
            }
            Some(_) if now.saturating_sub(heard) > self.silence => {
                Some((Failure::Hang, format!("nothing was reported for {} s", self.silence.as_secs())))
            }
            Some(boot) if now.saturating_sub(boot) > self.run => {
                Some((Failure::RunTimeout, format!("the report was not complete within {} s", self.run.as_secs())))
            }
            _ => None,
        }
    }
}

/// A run of one job on one guest.
#[derive(Clone, Debug)]
pub struct GuestRun<'a> {
    /// QEMU program.
    pub qemu: PathBuf,
    /// Bytes of the static worker program.
    pub worker: &'a [u8],
    /// Files of a program of the user.
    pub files: Option<&'a Tree>,
    /// Kernel image (bzImage, or vmlinux with PVH).
    pub kernel: PathBuf,
    /// NUMA topology of the guest.
    pub topology: &'a GuestTopology,
    /// Timing mode.
    pub timing: Timing,
    /// Use KVM (only in [`Timing::Counters`]).
    pub kvm: bool,
    /// log2 of ns per instruction in [`Timing::Modelled`].
    pub shift: u32,
    /// Plugin to load, if any.
    pub plugin: Option<Plugin>,
    /// Further words for the kernel's command line.
    pub boot_options: Vec<String>,
    /// Budgets.
    pub budgets: Budgets,
    /// Somebody wants the end: QEMU is told to end, and the run fails with [`Failure::QemuKilled`].
    pub stop: Option<&'a AtomicBool>,
}

/// Result of a complete run.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestReport {
    /// Outcome that the worker measured.
    pub outcome: Outcome,
    /// Release of the kernel that ran.
    pub release: String,
    /// Wall time from QEMU's start until process 1 reported.
    pub boot: Duration,
    /// Wall time from the report of process 1 to the end.
    pub run: Duration,
    /// Text of the plugin's log, if a plugin was loaded.
    pub plugin_log: Option<String>,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Time of the workload so far on the guest's clock, ns; `None` while the guest boots.
    pub guest_ns: Option<u64>,
    /// Wall time since QEMU's start.
    pub wall: Duration,
}

/// Time between two polls of a guest.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs a job on a guest; `progress` is called for every frame.
///
/// # Errors
/// [`RunError`] unless the report is complete.
pub fn run(
    cache: &Cache,
    vm: &GuestRun<'_>,
    job: &Job,
    progress: &mut dyn FnMut(Progress),
) -> Result<GuestReport, RunError> {
    let host = |detail: String| RunError::new(Failure::QemuFailed, detail);
    let directory = cache.run_directory().map_err(|e| host(format!("run directory: {e}")))?;
    let files = RunFiles::prepare(directory.path(), vm, job).map_err(host)?;
    let mut guest = Guest::start(vm, &files, job.seed).map_err(host)?;
    let end = guest.follow(vm, progress);
    guest.stop();
    let report = guest.finish(end).map_err(|(kind, detail)| {
        let console = files.console();
        let (kind, detail) = classify(kind, detail, &console, &files.errors());
        RunError { kind, detail, console: tail(&console) }
    })?;
    // Without a plugin there is no log.
    Ok(GuestReport { plugin_log: std::fs::read_to_string(&files.plugin_log).ok(), ..report })
}

/// Files of one run, in its directory.
struct RunFiles {
    initrd: PathBuf,
    console: PathBuf,
    report: PathBuf,
    errors: PathBuf,
    plugin_config: PathBuf,
    plugin_log: PathBuf,
}

impl RunFiles {
    fn at(directory: &Path) -> Self {
        Self {
            initrd: directory.join("initrd"),
            console: directory.join("console"),
            report: directory.join("report"),
            errors: directory.join("stderr"),
            plugin_config: directory.join("plugin.conf"),
            plugin_log: directory.join("plugin.log"),
        }
    }

    fn prepare(directory: &Path, vm: &GuestRun<'_>, job: &Job) -> Result<Self, String> {
        let files = Self::at(directory);
        let bytes = job.to_bytes().map_err(|e| e.to_string())?;
        let write = |path: &Path, bytes: &[u8]| std::fs::write(path, bytes).map_err(at_path(path));
        write(&files.initrd, &initrd(vm.worker, &bytes, vm.files).map_err(|e| format!("initial RAM disk: {e}"))?)?;
        write(&files.report, b"")?;
        write(&files.console, b"")?;
        if let Some(plugin) = &vm.plugin {
            let text = format!("{}log {}\n", plugin.config, files.plugin_log.display());
            write(&files.plugin_config, text.as_bytes())?;
        }
        Ok(files)
    }

    fn console(&self) -> Vec<String> {
        let bytes = std::fs::read(&self.console).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let clean = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
        text.lines().map(clean).filter(|l| !l.trim().is_empty()).collect()
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default().trim().to_string()
    }
}

fn launch<'a>(vm: &'a GuestRun<'_>, files: &'a RunFiles, seed: u64) -> Launch<'a> {
    let option = |p: &Plugin| format!("{},conf={}", qemu::escape(&p.library), qemu::escape(&files.plugin_config));
    Launch {
        qemu: &vm.qemu,
        topology: vm.topology,
        kernel: &vm.kernel,
        initrd: &files.initrd,
        console: &files.console,
        report: &files.report,
        timing: vm.timing,
        kvm: vm.kvm,
        seed,
        shift: vm.shift,
        plugin: vm.plugin.as_ref().map(option),
        boot_options: &vm.boot_options,
    }
}

/// A running QEMU.
struct Guest {
    child: Child,
    report: File,
    reader: Reader,
    time: OwnTime,
    booted: Option<Duration>,
    release: String,
    outcome: Option<Outcome>,
    refused: Option<(Failure, String)>,
    complete: bool,
    status: Option<ExitStatus>,
    /// File of QEMU's messages, if the guest runs under KVM.
    kvm_messages: Option<PathBuf>,
}

/// QEMU's first words when KVM cannot run the guest's next instruction. QEMU stops the guest then, and does not end.
const KVM_STOPPED: &str = "KVM internal error";

/// Why following a guest ended.
enum End {
    Complete,
    Exited(ExitStatus),
    Failed(Failure, String),
}

impl Guest {
    fn start(vm: &GuestRun<'_>, files: &RunFiles, seed: u64) -> Result<Self, String> {
        let errors = File::create(&files.errors).map_err(|e| e.to_string())?;
        let report = File::open(&files.report).map_err(|e| e.to_string())?;
        let mut command = Command::new(&vm.qemu);
        command.args(qemu::arguments(&launch(vm, files, seed)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        if vm.stop.is_some() {
            // Ctrl-C reaches all processes of a group; QEMU is to end only when it is told to.
            command.process_group(0);
        }
        let child = ends_with_parent(&mut command, libc::SIGKILL).spawn().map_err(at_path(&vm.qemu))?;
        let time = OwnTime::start(child.id());
        Ok(Self {
            child,
            report,
            reader: Reader::default(),
            time,
            booted: None,
            release: String::new(),
            outcome: None,
            refused: None,
            complete: false,
            status: None,
            kvm_messages: vm.kvm.then(|| files.errors.clone()),
        })
    }

    /// Reads frames until the report is complete, QEMU ends, a budget is exceeded, or somebody wants the end.
    fn follow(&mut self, vm: &GuestRun<'_>, progress: &mut dyn FnMut(Progress)) -> End {
        let mut heard = self.time.elapsed();
        loop {
            let status = match self.child.try_wait() {
                Ok(status) => status,
                Err(e) => return End::Failed(Failure::QemuFailed, e.to_string()),
            };
            // Read after the status: once QEMU has ended, everything it wrote is in the file.
            match self.read(progress) {
                Ok(0) => {}
                Ok(_) => heard = self.time.elapsed(),
                Err(what) => return End::Failed(Failure::Garbage, what),
            }
            if self.complete {
                self.wait_exit();
                return End::Complete;
            }
            if let Some(status) = status {
                self.status = Some(status);
                return End::Exited(status);
            }
            if self.is_stopped_by_kvm() {
                return End::Failed(Failure::QemuFailed, "KVM stopped the guest".to_string());
            }
            if vm.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                self.tell_to_end();
                return End::Failed(Failure::QemuKilled, "told to end".to_string());
            }
            if let Some((kind, detail)) = vm.budgets.exceeded(self.time.elapsed(), self.booted, heard) {
                return End::Failed(kind, detail);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn is_stopped_by_kvm(&self) -> bool {
        let said = self.kvm_messages.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        said.is_some_and(|text| text.contains(KVM_STOPPED))
    }

    /// Reads new bytes of the report; returns their number.
    fn read(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<usize, String> {
        let mut bytes = Vec::new();
        self.report.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        for frame in self.reader.feed(&bytes).map_err(|e| e.to_string())? {
            let guest_ns = self.frame(frame)?;
            progress(Progress { guest_ns, wall: self.time.wall() });
        }
        Ok(bytes.len())
    }

    fn frame(&mut self, frame: Frame) -> Result<Option<u64>, String> {
        let text = || String::from_utf8_lossy(&frame.payload).into_owned();
        match frame.kind {
            Kind::Hello => {
                let now = self.time.elapsed();
                self.booted.get_or_insert(now);
                self.release = text();
            }
            Kind::Beat => return Ok(text().parse().ok()),
            Kind::Outcome => {
                self.outcome = Some(serde_json::from_slice(&frame.payload).map_err(|e| format!("outcome: {e}"))?);
            }
            Kind::Refused => self.refused = Some((Failure::Refused, text())),
            Kind::Setting => {
                let error = serde_json::from_slice(&frame.payload).map_err(|e| format!("setting: {e}"))?;
                self.refused = Some((Failure::Setting, setting::told(&error)));
            }
            Kind::End => self.complete = true,
        }
        Ok(None)
    }

    /// Waits up to ten seconds for QEMU to end, so that the plugin can write its log.
    fn wait_exit(&mut self) {
        let limit = Instant::now() + Duration::from_secs(10);
        while Instant::now() < limit {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.status = Some(status);
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Tells QEMU to end, so that the plugin can write what it has.
    fn tell_to_end(&mut self) {
        // SAFETY: the child is not waited for yet, so the number is its own.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        self.wait_exit();
    }

    fn stop(&mut self) {
        if self.status.is_none() {
            // An error means that it has ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn finish(mut self, end: End) -> Result<GuestReport, (Failure, String)> {
        match end {
            End::Failed(kind, detail) => return Err((kind, detail)),
            End::Exited(status) => {
                if let Some(refusal) = self.refused.take() {
                    return Err(refusal);
                }
                if let Some(signal) = status.signal() {
                    return Err((Failure::QemuKilled, format!("signal {signal}")));
                }
                return Err((Failure::QemuFailed, format!("ended with {status} before the report was complete")));
            }
            End::Complete => {}
        }
        let total = self.time.elapsed();
        if let Some(refusal) = self.refused.take() {
            return Err(refusal);
        }
        let outcome = self.outcome.take().ok_or_else(|| (Failure::Garbage, "a report without outcome".to_string()))?;
        let boot = self.booted.unwrap_or_default();
        let release = std::mem::take(&mut self.release);
        Ok(GuestReport { outcome, release, boot, run: total.saturating_sub(boot), plugin_log: None })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A budget that no test exceeds, however busy the host.
    const AMPLE: Duration = Duration::from_secs(3600);
    /// A budget that is exceeded at once.
    const NONE: Duration = Duration::ZERO;

    /// The error to which a script in QEMU's place leads.
    fn end_of(script: Option<&str>, budgets: Budgets) -> RunError {
        end_under(false, script, budgets)
    }

    fn end_under(kvm: bool, script: Option<&str>, budgets: Budgets) -> RunError {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let topology = GuestTopology::of(&crate::topology::tests::machine(1, 1, 1, 1, false)).unwrap();
        let qemu = directory.path().join("qemu");
        if let Some(script) = script {
            // The paths of the report and of the console are in QEMU's arguments.
            let find = "for a; do case $a in file,id=report,path=*) r=${a#*path=};; \
                    file,id=console,path=*) c=${a#*path=};; esac; done";
            crate::child::tests::script(&qemu, &format!("{find}\n{script}"));
        }
        let vm = GuestRun {
            qemu,
            worker: b"x",
            files: None,
            kernel: "k".into(),
            topology: &topology,
            timing: Timing::Counters,
            kvm,
            shift: 3,
            plugin: None,
            boot_options: vec![],
            budgets,
            stop: None,
        };
        let error = run(&cache, &vm, &crate::selftest::tests::tiny_job(), &mut |_| {}).unwrap_err();
        assert_eq!(std::fs::read_dir(directory.path().join("cache/runs")).unwrap().count(), 0, "leftovers");
        error
    }

    #[test]
    fn every_end_of_qemu_has_its_own_kind() {
        let hello = "printf 'NUMALAB1 hello 0 cbf29ce484222325\\n\\n' >>$r";
        let ample = Budgets { boot: AMPLE, run: AMPLE, silence: AMPLE };
        let kind = |script: &str, budgets: Budgets| end_of(Some(script), budgets).kind;
        assert_eq!(end_of(None, ample).kind, Failure::QemuFailed);
        assert_eq!(kind("echo bad option >&2; exit 1", ample), Failure::QemuFailed);
        assert_eq!(kind("kill -9 $$", ample), Failure::QemuKilled);
        assert_eq!(kind("echo something else >>$r; exec sleep 3600", ample), Failure::Garbage);
        let panic = end_of(Some("echo 'Kernel panic - not syncing: x' >>$c; exit 0"), ample);
        assert_eq!((panic.kind, panic.console.len()), (Failure::Panic, 1));
        assert_eq!(kind("exec sleep 3600", Budgets { boot: NONE, ..ample }), Failure::BootTimeout);
        assert_eq!(kind(&format!("{hello}; exec sleep 3600"), Budgets { silence: NONE, ..ample }), Failure::Hang);
        let endless = format!("while :; do {hello}; sleep 0.1; done");
        assert_eq!(kind(&endless, Budgets { run: NONE, ..ample }), Failure::RunTimeout);
    }

    #[test]
    fn a_setting_that_the_guest_lacks_is_told_with_the_nearest_name() {
        use numalab_worker::setting::{Problem, SettingError};
        let has = vec!["page_filter".to_string(), "vma_filter".to_string()];
        let problem = Problem::NoFile { folder: "/d".into(), own_folder: true, has };
        let error = serde_json::to_vec(&SettingError { name: "/d/vma_filtr".into(), problem }).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let frames = directory.path().join("frames");
        let end = numalab_worker::frame::encode(Kind::End, b"");
        std::fs::write(&frames, [numalab_worker::frame::encode(Kind::Setting, &error), end].concat()).unwrap();
        let ample = Budgets { boot: AMPLE, run: AMPLE, silence: AMPLE };
        let e = end_of(Some(&format!("cat {} >>$r; exit 45", frames.display())), ample);
        assert_eq!((e.kind, e.kind.exit_code()), (Failure::Setting, 2));
        assert!(e.detail.ends_with("; did you mean `/d/vma_filter`?"), "{}", e.detail);
    }

    /// QEMU does not end when KVM gives up, so the run would wait for its whole budget.
    #[test]
    fn a_guest_that_kvm_stops_ends_at_once() {
        let ample = Budgets { boot: AMPLE, run: AMPLE, silence: AMPLE };
        let stopped = "echo 'KVM internal error. Suberror: 1' >&2; exec sleep 3600";
        let error = end_under(true, Some(stopped), ample);
        assert_eq!(error.kind, Failure::QemuFailed);
        assert!(error.detail.starts_with("KVM stopped the guest"), "{}", error.detail);
    }

    #[test]
    fn a_budget_is_exceeded_one_moment_after_its_end() {
        let s = Duration::from_secs;
        let budgets = Budgets { boot: s(10), run: s(100), silence: s(30) };
        let kind = |now, booted, heard| budgets.exceeded(s(now), booted, s(heard)).map(|e| e.0);
        assert_eq!(kind(10, None, 0), None);
        assert_eq!(kind(11, None, 0), Some(Failure::BootTimeout));
        // The silence counts from the last bytes, the run from the first.
        let booted = Some(s(5));
        assert_eq!(kind(35, booted, 5), None);
        assert_eq!(kind(36, booted, 5), Some(Failure::Hang));
        assert_eq!(kind(105, booted, 104), None);
        assert_eq!(kind(106, booted, 104), Some(Failure::RunTimeout));
        assert_eq!(kind(200, booted, 100), Some(Failure::Hang), "silence is a hang, whatever the run's budget");
    }
}
