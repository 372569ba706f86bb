//! The `vm` backend in one place: settings, what they need, and a run from plan to outcome.

use crate::cache::{self, Cache};
use crate::failure::{Failure, RunError};
use crate::fit::{self, FitError, Limits};
use crate::image::{self, Image, ImageSpec, Which};
use crate::plugin::{self, report::PluginReport, Model, Plugin};
use crate::pool::Slots;
use crate::qemu::{self, Timing};
use crate::shape::{Shape, ShapeError};
use crate::vm::{self, Budgets, Progress, VmReport, VmRun};
use crate::{probe, selftest, worker};
use numalab_model::machine::Machine;
use numalab_model::record::{EffectiveTunable, Outcome};
use numalab_model::workload::Workload;
use numalab_worker::job::{Drill, Job, Knob};
use std::path::PathBuf;
use std::time::Duration;

/// The guest protocol, named after the release since which guests are asked the same and their answers are read alike.
/// Raise it where that changes: it is part of a plan's identity, and a guest's record stays valid when only the simulator
/// has moved on. Reports label it, so that nobody takes it for the release that made a record.
const ASKED_SINCE: &str = "0.5.0";

/// What a user can choose.
#[derive(Clone, Debug)]
pub struct Settings {
    /// QEMU program.
    pub qemu: PathBuf,
    /// Timing mode.
    pub timing: Timing,
    /// log2 of ns per guest instruction in [`Timing::Modelled`], 0 to 10.
    pub shift: u32,
    /// What a guest may have.
    pub limits: Limits,
    /// Budgets of wall time.
    pub budgets: Budgets,
    /// Guest time between samples, ns; at least 1 ms.
    pub sample_ns: u64,
    /// Count local and remote misses in [`Timing::Counters`] too; the guest then runs at about half speed.
    pub count_misses: bool,
    /// Use KVM in [`Timing::Counters`] where it works and no misses are counted.
    pub kvm: bool,
    /// Further words for the kernel's command line.
    pub boot_options: Vec<String>,
}

impl Settings {
    /// The usual settings of a timing mode.
    pub fn new(timing: Timing) -> Self {
        // Virtual time passes about ten times slower, and a busy host makes it slower still.
        let (workload_bytes, patience) = match timing {
            Timing::Counters => (2 << 30, 1),
            Timing::Modelled => (256 << 20, 4),
        };
        let budgets = Budgets::default().longer(patience);
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

/// Everything that is the same for all runs of an experiment.
#[derive(Debug)]
pub struct Lab {
    cache: Cache,
    settings: Settings,
    /// The worker program, read once: all guests have the one that the version names.
    worker: Vec<u8>,
    version: String,
    /// Why KVM is not used, if it could have been.
    kvm: Result<(), String>,
    library: Option<PathBuf>,
    slots: Slots,
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
    /// Seed.
    pub seed: u64,
    /// A failure to rehearse.
    pub drill: Option<Drill>,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What it produced; depends on the plan alone in [`Timing::Modelled`].
    pub outcome: Outcome,
    /// Wall time until process 1 spoke.
    pub boot: Duration,
    /// Wall time from there on.
    pub wall: Duration,
}

impl Lab {
    /// Checks what the settings need: QEMU, the static worker, the plugin's compiler.
    ///
    /// # Errors
    /// What is missing, and the command that supplies it.
    pub fn open(settings: Settings) -> Result<Self, String> {
        let cache = Cache::open().map_err(|e| format!("cache: {e}"))?;
        Self::open_with(cache, settings)
    }

    /// The same with a given cache.
    ///
    /// # Errors
    /// As [`Lab::open`].
    pub fn open_with(cache: Cache, settings: Settings) -> Result<Self, String> {
        let install = "install it with `apt-get install qemu-system-x86`, or name it with --qemu";
        let (major, minor, patch) = probe::qemu_version(&settings.qemu).map_err(|e| format!("{e}; {install}"))?;
        let path = worker::find_static()?;
        let worker = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        // Nothing can be removed that another run needs: its directory is locked.
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
            "{ASKED_SINCE} {} {accelerator} qemu-{major}.{minor}.{patch} worker-{} memory-{}MiB sample-{}ns",
            settings.timing.name(),
            &hash[..12],
            settings.limits.memory_bytes >> 20,
            settings.sample_ns
        );
        if let Some(name) = library.as_ref().and_then(|l| l.file_stem()) {
            version += &format!(" plugin-{} shift-{}", name.to_string_lossy(), settings.shift);
        }
        version += &format!(" boot-{}", &cache::sha256(qemu::boot_line(&settings.boot_options).as_bytes())[..8]);
        Ok(Self { cache, settings, worker, version, kvm, library, slots: Slots::of_host() })
    }

    /// Everything beside plan and image that can change an outcome, in one line: part of a plan's identity.
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
        image::resolve(spec, Which::Kept, &self.cache, say)
    }

    /// In [`Timing::Modelled`]: proves on this QEMU and kernel that charging works (once; the verdict is kept).
    ///
    /// # Errors
    /// Why the mode is refused.
    pub fn check_timing(&self, image: &Image) -> Result<(), String> {
        if self.settings.timing != Timing::Modelled {
            return Ok(());
        }
        let shape = selftest::shape();
        let result = selftest::run(&self.cache, &self.guest(image, &shape))?;
        match result.refusal() {
            None => Ok(()),
            Some(reason) => {
                Err(format!("timing `modelled` is refused on this QEMU: {reason}; use --timing counters, or QEMU 7.2"))
            }
        }
    }

    /// The machine as a guest can have it ([`fit::fit_machine`]).
    ///
    /// # Errors
    /// QEMU cannot build it, or the plugin has no room for it.
    pub fn fit_machine(&self, machine: &Machine) -> Result<Machine, ShapeError> {
        let fitted = fit::fit_machine(machine, self.settings.limits)?;
        if self.library.is_some() {
            plugin::check_room(&fitted)?;
        }
        Ok(fitted)
    }

    /// A workload that fits a guest of `machine` ([`fit::fit_workload`]).
    ///
    /// # Errors
    /// See there.
    pub fn fit_workload<E>(
        &self,
        machine: &Machine,
        resolve: &mut dyn FnMut(&Machine) -> Result<Workload, E>,
    ) -> Result<Workload, FitError<E>> {
        fit::fit_workload(machine, self.settings.limits, resolve)
    }

    fn guest<'a>(&'a self, image: &Image, shape: &'a Shape) -> VmRun<'a> {
        image::store::used(&image.path);
        VmRun {
            qemu: self.settings.qemu.clone(),
            worker: &self.worker,
            kernel: image.path.clone(),
            shape,
            timing: self.settings.timing,
            kvm: self.kvm.is_ok(),
            shift: self.settings.shift,
            plugin: None,
            boot_options: self.settings.boot_options.clone(),
            budgets: self.settings.budgets,
        }
    }

    /// Carries out a plan. Waits first until the host has room for its guest.
    ///
    /// # Errors
    /// The run failed; [`RunError::outcome`] turns that into a result.
    pub fn run(&self, plan: &Plan<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Run, RunError> {
        let divisor = fit::divisor_of(plan.workload);
        let failed = |detail: String| RunError::new(Failure::QemuFailed, detail);
        let shape = fit::guest_shape(plan.machine, self.settings.limits, divisor).map_err(|e| failed(e.to_string()))?;
        let mut guest = self.guest(plan.image, &shape);
        if let Some(library) = &self.library {
            let model = Model::of(plan.machine, &shape, divisor);
            let config = model.config(self.settings.timing, self.settings.shift).map_err(failed)?;
            guest.plugin = Some(Plugin { library: library.clone(), config });
        }
        let job = self.job(plan, &shape);
        let processors = match self.settings.timing {
            Timing::Modelled => 1,
            Timing::Counters => shape.smp.cpus(),
        };
        let memory = shape.memory_bytes().min(crate::shrink::memory_bytes(plan.workload) + GUEST_BYTES);
        let share = self.slots.take(processors, memory);
        let mut asides = Vec::new();
        let report = match self.boot(&guest, &job, progress, &mut asides) {
            // A KVM that looked usable but is not: the emulator does the same, slowly. Who kills QEMU means it.
            Err(e) if guest.kvm && e.kind == Failure::QemuFailed => {
                asides.push(format!("KVM failed, so the guest was emulated: {}", e.detail));
                guest.kvm = false;
                self.boot(&guest, &job, progress, &mut asides)?
            }
            other => other?,
        };
        drop(share);
        self.check_charge(&report, &shape)?;
        let (boot, wall) = (report.boot, report.run);
        let mut outcome = self.outcome(plan, &shape, report, guest.kvm);
        outcome.warnings.extend(asides);
        Ok(Run { outcome, boot, wall })
    }

    /// Boots a guest, again if the emulator spoils it, which goes into `asides`.
    fn boot(
        &self,
        guest: &VmRun<'_>,
        job: &Job,
        progress: &mut dyn FnMut(Progress),
        asides: &mut Vec<String>,
    ) -> Result<VmReport, RunError> {
        let mut boots = 1;
        let mut report = vm::run(&self.cache, guest, job, progress);
        while boots < BOOTS && report.as_ref().is_err_and(RunError::is_stale_breakpoint) {
            boots += 1;
            report = vm::run(&self.cache, guest, job, progress);
        }
        if boots > 1 {
            asides.push(format!("booted {boots} times: the emulator ran a breakpoint that was gone"));
        }
        report
    }

    /// A run whose virtual time was not charged to its end must not pass for a measurement.
    fn check_charge(&self, report: &VmReport, shape: &Shape) -> Result<(), RunError> {
        if self.settings.timing != Timing::Modelled {
            return Ok(());
        }
        let log = report.plugin_log.as_deref().ok_or_else(|| "the plugin wrote no log".to_string());
        let refusal =
            log.and_then(|l| PluginReport::parse(l, shape.smp.cpus())).map(|p| p.refusal().map(str::to_string));
        match refusal {
            Ok(None) => Ok(()),
            Ok(Some(why)) | Err(why) => {
                Err(RunError::new(Failure::QemuFailed, format!("timing `modelled` did not hold: {why}")))
            }
        }
    }

    /// A failed run as a result, with what is known without the guest.
    pub fn failed(&self, plan: &Plan<'_>, error: &RunError) -> Outcome {
        let mut out = error.outcome();
        out.tunables.extend(self.facts(plan.image));
        out
    }

    /// What every record says, whether its run ended well or not.
    fn facts(&self, image: &Image) -> Vec<EffectiveTunable> {
        let mut out = vec![fact("timing", self.settings.timing.name().into(), "")];
        out.extend(image_facts(image));
        out
    }

    fn job(&self, plan: &Plan<'_>, shape: &Shape) -> Job {
        let nodes = plan.machine.cpus.iter().map(|c| c.node as u32).collect();
        let mut job = Job::new(plan.workload.clone(), plan.seed, nodes, shape.nodes.len());
        job.cpu_ids.clone_from(&shape.cpu_ids);
        job.sample_ns = self.settings.sample_ns;
        job.knobs = plan.knobs.to_vec();
        job.drill = plan.drill;
        job
    }

    /// Adds to the worker's outcome what only the host knows.
    fn outcome(&self, plan: &Plan<'_>, shape: &Shape, report: VmReport, kvm: bool) -> Outcome {
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
        if timing == Timing::Counters && !kvm && plan.image.patches_itself && shape.smp.cpus() > PATCHING_CPUS {
            warnings.push(format!(
                "this kernel patches its own code, which can crash emulated guests of more than {PATCHING_CPUS} CPUs; \
                 a kernel of `numalab kernel build` does not"
            ));
        }
        if let Some(log) = &report.plugin_log {
            let plugin = PluginReport::parse(log, shape.smp.cpus());
            if let Err(e) = plugin.and_then(|p| add_misses(&mut out, &p, shape)) {
                warnings.push(format!("misses are not counted: {e}"));
            }
        }
        out.tunables.extend(self.facts(plan.image));
        out.tunables.extend([
            fact("kernel", report.release, ""),
            fact("accelerator", if kvm { "kvm" } else { "tcg" }.into(), ""),
            fact("cpus", shape.smp.cpus().to_string(), "CPUs"),
            fact("memory_mib", (shape.memory_bytes() >> 20).to_string(), "MiB"),
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

/// What a record says of its kernel. A plan is identified by the image's checksum alone: the same kernel from a commit
/// and from the changes that became it is the same.
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
/// Up to here kernels that patch their own code ran without a crash under multi-threaded emulation.
const PATCHING_CPUS: usize = 8;
/// Boots of a guest that dies of a breakpoint that was gone ([`RunError::is_stale_breakpoint`]); seen in two of fifteen.
const BOOTS: u32 = 3;

/// How much faster than the host's clock a guest's may run unnoticed.
const CLOCK_TOLERANCE: f64 = 1.25;

/// A guest measures its clock while it boots; on a busy host that can go wrong by factors, and scans with it.
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

/// Adds what the plugin counted, or says why it is not the run's.
fn add_misses(out: &mut Outcome, plugin: &PluginReport, shape: &Shape) -> Result<(), String> {
    let totals = plugin.totals()?;
    let sum = |f: fn(&plugin::report::CpuCounts) -> u64| totals.iter().map(f).sum::<u64>();
    out.counters.extend(plugin::report::COUNTERS.map(|(name, value)| (name.to_string(), sum(value))));
    let times = out.series.iter().find(|s| s.name == "vmstat").map(|s| s.time_ns.clone()).unwrap_or_default();
    let elapsed = out.scalars.iter().find(|s| s.name == "elapsed_s").map_or(0.0, |s| s.value);
    let end = ((elapsed * 1e9) as u64).max(times.last().map_or(0, |t| t + 1));
    out.series.extend(plugin.series(&shape.cpu_ids, &times, end));
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
        let revision = crate::image::source::Revision {
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

    #[test]
    fn a_machine_too_large_for_the_plugin_is_refused_before_anything_starts() {
        let directory = tempfile::tempdir().unwrap();
        let lab = |library| Lab {
            cache: Cache::at(directory.path()).unwrap(),
            settings: Settings {
                limits: Limits { cpus: crate::shape::MAX_CPUS, ..Limits::default() },
                ..Settings::new(Timing::Modelled)
            },
            worker: Vec::new(),
            version: String::new(),
            kvm: Err(String::new()),
            library,
            slots: Slots::new(1, 1),
        };
        let machine = |nodes| crate::shape::tests::machine(nodes, 1, 1, 1, false);
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
