//! Whether a process is too big for a cache (kernel: `exceed_llc_capacity`, `invalid_llc_nr`).

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// What a size is multiplied with at a tolerance: 0 for none, `None` for no limit, else 1 + (tolerance − 1)·`step`.
pub fn scale(tolerance: u32, step: u64) -> Option<u64> {
    match tolerance {
        0 => Some(0),
        t if t >= 100 => None,
        t => Some(1 + u64::from(t - 1) * step),
    }
}

/// Whether the footprint of a process, in pages, exceeds a cache. The footprint comes from hint faults, so it has no
/// meaning without NUMA balancing, and nothing exceeds then. `llc_bytes` is `None` for a CPU without a cache domain.
pub fn exceeds(numa_balancing: bool, llc_bytes: Option<u64>, tolerance: u32, footprint_pages: u64) -> bool {
    if !numa_balancing {
        return false;
    }
    let Some(bytes) = llc_bytes else { return true };
    let footprint = u128::from(footprint_pages) * u128::from(PAGE_BYTES);
    scale(tolerance, 256).is_some_and(|s| u128::from(s) * u128::from(bytes) < footprint)
}

/// Whether a process has too many running threads for a cache of `llc_cpus` CPUs with `smt` threads per core, or just
/// one thread.
pub fn too_many_threads(threads: u32, nr_avg: u64, smt: u32, llc_cpus: u32, tolerance: u32) -> bool {
    if threads <= 1 {
        return true;
    }
    let load = nr_avg * u64::from(smt) * 1280;
    scale(tolerance, 1).is_some_and(|s| load >= s * u64::from(llc_cpus) * 1024)
}

/// The footprint after a placement changed a task's MEM counter by `change` pages; not below 0 (kernel-after-6.12.md
/// §2.4).
pub fn footprint_after(pages: u64, change: i64) -> u64 {
    pages.saturating_add_signed(change)
}

/// The footprint after a thread with `total` faults has exited.
pub fn footprint_after_exit(pages: u64, total: u64) -> u64 {
    pages - pages.min(total)
}
