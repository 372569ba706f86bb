//! Names of system calls of x86-64 Linux, of those that matter here.

/// Number and name. The second half are those that `qemu-x86_64` 7.2 does not have, and programs ask for.
const NAMES: [(u32, &str); 27] = [
    (9, "mmap"),
    (11, "munmap"),
    (12, "brk"),
    (25, "mremap"),
    (28, "madvise"),
    (59, "execve"),
    (237, "mbind"),
    (238, "set_mempolicy"),
    (239, "get_mempolicy"),
    (256, "migrate_pages"),
    (272, "unshare"),
    (279, "move_pages"),
    (298, "perf_event_open"),
    (308, "setns"),
    (310, "process_vm_readv"),
    (317, "seccomp"),
    (321, "bpf"),
    (323, "userfaultfd"),
    (324, "membarrier"),
    (329, "pkey_mprotect"),
    (334, "rseq"),
    (425, "io_uring_setup"),
    (434, "pidfd_open"),
    (435, "clone3"),
    (440, "process_madvise"),
    (441, "epoll_pwait2"),
    (449, "futex_waitv"),
];

/// The name of a system call, or `system call N`.
pub fn name(number: u32) -> String {
    match NAMES.iter().find(|n| n.0 == number) {
        Some((_, name)) => (*name).into(),
        None => format!("system call {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel() {
        let known = [
            (libc::SYS_mbind, "mbind"),
            (libc::SYS_set_mempolicy, "set_mempolicy"),
            (libc::SYS_io_uring_setup, "io_uring_setup"),
            (libc::SYS_membarrier, "membarrier"),
            (libc::SYS_move_pages, "move_pages"),
            (libc::SYS_epoll_pwait2, "epoll_pwait2"),
        ];
        for (number, expected) in known {
            assert_eq!(name(number as u32), expected);
        }
        assert_eq!(name(9999), "system call 9999");
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order, each once");
    }
}
