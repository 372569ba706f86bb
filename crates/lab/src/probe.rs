//! What this host has: programs, KVM, memory, processors.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program on the search path (or at its path).
pub fn find_program(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_path_buf());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file())
}

/// QEMU's version, e.g. (7, 2, 22).
///
/// # Errors
/// The program cannot be run, or says nothing that looks like a version.
pub fn qemu_version(program: &Path) -> Result<(u32, u32, u32), String> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    parse_version(&text).ok_or_else(|| format!("{}: no version in `{}`", program.display(), text.trim()))
}

fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let rest = &text[text.find("version ")? + "version ".len()..];
    let word = rest.split(|c: char| c.is_whitespace()).next()?;
    let mut parts = word.split('.').map(|p| p.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Whether KVM can make and run a virtual machine here; the reason if not.
///
/// # Errors
/// Why it cannot.
pub fn kvm() -> Result<(), String> {
    const GET_API_VERSION: libc::c_ulong = 0xAE00;
    const CREATE_VM: libc::c_ulong = 0xAE01;
    const CREATE_VCPU: libc::c_ulong = 0xAE41;
    const API_VERSION: i32 = 12;
    let device = OpenOptions::new().read(true).write(true).open("/dev/kvm").map_err(|e| format!("/dev/kvm: {e}"))?;
    let call = |fd: i32, request: libc::c_ulong, what: &str| {
        // SAFETY: these requests take a plain number and touch no memory of ours.
        let result = unsafe { libc::ioctl(fd, request as _, 0) };
        if result < 0 {
            return Err(format!("/dev/kvm: {what}: {}", std::io::Error::last_os_error()));
        }
        Ok(result)
    };
    let version = call(device.as_raw_fd(), GET_API_VERSION, "version")?;
    if version != API_VERSION {
        return Err(format!("/dev/kvm: interface version {version}, {API_VERSION} expected"));
    }
    let vm = call(device.as_raw_fd(), CREATE_VM, "cannot make a virtual machine")?;
    let vcpu = call(vm, CREATE_VCPU, "cannot make a virtual CPU");
    if let Ok(vcpu) = vcpu {
        // SAFETY: the descriptor was just made by the kernel for us.
        unsafe { libc::close(vcpu) };
    }
    // SAFETY: as above.
    unsafe { libc::close(vm) };
    vcpu.map(|_| ())
}

/// Memory that can be used without swapping, bytes; 0 if unknown.
pub fn available_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    meminfo(&text, "MemAvailable:")
}

fn meminfo(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    let kib: Option<u64> = line.and_then(|l| l.trim().strip_suffix("kB")).and_then(|n| n.trim().parse().ok());
    kib.unwrap_or(0) * 1024
}

/// Processors this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_memory_are_read() {
        let text = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright\n";
        assert_eq!(parse_version(text), Some((7, 2, 22)));
        assert_eq!(parse_version("QEMU emulator version 10.0"), Some((10, 0, 0)));
        assert_eq!(parse_version("no"), None);
        assert_eq!(meminfo("MemTotal: 5 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), 12288);
        assert!(available_bytes() > 0 && processors() > 0);
        assert!(find_program(Path::new("sh")).is_some());
        assert!(find_program(Path::new("/no/such")).is_none());
    }
}
