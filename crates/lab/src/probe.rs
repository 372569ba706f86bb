//! Probes of this host: programs, KVM, memory, processors.

use crate::failure::at_path;
use numalab_worker::frame::{EXIT_PORT, EXIT_REPORTED};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time that a guest of a few instructions may take.
const KVM_TRIAL: Duration = Duration::from_secs(10);

/// Path of a program: its own if it has several components, else the first on the search path.
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
/// The program cannot be run, or prints no version.
pub fn qemu_version(program: &Path) -> Result<(u32, u32, u32), String> {
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(at_path(program))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    parse_version(&text).ok_or_else(|| format!("{}: no version in `{}`", program.display(), text.trim()))
}

fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let rest = &text[text.find("version ")? + "version ".len()..];
    let word = rest.split(|c: char| c.is_whitespace()).next()?;
    let mut parts = word.split('.').map(|p| p.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Checks that QEMU can run a guest with KVM: first the device answers, then a guest of a few instructions runs.
///
/// # Errors
/// Why KVM cannot be used.
pub fn kvm(qemu: &Path) -> Result<(), String> {
    kvm_device()?;
    kvm_guest(qemu)
}

/// A boot sector that ends QEMU through its exit device.
fn boot_sector() -> Vec<u8> {
    // mov al, EXIT_REPORTED; out EXIT_PORT, al; hlt; jmp to hlt
    let mut sector = vec![0xb0, EXIT_REPORTED, 0xe6, EXIT_PORT as u8, 0xf4, 0xeb, 0xfd];
    sector.resize(510, 0);
    sector.extend([0x55, 0xaa]);
    sector
}

fn kvm_guest(qemu: &Path) -> Result<(), String> {
    let image = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    std::fs::write(image.path(), boot_sector()).map_err(|e| e.to_string())?;
    let drive = format!("file={},format=raw,snapshot=on", crate::qemu::escape(image.path()));
    let exit = format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04");
    let mut command = Command::new(qemu);
    command.args(["-accel", "kvm", "-cpu", "host", "-machine", "pc", "-nodefaults", "-no-user-config", "-no-reboot"]);
    command.args(["-display", "none", "-monitor", "none", "-nic", "none", "-drive", &drive, "-device", &exit]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = crate::child::ends_with_parent(&mut command, libc::SIGKILL).spawn();
    let mut child = child.map_err(at_path(qemu))?;
    let limit = Instant::now() + KVM_TRIAL;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(20)),
            _ => break None,
        }
    };
    if status.is_none() {
        // An error means that it has ended.
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("a guest of a few instructions did not end within {} s", KVM_TRIAL.as_secs()));
    }
    if status.and_then(|s| s.code()) == Some(2 * i32::from(EXIT_REPORTED) + 1) {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        // After an error, the text read so far is shown.
        let _ = std::io::Read::read_to_string(&mut stderr, &mut said);
    }
    let first = said.lines().find(|l| l.contains("error")).or(said.lines().last()).unwrap_or("QEMU ended by itself");
    Err(format!("a guest of a few instructions failed: {}", first.trim()))
}

fn kvm_device() -> Result<(), String> {
    const GET_API_VERSION: libc::c_ulong = 0xAE00;
    const CREATE_VM: libc::c_ulong = 0xAE01;
    const CREATE_VCPU: libc::c_ulong = 0xAE41;
    const API_VERSION: i32 = 12;
    let device = OpenOptions::new().read(true).write(true).open("/dev/kvm").map_err(|e| format!("/dev/kvm: {e}"))?;
    let call = |fd: i32, request: libc::c_ulong, what: &str| {
        // SAFETY: these requests take a plain number and access no memory of this process.
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
        // SAFETY: the kernel has just returned this descriptor, and nothing else uses it.
        unsafe { libc::close(vcpu) };
    }
    // SAFETY: the kernel has returned this descriptor, and nothing else uses it.
    unsafe { libc::close(vm) };
    vcpu.map(|_| ())
}

/// Memory that can be used without swapping (`MemAvailable`), bytes; 0 if unknown.
pub fn available_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    meminfo(&text, "MemAvailable:")
}

fn meminfo(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    let kib: Option<u64> = line.and_then(|l| l.trim().strip_suffix("kB")).and_then(|n| n.trim().parse().ok());
    kib.unwrap_or(0) * 1024
}

/// Number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Whether the programs that a test needs are installed. If not, a line on standard error says that the test is
/// skipped.
#[cfg(test)]
pub(crate) fn test_has(programs: &[&str]) -> bool {
    use std::io::Write;
    let missing = programs.iter().find(|p| find_program(Path::new(p)).is_none());
    if let Some(program) = missing {
        let test = std::thread::current().name().unwrap_or("a test").to_string();
        // Not `eprintln!`: the test harness hides its output if the test passes.
        let _ = writeln!(std::io::stderr(), "{test} is skipped: there is no `{program}` here");
    }
    missing.is_none()
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
