//! Kernel settings under the names the kernel uses.
//!
//! A knob that the running kernel does not have, or whose value it refuses or changes, is an error: a
//! setting that has no effect must not look as if it had.

use crate::job::Knob;
use numalab_model::record::EffectiveTunable;
use std::fs;
use std::path::PathBuf;

/// File of a kernel name: `sysctl a.b`, `debugfs p/q`, `sysfs p/q` or an absolute path. `None` if it names no file
/// (a boot option, say).
pub fn path(kernel_name: &str) -> Option<PathBuf> {
    let name = kernel_name.trim();
    if name.starts_with('/') {
        return Some(name.into());
    }
    let (kind, rest) = name.split_once(' ')?;
    let rest = rest.trim();
    match kind {
        "sysctl" => Some(PathBuf::from("/proc/sys").join(rest.replace('.', "/"))),
        "debugfs" => Some(PathBuf::from("/sys/kernel/debug").join(rest)),
        "sysfs" => Some(PathBuf::from("/sys").join(rest)),
        _ => None,
    }
}

/// Value of a file's text; of a choice such as `always [madvise] never` the chosen word.
pub fn value_of(text: &str) -> String {
    let text = text.trim();
    match (text.find('['), text.find(']')) {
        (Some(a), Some(b)) if a < b => text[a + 1..b].to_string(),
        _ => text.to_string(),
    }
}

/// Sets a knob (unless its value is empty) and returns (value before, what the kernel has now).
///
/// # Errors
/// The kernel lacks it, refuses the value, or keeps another one.
pub fn apply(knob: &Knob) -> Result<(String, EffectiveTunable), String> {
    let name = &knob.kernel_name;
    let path = path(name).ok_or_else(|| format!("`{name}` names no file of a running kernel"))?;
    let read = || fs::read_to_string(&path).map(|t| value_of(&t)).map_err(|e| format!("`{name}`: {e}"));
    let before = read()?;
    if !knob.value.is_empty() {
        fs::write(&path, &knob.value).map_err(|e| format!("`{name}` = {}: {e}", knob.value))?;
    }
    let now = read()?;
    if !knob.value.is_empty() && now != knob.value {
        return Err(format!("`{name}` = {} was accepted but the kernel has {now}", knob.value));
    }
    let effective = EffectiveTunable {
        name: knob.name.clone(),
        value: now,
        unit: knob.unit.clone(),
        kernel_name: knob.kernel_name.clone(),
    };
    Ok((before, effective))
}

/// Writes a knob's former value back; a failure leaves it as it is.
pub fn restore(knob: &Knob, before: &str) {
    if let (Some(path), false) = (path(&knob.kernel_name), knob.value.is_empty()) {
        let _ = fs::write(path, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths() {
        let p = |n| path(n).map(|p| p.to_string_lossy().into_owned());
        assert_eq!(p("sysctl kernel.numa_balancing").as_deref(), Some("/proc/sys/kernel/numa_balancing"));
        assert_eq!(p("debugfs sched/x").as_deref(), Some("/sys/kernel/debug/sched/x"));
        assert_eq!(p("sysfs kernel/mm/y").as_deref(), Some("/sys/kernel/mm/y"));
        assert_eq!(p("/tmp/z").as_deref(), Some("/tmp/z"));
        assert_eq!(p("boot numa_balancing"), None);
        assert_eq!(value_of("always [madvise] never\n"), "madvise");
        assert_eq!(value_of("17\n"), "17");
    }

    #[test]
    fn a_setting_is_made_checked_and_undone() {
        let file = std::env::temp_dir().join(format!("numalab-knob-{}", std::process::id()));
        fs::write(&file, "5\n").unwrap();
        let kernel_name = file.to_string_lossy().into_owned();
        let knob = Knob { name: "a.b".into(), kernel_name, value: "7".into(), unit: "ms".into() };
        let (before, now) = apply(&knob).unwrap();
        assert_eq!((before.as_str(), now.value.as_str()), ("5", "7"));
        restore(&knob, &before);
        assert_eq!(fs::read_to_string(&file).unwrap(), "5");
        fs::remove_file(&file).unwrap();
        assert!(apply(&knob).unwrap_err().contains(&knob.kernel_name));
    }
}
