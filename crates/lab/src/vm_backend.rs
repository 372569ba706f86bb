//! The `vm` backend: its settings, the check of what they need, and a run from plan to outcome.

use crate::cache::{self, Cache};
use crate::capacity::HostCapacity;
use crate::failure::{Failure, RunError};
use crate::fit::{self, FitError, Limits};
use crate::guest::{self, Budgets, GuestReport, GuestRun, Progress};
use crate::image::{self, Image, ImageSpec, PackageVersion};
use crate::plugin::{self, report::PluginReport, Model, Plugin};
use crate::program::Program;
use crate::qemu::{self, Timing};
use crate::topology::{GuestTopology, TopologyError};
use crate::worker::Worker;
use crate::{probe, selftest};
use numalab_model::machine::Machine;
use numalab_model::record::{EffectiveTunable, Outcome};
use numalab_model::workload::Workload;
use numalab_worker::job::{Drill, Job, Knob};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Version of the guest protocol: the release of numalab since which guests get the same jobs and their reports are
/// read alike. Raise it when that changes. It is part of a plan's identity, so a guest's record stays valid when only
/// the simulator changes. Reports label it as such, because it is not the release that made a record.
const GUEST_PROTOCOL: &str = "0.5.0";

/// Settings of the backend.
#[derive(Clone, Debug)]
pub struct Settings {
    /// QEMU program.
    pub qemu: PathBuf,
    /// Timing mode.
    pub timing: Timing,
    /// log2 of ns per guest instruction in [`Timing::Modelled`], 0 to 10.
    pub shift: u32,
    /// Limits of a guest's size.
    pub limits: Limits,
    /// Budgets of wall time.
    pub budgets: Budgets,
    /// Guest time between samples, ns; at least 1 ms.
    pub sample_ns: u64,
    /// Count local and remote misses in [`Timing::Counters`] too, which halves the guest's speed.
    pub count_misses: bool,
    /// Use KVM in [`Timing::Counters`] if it works and no misses are counted.
    pub kvm: bool,
    /// Further words for the kernel's command line.
    pub boot_options: Vec<String>,
}

impl Settings {
    /// Default settings of a timing mode.
    pub fn new(timing: Timing) -> Self {
        // Virtual time passes about ten times slower, and still slower on a busy host.
        let (workload_bytes, budget_factor) = match timing {
            Timing::Counters => (2 << 30, 1),
            Timing::Modelled => (256 << 20, 4),
        };
        let budgets = Budgets::default().longer(budget_factor);
        Self {
            qemu: qemu::default_program(),
            timing,
            shift: qemu::DEFAULT_SHIFT,
            limits: Limits { workload_bytes, ..Limits::default() },
            budgets,
            sample_ns: 1_000_000_000,
            count_misses: false,
            kvm: true,
            boot_options: Vec::new(),
        }
    }
}

/// The `vm` backend: everything that is common to all runs of an experiment.
#[derive(Debug)]
pub struct Lab {
    cache: Cache,
    settings: Settings,
    /// The worker program. It is read once, so that all guests run the one whose checksum is in the version.
    worker: Vec<u8>,
    version: String,
    /// Whether KVM is used, or why not; the reason is empty if it was not asked for.
    kvm: Result<(), String>,
    /// Set when KVM has failed in a guest: all later guests are emulated.
    kvm_failed: AtomicBool,
    library: Option<PathBuf>,
    capacity: HostCapacity,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Kernel.
    pub image: &'a Image,
    /// Machine, as [`Lab::fit_machine`] gives it.
    pub machine: &'a Machine,
    /// Workload, as [`Lab::fit_workload`] gives it.
    pub workload: &'a Workload,
    /// Kernel settings.
    pub knobs: &'a [Knob],
    /// The program that runs in place of the workload's processes. The workload is [`Program::workload`].
    pub program: Option<&'a Program>,
    /// Seed.
    pub seed: u64,
    /// A failure to provoke, for tests.
    pub drill: Option<Drill>,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Outcome; in [`Timing::Modelled`] it depends on the plan alone.
    pub outcome: Outcome,
    /// Wall time until process 1 reported.
    pub boot: Duration,
    /// Wall time from then to the end.
    pub wall: Duration,
}

impl Lab {
    /// Opens the backend and checks what the settings need: QEMU, the static worker, the plugin's compiler.
    ///
    /// # Errors
    /// What is missing, and the command that supplies it.
    pub fn open(settings: Settings) -> Result<Self, String> {
        let cache = Cache::open().map_err(|e| format!("cache: {e}"))?;
        Self::open_with(cache, settings)
    }

    /// [`Lab::open`] with a given cache.
    ///
    /// # Errors
    /// As [`Lab::open`].
    pub fn open_with(cache: Cache, settings: Settings) -> Result<Self, String> {
        let install = "install it with `apt-get install qemu-system-x86`, or name it with --qemu";
        let (major, minor, patch) = probe::qemu_version(&settings.qemu).map_err(|e| format!("{e}; {install}"))?;
        let worker = Worker::for_guests()?.bytes()?;
        // The directories of other runs are locked, so they stay.
        let _ = cache.sweep();
        let plugin = settings.timing == Timing::Modelled || settings.count_misses;
        let library = if plugin { Some(plugin::library(&cache)?) } else { None };
        let kvm = match (settings.timing, settings.kvm && !plugin) {
            (Timing::Counters, true) => probe::kvm(&settings.qemu),
            _ => Err(String::new()),
        };
        let hash = cache::sha256(&worker);
        let accelerator = if kvm.is_ok() { "kvm" } else { "tcg" };
        let mut version = format!(
            "{GUEST_PROTOCOL} {} {accelerator} qemu-{major}.{minor}.{patch} worker-{} memory-{}MiB sample-{}ns",
            settings.timing.name(),
            &hash[..12],
            settings.limits.memory_bytes >> 20,
            settings.sample_ns
        );
        if let Some(name) = library.as_ref().and_then(|l| l.file_stem()) {
            version += &format!(" plugin-{} shift-{}", name.to_string_lossy(), settings.shift);
        }
        version += &format!(" boot-{}", &cache::sha256(qemu::boot_line(&settings.boot_options).as_bytes())[..8]);
        Ok(Self {
            cache,
            settings,
            worker,
            version,
            kvm,
            kvm_failed: AtomicBool::new(false),
            library,
            capacity: HostCapacity::of_host(),
        })
    }

    /// Everything beside plan and image that can change an outcome, in one line. It is part of a plan's identity.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The cache in use.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The settings in use.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Finds, fetches or builds an image.
    ///
    /// # Errors
    /// See [`image::resolve`].
    pub fn image(&self, spec: &ImageSpec, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
        image::resolve(spec, PackageVersion::Kept, &self.cache, say)
    }

    /// Checks by a self-test that [`Timing::Modelled`] charges memory latency on this QEMU and kernel. The result is
    /// cached; other modes need no check.
    ///
    /// # Errors
    /// Why the mode is refused.
    pub fn check_timing(&self, image: &Image) -> Result<(), String> {
        if self.settings.timing != Timing::Modelled {
            return Ok(());
        }
        let topology = selftest::topology();
        let result = selftest::run(&self.cache, &self.guest(image, &topology))?;
        match result.refusal() {
            None => Ok(()),
            Some(reason) => {
                Err(format!("timing `modelled` is refused on this QEMU: {reason}; use --timing counters, or QEMU 7.2"))
            }
        }
    }

    /// The machine reduced to the size of a guest ([`fit::fit_machine`]).
    ///
    /// # Errors
    /// QEMU cannot build it, or the plugin has no room for it.
    pub fn fit_machine(&self, machine: &Machine) -> Result<Machine, TopologyError> {
        let fitted = fit::fit_machine(machine, self.settings.limits)?;
        if self.library.is_some() {
            plugin::check_room(&fitted)?;
        }
        Ok(fitted)
    }

    /// A workload that fits a guest of `machine` ([`fit::fit_workload`]).
    ///
    /// # Errors
    /// Those of [`fit::fit_workload`].
    pub fn fit_workload<E>(
        &self,
        machine: &Machine,
        resolve: &mut dyn FnMut(&Machine) -> Result<Workload, E>,
    ) -> Result<Workload, FitError<E>> {
        fit::fit_workload(machine, self.settings.limits, resolve)
    }

    fn guest<'a>(&'a self, image: &Image, topology: &'a GuestTopology) -> GuestRun<'a> {
        image::store::mark_used(&image.path);
        GuestRun {
            qemu: self.settings.qemu.clone(),
            worker: &self.worker,
            files: None,
            kernel: image.path.clone(),
            topology,
            timing: self.settings.timing,
            kvm: self.kvm.is_ok() && !self.kvm_failed.load(Ordering::Relaxed),
            shift: self.settings.shift,
            plugin: None,
            boot_options: self.settings.boot_options.clone(),
            budgets: self.settings.budgets,
            stop: None,
        }
    }

    /// Carries out a plan, once the host has room for its guest.
    ///
    /// # Errors
    /// The run failed; [`RunError::outcome`] turns the error into an outcome.
    pub fn run(&self, plan: &Plan<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Run, RunError> {
        let divisor = fit::divisor_of(plan.workload);
        let failed = |detail: String| RunError::new(Failure::QemuFailed, detail);
        let files = plan.program.map_or(0, |p| p.tree.bytes());
        let topology = fit::guest_topology(plan.machine, self.settings.limits, divisor, files);
        let topology = topology.map_err(|e| failed(e.to_string()))?;
        let mut guest = self.guest(plan.image, &topology);
        if let Some(library) = &self.library {
            let model = Model::of(plan.machine, &topology, divisor);
            let config = model.config(self.settings.timing, self.settings.shift).map_err(failed)?;
            guest.plugin = Some(Plugin { library: library.clone(), config });
        }
        let job = self.job(plan, &topology);
        let processors = match self.settings.timing {
            Timing::Modelled => 1,
            Timing::Counters => topology.smp.cpus(),
        };
        // What a program takes is not known.
        let needed = plan.program.map_or(crate::shrink::memory_bytes(plan.workload), |_| topology.memory_bytes());
        let memory = topology.memory_bytes().min(needed + GUEST_BYTES);
        guest.files = plan.program.map(|p| &p.tree);
        let reservation = self.capacity.reserve(processors, memory);
        let mut notes: Vec<String> = fit::note_of_files(files).into_iter().collect();
        let report = self.boot_any(&mut guest, &job, progress, &mut notes)?;
        drop(reservation);
        self.check_charge(&report, &topology)?;
        let (boot, wall) = (report.boot, report.run);
        let mut outcome = self.outcome(plan, &topology, report, guest.kvm);
        outcome.warnings.extend(notes);
        Ok(Run { outcome, boot, wall })
    }

    /// Boots a guest, and emulates it where KVM looked usable but is not: the result is the same, later. A killed QEMU
    /// is not started again, because the kill may be intended. `notes` says so.
    fn boot_any(
        &self,
        guest: &mut GuestRun<'_>,
        job: &Job,
        progress: &mut dyn FnMut(Progress),
        notes: &mut Vec<String>,
    ) -> Result<GuestReport, RunError> {
        match self.boot(guest, job, progress, notes) {
            Err(e) if guest.kvm && matches!(e.kind, Failure::QemuFailed | Failure::BootTimeout) => {
                let first = e.detail.lines().next().unwrap_or_default();
                notes.push(format!("KVM failed, so the guest was emulated: {first}"));
                self.kvm_failed.store(true, Ordering::Relaxed);
                guest.kvm = false;
                self.boot(guest, job, progress, notes)
            }
            other => other,
        }
    }

    /// Boots a guest, and boots it again after a stale breakpoint ([`RunError::is_stale_breakpoint`]); `notes` says so.
    fn boot(
        &self,
        guest: &GuestRun<'_>,
        job: &Job,
        progress: &mut dyn FnMut(Progress),
        notes: &mut Vec<String>,
    ) -> Result<GuestReport, RunError> {
        let mut boots = 1;
        let mut report = guest::run(&self.cache, guest, job, progress);
        while boots < BOOTS && report.as_ref().is_err_and(RunError::is_stale_breakpoint) {
            boots += 1;
            report = guest::run(&self.cache, guest, job, progress);
        }
        if boots > 1 {
            notes.push(format!("booted {boots} times: the emulator ran a breakpoint that was gone"));
        }
        report
    }

    /// Refuses a run whose virtual time was not charged up to its end.
    fn check_charge(&self, report: &GuestReport, topology: &GuestTopology) -> Result<(), RunError> {
        if self.settings.timing != Timing::Modelled {
            return Ok(());
        }
        let log = report.plugin_log.as_deref().ok_or_else(|| "the plugin wrote no log".to_string());
        let refusal =
            log.and_then(|l| PluginReport::parse(l, topology.smp.cpus())).map(|p| p.refusal().map(str::to_string));
        match refusal {
            Ok(None) => Ok(()),
            Ok(Some(why)) | Err(why) => {
                Err(RunError::new(Failure::QemuFailed, format!("timing `modelled` did not hold: {why}")))
            }
        }
    }

    /// The outcome of a failed run, with the facts that are known without the guest.
    pub fn failed(&self, plan: &Plan<'_>, error: &RunError) -> Outcome {
        let mut out = error.outcome();
        out.tunables.extend(self.facts(plan.image));
        out
    }

    /// Facts that every record has, whether its run succeeded or failed.
    fn facts(&self, image: &Image) -> Vec<EffectiveTunable> {
        let mut out = vec![fact("timing", self.settings.timing.name().into(), "")];
        out.extend(image_facts(image));
        out
    }

    fn job(&self, plan: &Plan<'_>, topology: &GuestTopology) -> Job {
        let nodes = plan.machine.cpus.iter().map(|c| c.node as u32).collect();
        let mut job = Job::new(plan.workload.clone(), plan.seed, nodes, topology.nodes.len());
        job.cpu_ids.clone_from(&topology.cpu_ids);
        job.sample_ns = self.settings.sample_ns;
        job.knobs = plan.knobs.to_vec();
        job.invocation = plan.program.map(|p| p.invocation.clone());
        job.drill = plan.drill;
        job
    }

    /// Adds to the worker's outcome the facts and warnings that only the host knows.
    fn outcome(&self, plan: &Plan<'_>, topology: &GuestTopology, report: GuestReport, kvm: bool) -> Outcome {
        let mut out = report.outcome;
        let timing = self.settings.timing;
        let mut warnings = Vec::new();
        if timing == Timing::Counters {
            warnings
                .push("timing counters: the kernel's counters and the placement are valid, times are not".to_string());
            warnings.extend(fast_clock(&out, report.run));
        }
        if let (true, Err(reason)) = (timing == Timing::Counters && !kvm, &self.kvm) {
            if !reason.is_empty() {
                warnings.push(format!("KVM is not used: {reason}"));
            }
        }
        if timing == Timing::Counters && !kvm && plan.image.patches_itself && topology.smp.cpus() > PATCHING_CPUS {
            warnings.push(format!(
                "this kernel patches its own code, which can crash emulated guests of more than {PATCHING_CPUS} CPUs; \
                 a kernel of `numalab kernel build` does not"
            ));
        }
        if let Some(log) = &report.plugin_log {
            let plugin = PluginReport::parse(log, topology.smp.cpus());
            if let Err(e) = plugin.and_then(|p| add_misses(&mut out, &p, topology)) {
                warnings.push(format!("misses are not counted: {e}"));
            }
        }
        out.tunables.extend(self.facts(plan.image));
        out.tunables.extend([
            fact("kernel", report.release, ""),
            fact("accelerator", if kvm { "kvm" } else { "tcg" }.into(), ""),
            fact("cpus", topology.smp.cpus().to_string(), "CPUs"),
            fact("memory_mib", (topology.memory_bytes() >> 20).to_string(), "MiB"),
            fact("boot_line", qemu::boot_line(&self.settings.boot_options), ""),
        ]);
        if timing == Timing::Modelled {
            out.tunables.push(fact("instruction_ns", (1u64 << self.settings.shift.min(20)).to_string(), "ns"));
        }
        warnings.append(&mut out.warnings);
        out.warnings = warnings;
        out
    }
}

fn fact(name: &str, value: String, unit: &str) -> EffectiveTunable {
    EffectiveTunable { name: format!("guest.{name}"), value, unit: unit.into(), kernel_name: "vm".into() }
}

/// Facts about the kernel, for the record. They are not part of a plan's identity, which has the image's checksum
/// alone: a kernel is the same whether it was built from a commit or from uncommitted changes.
fn image_facts(image: &Image) -> Vec<EffectiveTunable> {
    let mut out = vec![fact("image", image.origin.clone(), ""), fact("image_sha256", image.sha256.clone(), "")];
    let Some(built) = &image.built else { return out };
    out.push(fact("image_config_sha256", built.config_sha256.clone(), ""));
    if let Some(revision) = &built.revision {
        out.push(fact("image_describe", revision.describe.clone(), ""));
        out.push(fact("image_commit", revision.commit.clone(), ""));
        out.push(fact("image_dirty", revision.dirty.to_string(), ""));
    }
    out
}

/// Memory of a guest beside its workload, and of QEMU itself.
const GUEST_BYTES: u64 = 1 << 30;
/// Largest guest in which kernels that patch their own code ran without a crash under multi-threaded emulation, CPUs.
const PATCHING_CPUS: usize = 8;
/// Most boots of a guest that dies of a stale breakpoint ([`RunError::is_stale_breakpoint`]), which two of fifteen did.
const BOOTS: u32 = 3;

/// Ratio of the guest's clock to the host's above which a warning is given.
const CLOCK_TOLERANCE: f64 = 1.25;

/// A warning if the guest's clock ran too fast. A guest calibrates its clock while it boots; on a busy host the result
/// can be wrong by factors, and the periods of the NUMA scanner with it.
fn fast_clock(outcome: &Outcome, wall: Duration) -> Option<String> {
    let elapsed = outcome.scalars.iter().find(|s| s.name == "elapsed_s")?.value;
    let ratio = elapsed / wall.as_secs_f64().max(1e-3);
    (elapsed > 1.0 && ratio > CLOCK_TOLERANCE).then(|| {
        format!(
            "the guest's clock ran {ratio:.1} times as fast as the host's, which was busy when the guest measured it: \
             scans came too often; run again, or use --timing modelled"
        )
    })
}

/// Adds the plugin's counts.
///
/// # Errors
/// The counts do not cover the run.
fn add_misses(out: &mut Outcome, plugin: &PluginReport, topology: &GuestTopology) -> Result<(), String> {
    let totals = plugin.totals()?;
    let sum = |f: fn(&plugin::report::CpuCounts) -> u64| totals.iter().map(f).sum::<u64>();
    out.counters.extend(plugin::report::COUNTERS.map(|(name, value)| (name.to_string(), sum(value))));
    let times = out.series.iter().find(|s| s.name == "vmstat").map(|s| s.time_ns.clone()).unwrap_or_default();
    let elapsed = out.scalars.iter().find(|s| s.name == "elapsed_s").map_or(0.0, |s| s.value);
    let end = ((elapsed * 1e9) as u64).max(times.last().map_or(0, |t| t + 1));
    out.series.extend(plugin.series(&topology.cpu_ids, &times, end));
    let (marked, taken) = (plugin.samples(), times.len());
    if marked < taken {
        out.warnings.push(format!("misses over time have {marked} of {taken} samples: the last interval is the rest"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_ahead_is_noticed() {
        let after = |elapsed: f64, wall| {
            let scalar = numalab_model::record::Scalar {
                name: "elapsed_s".into(),
                value: elapsed,
                unit: "s".into(),
                higher_is_better: false,
            };
            fast_clock(&Outcome { scalars: vec![scalar], ..Outcome::default() }, Duration::from_secs(wall))
        };
        assert_eq!((after(18.0, 19), after(0.5, 0), after(20.0, 60)), (None, None, None));
        assert!(after(115.4, 19).unwrap().contains("6.1 times"));
    }

    #[test]
    fn a_record_says_which_source_its_kernel_was_built_from() {
        let revision = crate::image::Revision {
            commit: "c0ffee".repeat(6),
            describe: "v6.12-3-gc0ffee-dirty".into(),
            dirty: true,
        };
        let built = crate::image::Built { revision: Some(revision), config_sha256: "ab".into() };
        let image = Image {
            path: "vmlinux".into(),
            sha256: "12".into(),
            origin: "tree /linux".into(),
            patches_itself: false,
            built: Some(built),
        };
        let facts = |image: &Image| -> Vec<String> {
            image_facts(image).iter().map(|t| format!("{}={}", t.name, t.value)).collect()
        };
        let of_tree = facts(&image);
        for want in ["image_describe=v6.12-3-gc0ffee-dirty", "image_dirty=true", "image_config_sha256=ab"] {
            assert!(of_tree.contains(&format!("guest.{want}")), "{of_tree:?}");
        }
        assert!(of_tree.contains(&format!("guest.image_commit={}", "c0ffee".repeat(6))), "{of_tree:?}");
        assert_eq!(facts(&Image { built: None, ..image }), ["guest.image=tree /linux", "guest.image_sha256=12"]);
    }

    #[test]
    fn modes_have_their_own_sizes() {
        let counters = Settings::new(Timing::Counters).limits.workload_bytes;
        assert!(Settings::new(Timing::Modelled).limits.workload_bytes < counters);
    }

    fn lab(directory: &std::path::Path, library: Option<PathBuf>) -> Lab {
        Lab {
            cache: Cache::at(directory).unwrap(),
            settings: Settings {
                limits: Limits { cpus: crate::topology::MAX_CPUS, ..Limits::default() },
                ..Settings::new(Timing::Modelled)
            },
            worker: Vec::new(),
            version: String::new(),
            kvm: Ok(()),
            kvm_failed: AtomicBool::new(false),
            library,
            capacity: HostCapacity::new(1, 1),
        }
    }

    /// The script in QEMU's place ends in a way that tells emulation from KVM.
    #[test]
    fn a_guest_that_kvm_fails_is_emulated_and_so_are_all_later_ones() {
        let directory = tempfile::tempdir().unwrap();
        let lab = lab(&directory.path().join("cache"), None);
        let qemu = directory.path().join("qemu");
        let under = |words: &str| format!("case \"$*\" in *'-accel kvm'*) {words};; *) kill -9 $$;; esac");
        let topology = GuestTopology::of(&crate::topology::tests::machine(1, 1, 1, 1, false)).unwrap();
        let job = crate::selftest::tests::tiny_job();
        let guest = |lab: &Lab| GuestRun {
            qemu: qemu.clone(),
            worker: b"x",
            files: None,
            kernel: "k".into(),
            topology: &topology,
            timing: Timing::Counters,
            kvm: !lab.kvm_failed.load(Ordering::Relaxed),
            shift: 3,
            plugin: None,
            boot_options: vec![],
            budgets: Budgets::default().longer(30),
            stop: None,
        };
        for words in ["echo 'KVM internal error' >&2; exec sleep 3600", "exit 1"] {
            lab.kvm_failed.store(false, Ordering::Relaxed);
            crate::child::tests::script(&qemu, &under(words));
            let mut notes = Vec::new();
            let error = lab.boot_any(&mut guest(&lab), &job, &mut |_| {}, &mut notes).unwrap_err();
            assert_eq!(error.kind, Failure::QemuKilled, "{words}: {error:?}");
            assert!(notes.len() == 1 && notes[0].starts_with("KVM failed"), "{notes:?}");
            assert!(!guest(&lab).kvm);
        }
    }

    #[test]
    fn a_machine_too_large_for_the_plugin_is_refused_before_anything_starts() {
        let directory = tempfile::tempdir().unwrap();
        let lab = |library| lab(directory.path(), library);
        let machine = |nodes| crate::topology::tests::machine(nodes, 1, 1, 1, false);
        let plugin = || Some(PathBuf::from("numalab.so"));
        assert!(lab(plugin()).fit_machine(&machine(64)).is_ok());
        assert!(lab(plugin()).fit_machine(&machine(65)).unwrap_err().what.contains("65 nodes"));
        assert!(lab(None).fit_machine(&machine(65)).is_ok(), "without the plugin a guest can have it");
    }

    #[test]
    fn a_missing_qemu_is_named_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let settings = Settings { qemu: "/no/such/qemu".into(), ..Settings::new(Timing::Counters) };
        let e = Lab::open_with(cache, settings).unwrap_err();
        assert!(e.contains("/no/such/qemu") && e.contains("apt-get install qemu-system-x86"), "{e}");
    }
}
