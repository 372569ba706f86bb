//! Examines this host: what it can do, and the command that supplies each missing part.

use crate::cache::Cache;
use crate::image::build_tools::{self, apt_get_install};
use crate::image::source;
use crate::worker::{self, Worker};
use crate::{plugin, probe};
use std::path::Path;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Present.
    Good,
    /// Missing or unsuitable, but only some functions suffer.
    Partly,
    /// Missing, and guests cannot run without it.
    Missing,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of what was checked.
    pub name: &'static str,
    /// Verdict.
    pub verdict: Verdict,
    /// Version, path or error that was found.
    pub found: String,
    /// Purpose of what was checked.
    pub purpose: &'static str,
    /// Command that supplies it; empty if nothing is missing.
    pub remedy: String,
}

/// QEMU series on which the timing mode `modelled` was verified.
pub const QEMU_VERIFIED: (u32, u32) = (7, 2);
/// Least free memory for a useful guest, bytes.
const LEAST_MEMORY: u64 = 3 << 30;

/// All findings, the most important first.
pub fn examine(qemu_program: &Path) -> Vec<Finding> {
    vec![
        find_qemu(qemu_program),
        find_worker(),
        find_compiler(),
        find_tool("xz", "unpacking packaged kernels", "xz-utils"),
        find_fetcher(),
        find_build_tools(),
        find_tool("ccache", "building changed kernels in seconds", "ccache"),
        find_source(),
        find_kvm(qemu_program),
        find_memory(),
    ]
}

/// Whether guests can run.
pub fn can_run(findings: &[Finding]) -> bool {
    findings.iter().all(|f| f.verdict != Verdict::Missing)
}

fn finding(name: &'static str, purpose: &'static str, verdict: Verdict, found: String, remedy: String) -> Finding {
    Finding { name, verdict, found, purpose, remedy }
}

fn find_qemu(program: &Path) -> Finding {
    let purpose = "running guests";
    match probe::qemu_version(program) {
        Err(e) => finding("QEMU", purpose, Verdict::Missing, e, apt_get_install("qemu-system-x86")),
        Ok((major, minor, patch)) if (major, minor) == QEMU_VERIFIED => {
            finding("QEMU", purpose, Verdict::Good, format!("{major}.{minor}.{patch}"), String::new())
        }
        Ok((major, minor, patch)) => {
            let found = format!("{major}.{minor}.{patch}; timing `modelled` was verified on 7.2 only");
            let remedy = "the self-test decides; QEMU 7.2 is in Debian 12".to_string();
            finding("QEMU", purpose, Verdict::Partly, found, remedy)
        }
    }
}

fn find_worker() -> Finding {
    let purpose = "the program inside the guest";
    match Worker::for_guests() {
        Ok(worker) => finding("worker", purpose, Verdict::Good, worker.to_string(), String::new()),
        Err(e) => finding("worker", purpose, Verdict::Missing, e, worker::remedy()),
    }
}

fn find_compiler() -> Finding {
    let purpose = "the plugin of timing `modelled` (its header is built in)";
    let built = Cache::open().map_err(|e| e.to_string()).and_then(|c| plugin::library(&c));
    match built {
        Ok(path) => finding("plugin", purpose, Verdict::Good, path.display().to_string(), String::new()),
        Err(e) => finding("plugin", purpose, Verdict::Partly, e, apt_get_install("gcc libc6-dev")),
    }
}

/// Finding for a program that is useful and not necessary.
fn find_tool(program: &'static str, purpose: &'static str, package: &str) -> Finding {
    match probe::find_program(Path::new(program)) {
        Some(path) => finding(program, purpose, Verdict::Good, path.display().to_string(), String::new()),
        None => finding(program, purpose, Verdict::Partly, "not found".into(), apt_get_install(package)),
    }
}

fn find_fetcher() -> Finding {
    let purpose = "fetching packaged kernels (or give --kernel deb:FILE)";
    let names = crate::image::debian::Apt::default().candidates("^linux-image-6\\..*-amd64$");
    match names.map(|n| crate::image::debian::newest(&n)) {
        Ok(Some(newest)) => finding("packages", purpose, Verdict::Good, newest, String::new()),
        Ok(None) => {
            finding("packages", purpose, Verdict::Partly, "no kernel is listed".into(), "apt-get update".into())
        }
        Err(e) => finding("packages", purpose, Verdict::Partly, e, "give --kernel deb:FILE or bzImage:FILE".into()),
    }
}

fn find_build_tools() -> Finding {
    let purpose = "building kernels";
    match build_tools::missing() {
        None => finding("build tools", purpose, Verdict::Good, "all there".into(), String::new()),
        Some(tools) => {
            let found = format!("missing: {}", tools.names.join(", "));
            finding("build tools", purpose, Verdict::Partly, found, tools.remedy)
        }
    }
}

fn find_source() -> Finding {
    let purpose = "--kernel source:6.12";
    let cache = Cache::open().ok();
    let kernels = cache.and_then(|c| c.directory(crate::cache::KERNELS).ok());
    let built = kernels.and_then(|k| std::fs::read_dir(k).ok()).into_iter().flatten().flatten();
    let mut names: Vec<String> = built
        .filter(|e| e.path().join(source::BUILD).join("vmlinux").is_file())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    if names.is_empty() {
        let found = "none built yet (the first build takes minutes)".into();
        return finding("own kernels", purpose, Verdict::Partly, found, "numalab kernel build source:6.12".into());
    }
    finding("own kernels", purpose, Verdict::Good, names.join(", "), String::new())
}

fn find_kvm(qemu: &Path) -> Finding {
    let purpose = "timing `counters` at full speed";
    match probe::kvm(qemu) {
        Ok(()) => finding("KVM", purpose, Verdict::Good, "usable".into(), String::new()),
        Err(e) => finding("KVM", purpose, Verdict::Partly, format!("{e}; guests are emulated"), String::new()),
    }
}

fn find_memory() -> Finding {
    let purpose = "guests and their workloads";
    let (bytes, processors) = (probe::available_bytes(), probe::processors());
    let found = format!("{:.1} GiB free, {processors} processors", bytes as f64 / f64::from(1u32 << 30));
    if bytes >= LEAST_MEMORY {
        return finding("memory", purpose, Verdict::Good, found, String::new());
    }
    let remedy = "free memory, or use a smaller guest: --guest-memory 2GiB".into();
    finding("memory", purpose, Verdict::Partly, found, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_has_a_remedy() {
        let findings = examine(Path::new("/no/such/qemu"));
        let qemu = &findings[0];
        assert_eq!((qemu.name, qemu.verdict), ("QEMU", Verdict::Missing));
        assert!(qemu.remedy.contains("qemu-system-x86"));
        assert!(!can_run(&findings));
        for f in &findings {
            assert!(f.verdict == Verdict::Good || f.name == "KVM" || !f.remedy.is_empty(), "{f:?}");
        }
    }
}
