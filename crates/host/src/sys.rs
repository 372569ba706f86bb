//! The system calls that the standard library lacks: pages and affinities of other processes, times of children.
//!
//! Every function is safe: the kernel checks addresses and ids of other processes, and no memory of this process is
//! given to it beyond the arguments.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

fn check(result: i64) -> io::Result<i64> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// User and system time of the children that were waited for.
pub fn children_times() -> (Duration, Duration) {
    // SAFETY: rusage is plain data; all-zero is a valid value that the call overwrites.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes nothing but `usage`.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    (time(usage.ru_utime), time(usage.ru_stime))
}

/// Asks a process to end (SIGTERM). An error means that it has ended.
pub fn terminate(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().filter(|p| *p > 1) {
        // SAFETY: the call sends a signal and changes no memory.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
}

/// The node of each page of a process, or a negative error number (`-ENOENT`: not present). `pages` are addresses.
///
/// # Errors
/// The process has ended, or may not be looked at.
pub fn page_nodes(pid: u32, pages: &[u64], nodes: &mut Vec<i32>) -> io::Result<()> {
    nodes.clear();
    nodes.resize(pages.len(), -libc::ENOENT);
    let none: *const i32 = std::ptr::null();
    // SAFETY: both arrays hold `pages.len()` entries; without a target array nothing is moved.
    let result = unsafe {
        libc::syscall(libc::SYS_move_pages, pid as i32, pages.len(), pages.as_ptr(), none, nodes.as_mut_ptr(), 0)
    };
    check(result).map(|_| ())
}

/// Only pages that this process alone maps are moved; others are refused with `-EACCES` (linux/mempolicy.h).
const MPOL_MF_MOVE: libc::c_int = 1 << 1;

/// Moves pages that only this process maps to `node`. `status` receives for each page its node, or a negative error
/// number.
///
/// # Errors
/// The process has ended, or this one may not move its pages.
pub fn move_pages(pid: u32, pages: &[u64], node: u32, status: &mut Vec<i32>) -> io::Result<()> {
    status.clear();
    status.resize(pages.len(), -libc::ENOENT);
    let to = vec![node as i32; pages.len()];
    // SAFETY: all three arrays hold `pages.len()` entries. The kernel moves pages of a process without a change of what
    // the process sees at any address.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid as i32,
            pages.len(),
            pages.as_ptr(),
            to.as_ptr(),
            status.as_mut_ptr(),
            MPOL_MF_MOVE,
        )
    };
    check(result).map(|_| ())
}

/// Words of a CPU mask: 4,096 CPUs, the most that the kernel can be built for without large masks off the stack.
const MASK_WORDS: usize = 128;

/// CPUs on which a thread may run, ascending.
///
/// # Errors
/// The thread has ended.
pub fn affinity(tid: u32) -> io::Result<Vec<u32>> {
    let mut mask = [0u64; MASK_WORDS];
    let bytes = std::mem::size_of_val(&mask);
    // SAFETY: the kernel writes at most `bytes` bytes of `mask`.
    check(unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid as i32, bytes, mask.as_mut_ptr()) })?;
    let has = |cpu: &u32| mask[*cpu as usize / 64] >> (cpu % 64) & 1 == 1;
    Ok((0..MASK_WORDS as u32 * 64).filter(has).collect())
}

/// Lets a thread run on `cpus` only.
///
/// # Errors
/// The thread has ended, this process may not change it, or none of the CPUs is allowed or online.
pub fn set_affinity(tid: u32, cpus: &[u32]) -> io::Result<()> {
    let mut mask = [0u64; MASK_WORDS];
    for &cpu in cpus {
        let word = mask.get_mut(cpu as usize / 64).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        *word |= 1 << (cpu % 64);
    }
    let bytes = std::mem::size_of_val(&mask);
    // SAFETY: the kernel reads `bytes` bytes of `mask`.
    check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid as i32, bytes, mask.as_ptr()) }).map(|_| ())
}

/// Lets the child that `command` starts write `child PID` and a line end to `to`, before its program begins.
pub fn announces_itself(command: &mut Command, to: OwnedFd) {
    let announce = move || {
        // Room for the word, ten digits and the line end. Nothing is allocated: other threads may hold the heap's lock.
        let mut line = [0_u8; 32];
        let mut rest = &mut line[..];
        // SAFETY: getpid is async-signal-safe and has no arguments.
        writeln!(rest, "child {}", unsafe { libc::getpid() })?;
        let len = 32 - rest.len();
        // SAFETY: `line` has `len` bytes, and `to` is open: the closure owns it. write is async-signal-safe.
        check(unsafe { libc::write(to.as_raw_fd(), line.as_ptr().cast(), len) } as i64).map(drop)
    };
    // SAFETY: between fork and exec the closure makes two async-signal-safe calls, and formats a number on its stack.
    unsafe { command.pre_exec(announce) };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pages_of_this_process_have_nodes_and_stay_intact() {
        let memory = vec![7u8; 1 << 20];
        let first = memory.as_ptr() as u64 & !4095;
        let pages: Vec<u64> = (1..200).map(|i| first + i * 4096).collect();
        let mut nodes = Vec::new();
        match page_nodes(std::process::id(), &pages, &mut nodes) {
            // A kernel without NUMA has no such call.
            Err(e) => assert_eq!(e.raw_os_error(), Some(libc::ENOSYS)),
            Ok(()) => {
                assert!(nodes.iter().all(|&n| n >= 0), "{nodes:?}");
                let mut status = Vec::new();
                move_pages(std::process::id(), &pages, nodes[0] as u32, &mut status).unwrap();
                assert!(status.iter().all(|&n| n == nodes[0]), "{status:?}");
            }
        }
        assert!(memory.iter().all(|&b| b == 7));
        assert!(page_nodes(u32::MAX / 4, &pages, &mut nodes).is_err());
    }

    #[test]
    fn affinities_are_read_and_set() {
        let own = numalab_worker::sys::thread_id() as u32;
        let before = affinity(own).unwrap();
        set_affinity(own, &before[..1]).unwrap();
        assert_eq!(affinity(own).unwrap(), &before[..1]);
        set_affinity(own, &before).unwrap();
        assert_eq!(affinity(own).unwrap(), before);
        assert!(set_affinity(own, &[1 << 20]).is_err() && set_affinity(own, &[]).is_err());
        assert!(affinity(u32::MAX / 4).is_err());
    }
}
