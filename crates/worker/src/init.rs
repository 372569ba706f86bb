//! Process 1 of a guest: mounts file systems, runs the job, reports, and powers the guest off.

use crate::backing;
use crate::frame::{encode, Kind, EXIT_BROKEN, EXIT_PORT, EXIT_REPORTED, JOB_PATH, REPORT_TTY};
use crate::job::{Drill, Job};
use crate::run::{self, RunError};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

/// File systems and their mount points.
const MOUNTS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
    ("tmpfs", "/tmp"),
    ("ramfs", backing::GUEST_DIR),
];

static REPORT: OnceLock<File> = OnceLock::new();

/// Runs the guest. It never returns.
pub fn main() -> ! {
    std::panic::set_hook(Box::new(|info| {
        send(Kind::Refused, info.to_string().as_bytes());
        power_off(EXIT_BROKEN)
    }));
    for (kind, place) in MOUNTS {
        let _ = std::fs::create_dir_all(place);
        // The RAM disk may have files of a program there, which a mount would hide. It can be written too.
        let holds_files = std::fs::read_dir(place).is_ok_and(|mut files| files.next().is_some());
        if place != "/tmp" || !holds_files {
            mount(kind, place);
        }
    }
    match OpenOptions::new().read(true).write(true).open(REPORT_TTY) {
        Ok(tty) => {
            make_raw(&tty);
            let _ = REPORT.set(tty);
        }
        Err(e) => {
            eprintln!("numalab-worker: {REPORT_TTY}: {e}");
            power_off(EXIT_BROKEN);
        }
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    send(Kind::Hello, release.trim().as_bytes());
    match carry_out() {
        Ok(outcome) => {
            send(Kind::Outcome, &outcome);
            send(Kind::End, b"");
            power_off(EXIT_REPORTED)
        }
        Err(reason) => {
            match &reason {
                RunError::Setting(e) => send(Kind::Setting, &serde_json::to_vec(e).unwrap_or_default()),
                other => send(Kind::Refused, other.to_string().as_bytes()),
            }
            send(Kind::End, b"");
            power_off(EXIT_BROKEN)
        }
    }
}

fn carry_out() -> Result<Vec<u8>, RunError> {
    let bytes = std::fs::read(JOB_PATH).map_err(|e| format!("{JOB_PATH}: {e}"))?;
    let job = Job::from_bytes(&bytes).map_err(|e| e.to_string())?;
    match job.drill {
        // The kernel panics when process 1 ends.
        Some(Drill::Panic) => std::process::exit(0),
        Some(Drill::Hang) => loop {
            crate::sys::sleep_ns(1_000_000_000);
        },
        Some(Drill::Garbage) => write_report(b"this is not a frame\n"),
        None => {}
    }
    if job.invocation.is_some() {
        prepare_for_programs();
    }
    let mut beat = |elapsed_ns: u64| send(Kind::Beat, elapsed_ns.to_string().as_bytes());
    let outcome = run::run(&job, &mut beat)?;
    Ok(serde_json::to_vec(&outcome).map_err(|e| e.to_string())?)
}

/// What programs expect of a system beside its file systems: shared memory, names of descriptors, a loopback network.
fn prepare_for_programs() {
    let _ = std::fs::create_dir_all("/dev/shm");
    mount("tmpfs", "/dev/shm");
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        let _ = std::os::unix::fs::symlink(target, format!("/dev/{name}"));
    }
    if let Err(e) = crate::sys::loopback_up() {
        eprintln!("numalab-worker: no loopback network: {e}");
    }
}

fn send(kind: Kind, payload: &[u8]) {
    write_report(&encode(kind, payload));
}

fn write_report(bytes: &[u8]) {
    if let Some(mut tty) = REPORT.get() {
        // An error cannot be reported; the host sees an incomplete report.
        let _ = tty.write_all(bytes);
    }
}

fn mount(kind: &str, place: &str) {
    let (Ok(kind), Ok(place)) = (CString::new(kind), CString::new(place)) else { return };
    // Errors are ignored: a kernel without tracefs or debugfs still runs workloads, and their users report the lack.
    // SAFETY: all pointers are valid C strings or null.
    unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
}

/// Sets a serial line to raw mode, without newline translation and echo.
fn make_raw(tty: &File) {
    // SAFETY: termios is plain data filled by tcgetattr before use; the descriptor is open.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(tty.as_raw_fd(), &mut settings) == 0 {
            libc::cfmakeraw(&mut settings);
            // As cfsetspeed does, which the crate libc binds to a version that a static glibc lacks.
            settings.c_cflag = (settings.c_cflag & !libc::CBAUD) | libc::B115200;
            libc::tcsetattr(tty.as_raw_fd(), libc::TCSANOW, &settings);
        }
    }
}

/// Ends QEMU through its exit device, or powers the guest off if there is none.
fn power_off(value: u8) -> ! {
    if let Some(tty) = REPORT.get() {
        // SAFETY: the descriptor is open; the call only waits until the line has sent everything.
        unsafe { libc::tcdrain(tty.as_raw_fd()) };
    }
    exit_port(value);
    // SAFETY: the commands are valid, and process 1 may call reboot.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
        libc::reboot(libc::RB_AUTOBOOT);
    }
    loop {
        crate::sys::sleep_ns(1_000_000_000);
    }
}

#[cfg(target_arch = "x86_64")]
fn exit_port(value: u8) {
    // SAFETY: requests access to one port; a kernel without ioperm returns an error.
    if unsafe { libc::ioperm(EXIT_PORT.into(), 1, 1) } == 0 {
        // SAFETY: access to the port was granted, and the port is the exit device of the virtual machine.
        unsafe { std::arch::asm!("out dx, al", in("dx") EXIT_PORT, in("al") value, options(nomem, nostack)) };
    } else if let Ok(port) = OpenOptions::new().write(true).open("/dev/port") {
        use std::os::unix::fs::FileExt;
        let _ = port.write_at(&[value], EXIT_PORT.into());
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn exit_port(_value: u8) {}
