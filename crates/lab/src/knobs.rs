//! Kernel settings of a run, from the kernel of the plan.
//!
//! A catalog kernel is a model; on a real kernel only those of its tunables can be set that the kernel has a
//! file for. What was asked for explicitly must be settable; what the catalog file sets is set where the kernel
//! has it, and so are the settings of the system (balancing, huge pages), so that every backend runs under the same
//! ones; the kernel's own defaults are only reported.

use numalab_model::kernel::Kernel;
use numalab_worker::job::Knob;
use numalab_worker::knob;

/// Origin of a tunable that nobody set.
const DEFAULT: &str = "default";
/// Group of the settings an administrator makes, whatever the kernel.
const SYSTEM: &str = "system.";
/// Origin of a tunable set on the command line or in the experiment.
const SET: &str = "--set";

/// A setting that a real kernel cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; expected {expected}")]
pub struct KnobError {
    /// What cannot be.
    pub what: String,
    /// What can.
    pub expected: String,
}

/// Whether a kernel name means a file of a running kernel.
pub fn settable(kernel_name: &str) -> bool {
    knob::path(kernel_name).is_some()
}

/// Settings for the job of a run with `kernel`.
///
/// # Errors
/// An explicit setting that a real kernel has no file for.
pub fn of(kernel: &Kernel) -> Result<Vec<Knob>, KnobError> {
    let mut out: Vec<Knob> = Vec::new();
    for t in &kernel.tunables {
        if !settable(&t.kernel_name) {
            if t.origin == SET {
                return Err(KnobError {
                    what: format!("{} = {}: a running kernel cannot be told so ({})", t.name, t.value, t.kernel_name),
                    expected: "a setting with a file under /proc/sys, /sys or debugfs, or --backend sim".into(),
                });
            }
            continue;
        }
        let value = match t.value.as_str() {
            _ if t.origin == DEFAULT && !t.name.starts_with(SYSTEM) => "",
            "true" => "1",
            "false" => "0",
            other => other,
        };
        let required = t.origin == SET;
        out.push(Knob { value: value.into(), required, ..report(&t.name, &t.kernel_name, &t.unit) });
    }
    // Time that tasks spend blocked is only kept when asked for.
    out.push(Knob { value: "1".into(), ..report("guest.schedstats", "kernel.sched_schedstats", "") });
    Ok(out)
}

/// A setting that is only reported.
fn report(name: &str, kernel_name: &str, unit: &str) -> Knob {
    Knob {
        name: name.into(),
        kernel_name: kernel_name.into(),
        value: String::new(),
        unit: unit.into(),
        required: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_model::kernel::TunableChoice;

    fn kernel(tunables: &[(&str, &str, &str, &str)]) -> Kernel {
        let tunable = |t: &(&str, &str, &str, &str)| TunableChoice {
            name: t.0.into(),
            value: t.1.into(),
            unit: String::new(),
            kernel_name: t.2.into(),
            origin: t.3.into(),
        };
        Kernel {
            name: "k".into(),
            title: String::new(),
            about: String::new(),
            since: String::new(),
            image: None,
            alias_of: None,
            chain: vec![],
            roles: vec![],
            tunables: tunables.iter().map(tunable).collect(),
            warnings: vec![],
        }
    }

    #[test]
    fn only_what_was_set_is_written() {
        let k = kernel(&[
            ("system.numa_balancing", "0", "kernel.numa_balancing", "off"),
            ("scan.scan_delay_ms", "1000", "debugfs sched/numa_balancing/scan_delay_ms", "default"),
            ("system.thp", "never", "sys/kernel/mm/transparent_hugepage/enabled", "--set"),
            ("numa.x", "true", "model", "6.12"),
            ("system.hz", "250", "CONFIG_HZ", "default"),
            ("system.zone_reclaim_mode", "0", "vm.zone_reclaim_mode", "default"),
        ]);
        let knobs = of(&k).unwrap();
        let shown: Vec<_> = knobs.iter().map(|k| (k.name.as_str(), k.value.as_str(), k.required)).collect();
        let want = [
            ("system.numa_balancing", "0", false),
            ("scan.scan_delay_ms", "", false),
            ("system.thp", "never", true),
            ("system.zone_reclaim_mode", "0", false),
            ("guest.schedstats", "1", false),
        ];
        assert_eq!(shown, want);
    }

    #[test]
    fn an_explicit_setting_of_the_model_is_refused() {
        let k = kernel(&[("numa.small_imp", "20", "model", "--set")]);
        let e = of(&k).unwrap_err().to_string();
        assert!(e.contains("numa.small_imp = 20") && e.contains("; expected a setting with a file under /proc"), "{e}");
    }
}
