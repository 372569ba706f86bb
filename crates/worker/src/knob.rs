//! Files of kernel settings, from the names that the kernel uses.
//!
//! [`crate::settings`] writes them. A setting that the running kernel lacks, refuses or changes is an error, because a
//! setting without effect must not pass for one with effect.

use std::path::PathBuf;

/// Path of a kernel name: `kernel.x` or `vm.x` (sysctl), `debugfs p/q`, `sys/p/q`, or an absolute path. `None` if the
/// name refers to no file of a running kernel (`CONFIG_HZ`, `model`, a normalised value).
pub fn path(kernel_name: &str) -> Option<PathBuf> {
    let name = kernel_name.trim();
    let plain = |n: &str| !n.is_empty() && !n.contains(|c: char| c.is_whitespace() || "()".contains(c));
    if let Some(rest) = name.strip_prefix("debugfs ").filter(|r| plain(r)) {
        return Some(PathBuf::from("/sys/kernel/debug").join(rest));
    }
    if !plain(name) {
        return None;
    }
    if name.starts_with('/') {
        return Some(name.into());
    }
    if name.starts_with("sys/") || name.starts_with("proc/") {
        return Some(PathBuf::from("/").join(name));
    }
    let sysctl = name.starts_with("kernel.") || name.starts_with("vm.");
    sysctl.then(|| PathBuf::from("/proc/sys").join(name.replace('.', "/")))
}

/// Value in a file's text. In a choice such as `always [madvise] never` it is the word in brackets.
pub fn value_of(text: &str) -> String {
    let text = text.trim();
    match (text.find('['), text.find(']')) {
        (Some(a), Some(b)) if a < b => text[a + 1..b].to_string(),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths() {
        let p = |n| path(n).map(|p| p.to_string_lossy().into_owned());
        assert_eq!(p("kernel.numa_balancing").as_deref(), Some("/proc/sys/kernel/numa_balancing"));
        assert_eq!(p("vm.zone_reclaim_mode").as_deref(), Some("/proc/sys/vm/zone_reclaim_mode"));
        assert_eq!(p("debugfs sched/x").as_deref(), Some("/sys/kernel/debug/sched/x"));
        assert_eq!(p("sys/kernel/mm/y").as_deref(), Some("/sys/kernel/mm/y"));
        assert_eq!(p("/tmp/z").as_deref(), Some("/tmp/z"));
        for none in ["CONFIG_HZ", "model", "debugfs sched/latency_ns (normalised)", "", "numa_balancing="] {
            assert_eq!(p(none), None, "{none}");
        }
        assert_eq!(value_of("always [madvise] never\n"), "madvise");
        assert_eq!(value_of("17\n"), "17");
    }
}
