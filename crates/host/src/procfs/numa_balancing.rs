//! The switch of the kernel's own NUMA balancing, `kernel.numa_balancing`.

use std::path::Path;

/// The mode in `/proc/sys/kernel/numa_balancing` below `proc`: 0 off, 1 on, 2 memory tiering, 3 both.
/// `None` where the kernel has no such switch, or it cannot be read or understood.
pub fn mode(proc: &Path) -> Option<u32> {
    std::fs::read_to_string(proc.join("sys/kernel/numa_balancing")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The switch is read as a number; what is not one, and what is absent, is not a mode.
    #[test]
    fn mode_is_a_number_or_unknown() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(mode(dir.path()), None);
        std::fs::create_dir_all(dir.path().join("sys/kernel")).unwrap();
        std::fs::write(dir.path().join("sys/kernel/numa_balancing"), "2\n").unwrap();
        assert_eq!(mode(dir.path()), Some(2));
        std::fs::write(dir.path().join("sys/kernel/numa_balancing"), "on\n").unwrap();
        assert_eq!(mode(dir.path()), None);
    }
}
