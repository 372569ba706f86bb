//! Kernel settings of a run on a real kernel, from the plan's kernel of the catalog.
//!
//! A catalog kernel is a model; a real kernel has files for some of its tunables only. A tunable that the user sets
//! must have a file. A tunable that the catalog sets is written if the kernel has its file. The settings of the system
//! (balancing, huge pages) are written likewise, so that every backend runs under the same ones. The kernel's own
//! defaults are only reported.

use numalab_model::kernel::series::KNOB_GROUP;
use numalab_model::kernel::Kernel;
use numalab_worker::job::Knob;
use numalab_worker::knob;

/// The size of base pages, for which a kernel is built.
const BASE_PAGE: &str = "system.base_page_kb";
/// Origin of a tunable with its default value.
const DEFAULT: &str = "default";
/// Group of the settings that an administrator makes on any kernel.
const SYSTEM: &str = "system.";
/// Origin of a tunable set on the command line or in the experiment.
const SET: &str = "--set";

/// A setting that a real kernel has no file for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; expected {expected}")]
pub struct KnobError {
    /// The setting that is not possible.
    pub what: String,
    /// Settings that are possible.
    pub expected: String,
}

/// Whether a kernel name refers to a file of a running kernel.
pub fn settable(kernel_name: &str) -> bool {
    knob::path(kernel_name).is_some()
}

/// Whether a kernel has the base pages of guests.
///
/// # Errors
/// It has others. Nothing can give them to a guest, whoever set them.
pub fn has_our_pages(kernel: &Kernel) -> Result<(), KnobError> {
    match kernel.tunable(BASE_PAGE) {
        None | Some("4") => Ok(()),
        Some(kib) => Err(KnobError {
            what: format!("{BASE_PAGE} = {kib}: guests and the worker program have pages of 4 KiB"),
            expected: "base pages of 4 KiB, or --backend sim".into(),
        }),
    }
}

/// Settings for the job of a run with `kernel`.
///
/// # Errors
/// An explicit setting that a real kernel has no file for, or base pages that are not of 4 KiB, whoever set them.
pub fn of(kernel: &Kernel) -> Result<Vec<Knob>, KnobError> {
    has_our_pages(kernel)?;
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
            // A knob of a series takes its own words.
            other if t.name.starts_with(KNOB_GROUP) => other,
            "true" => "1",
            "false" => "0",
            other => other,
        };
        let required = t.origin == SET;
        out.push(Knob { value: value.into(), required, ..report(&t.name, &t.kernel_name, &t.unit) });
    }
    // The kernel accounts the blocked time of tasks only with this setting.
    out.push(Knob { value: "1".into(), ..report("guest.schedstats", "kernel.sched_schedstats", "") });
    Ok(out)
}

/// A setting that is reported and not written.
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
    fn only_settings_that_were_made_are_written() {
        let k = kernel(&[
            ("system.numa_balancing", "0", "kernel.numa_balancing", "off"),
            ("scan.scan_delay_ms", "1000", "debugfs sched/numa_balancing/scan_delay_ms", "default"),
            ("system.thp", "never", "sys/kernel/mm/transparent_hugepage/enabled", "--set"),
            ("numa.x", "true", "model", "6.12"),
            ("system.hz", "250", "CONFIG_HZ", "default"),
            ("system.zone_reclaim_mode", "0", "vm.zone_reclaim_mode", "default"),
            ("knob.thp_span", "true", "/sys/kernel/debug/numalab/thp_span", "--set"),
        ]);
        let knobs = of(&k).unwrap();
        let shown: Vec<_> = knobs.iter().map(|k| (k.name.as_str(), k.value.as_str(), k.required)).collect();
        let want = [
            ("system.numa_balancing", "0", false),
            ("scan.scan_delay_ms", "", false),
            ("system.thp", "never", true),
            ("system.zone_reclaim_mode", "0", false),
            ("knob.thp_span", "true", true),
            ("guest.schedstats", "1", false),
        ];
        assert_eq!(shown, want);
    }

    #[test]
    fn other_base_pages_are_refused_also_if_a_kernel_file_has_them() {
        let with = |value: &str, origin: &str| {
            of(&kernel(&[("system.base_page_kb", value, "CONFIG_ARM64_64K_PAGES, CONFIG_PPC_64K_PAGES", origin)]))
        };
        assert!(with("4", "default").is_ok());
        for origin in ["power", "--set"] {
            let e = with("64", origin).unwrap_err().to_string();
            assert!(e.contains("system.base_page_kb = 64: guests") && e.contains("--backend sim"), "{e}");
        }
    }

    #[test]
    fn a_setting_of_the_model_alone_is_refused() {
        let k = kernel(&[("numa.small_imp", "20", "model", "--set")]);
        let e = of(&k).unwrap_err().to_string();
        assert!(e.contains("numa.small_imp = 20") && e.contains("; expected a setting with a file under /proc"), "{e}");
    }
}
