//! Fits a machine and a workload into a guest, with a warning for everything that is scaled.
//!
//! Nodes, sockets, distances, latencies and bandwidths never change, because they are the experiment. Only what
//! emulation cannot hold is scaled. CPUs ([`fit_machine`]): first cores per last-level cache are left out, then SMT
//! threads, then caches per node. Memory ([`fit_workload`]): a power of two divides the workload's regions, the guest's
//! nodes and the modelled caches alike; the smallest that makes the workload fit is taken. For a divisor the workload
//! is resolved on a machine with as much memory as that many guests, so a workload's condition on a node's memory stays
//! true.

use crate::shrink;
use crate::topology::{GuestTopology, TopologyError, MAX_CPUS, MEMORY_UNIT};
use numalab_model::machine::Machine;
use numalab_model::workload::Workload;

/// Limits of a guest's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most CPUs.
    pub cpus: usize,
    /// Most memory, bytes.
    pub memory_bytes: u64,
    /// Most memory that the workload may fill, bytes. Emulated threads take long to sweep memory.
    pub workload_bytes: u64,
}

/// Default limit of CPUs: larger guests boot slowly under emulation.
pub const DEFAULT_CPUS: usize = 64;
/// Least memory of node 0, which holds the kernel, bytes.
const NODE0_BYTES: u64 = 512 << 20;
/// Share of the guest's memory that a workload may fill, percent.
const FILL_PERCENT: u64 = 75;
/// Largest divisor that is tried.
const MAX_DIVISOR: u64 = 1 << 20;
/// Name of the divisor among a fitted workload's parameters.
pub const DIVISOR: &str = "guest_memory_divisor";

impl Default for Limits {
    fn default() -> Self {
        Self { cpus: DEFAULT_CPUS, memory_bytes: 8 << 30, workload_bytes: 2 << 30 }
    }
}

/// Why a workload cannot be fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError<E> {
    /// QEMU cannot build the machine.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The workload does not resolve on the machine.
    #[error("the workload does not resolve")]
    Workload(E),
}

/// The machine with at most as many CPUs as `limits` allow; a warning of the result says what was left out.
///
/// # Errors
/// Even one CPU per node is too many, or QEMU cannot build the result.
pub fn fit_machine(machine: &Machine, limits: Limits) -> Result<Machine, TopologyError> {
    let limit = limits.cpus.min(MAX_CPUS);
    let mut out = machine.clone();
    if machine.cpu_count() > limit {
        out = keep_cpus(machine, &choose_cpus(machine, limit)?);
        out.warnings.push(format!(
            "the guest has {} of {} CPUs and {} of {} last-level caches",
            out.cpu_count(),
            machine.cpu_count(),
            out.llcs.len(),
            machine.llcs.len()
        ));
    }
    GuestTopology::of(&out)?;
    Ok(out)
}

/// Resolves a workload with `resolve` so that it fits a guest of `machine`. The divisor becomes one of its parameters
/// ([`DIVISOR`]), and warnings say what was scaled.
///
/// # Errors
/// Too little memory for the nodes, or the error of `resolve` on the whole machine.
pub fn fit_workload<E>(
    machine: &Machine,
    limits: Limits,
    resolve: &mut dyn FnMut(&Machine) -> Result<Workload, E>,
) -> Result<Workload, FitError<E>> {
    let mut divisor = 1;
    loop {
        let sizes = node_sizes(machine, limits, divisor)?;
        let mut capped = machine.clone();
        for (node, size) in capped.nodes.iter_mut().zip(&sizes) {
            node.memory_bytes = node.memory_bytes.min(size.saturating_mul(divisor));
        }
        let whole = capped == *machine;
        let room = (sizes.iter().sum::<u64>() * FILL_PERCENT / 100).min(limits.workload_bytes);
        match resolve(&capped) {
            Ok(workload) => {
                let need = shrink::memory_bytes(&workload);
                if need / divisor <= room || divisor == MAX_DIVISOR {
                    return Ok(divided(&workload, divisor, machine, &sizes));
                }
            }
            Err(e) if whole || divisor == MAX_DIVISOR => return Err(FitError::Workload(e)),
            // The workload may need a larger node, which a larger divisor offers up to the machine's own size.
            Err(_) => {}
        }
        divisor *= 2;
    }
}

/// The workload divided by `divisor`, with the parameter and the warnings that say so.
fn divided(workload: &Workload, divisor: u64, machine: &Machine, sizes: &[u64]) -> Workload {
    let mut out = if divisor > 1 { shrink::divide(workload, divisor) } else { workload.clone() };
    out.params.push((DIVISOR.into(), divisor.to_string()));
    if divisor > 1 {
        out.warnings.push(format!(
            "regions and caches are divided by {divisor} in the guest: {} instead of {} MiB of regions",
            shrink::memory_bytes(&out) >> 20,
            shrink::memory_bytes(workload) >> 20
        ));
    }
    let guest: u64 = sizes.iter().sum();
    if guest < machine.memory_bytes() {
        let whole = machine.memory_bytes();
        out.warnings.push(format!("the guest has {} of {} MiB of memory", guest >> 20, whole >> 20));
    }
    out
}

/// The divisor of a fitted workload; 1 for other workloads.
pub fn divisor_of(workload: &Workload) -> u64 {
    let text = workload.params.iter().find(|p| p.0 == DIVISOR).map(|p| p.1.as_str());
    text.and_then(|t| t.parse().ok()).filter(|&d| d > 0).unwrap_or(1)
}

/// The topology of the guest that runs a fitted workload, or a program with so many bytes of files.
///
/// # Errors
/// QEMU cannot build it.
pub fn guest_topology(
    machine: &Machine,
    limits: Limits,
    divisor: u64,
    files_bytes: u64,
) -> Result<GuestTopology, TopologyError> {
    let mut guest = machine.clone();
    for (node, size) in guest.nodes.iter_mut().zip(node_sizes(machine, limits, divisor)?) {
        node.memory_bytes = size;
    }
    if let Some(first) = guest.nodes.first_mut() {
        first.memory_bytes += room_for_files(files_bytes);
    }
    GuestTopology::of(&guest)
}

/// Memory that node 0 has beside the machine's for the files of a program, bytes: a guest keeps them in its memory, and
/// as an archive too while it boots. Up to half of what node 0 has in any case is there for them.
fn room_for_files(files_bytes: u64) -> u64 {
    (2 * files_bytes).saturating_sub(NODE0_BYTES / 2).next_multiple_of(MEMORY_UNIT)
}

/// What a record says of the memory for the files of a program, if there is any.
pub fn note_of_files(files_bytes: u64) -> Option<String> {
    let room = room_for_files(files_bytes);
    (room > 0).then(|| format!("node 0 has {} MiB more than the machine, for the program's files", room >> 20))
}

/// Memory of each guest node, bytes: the machine's divided by `divisor`, or a proportional share of the guest's limit.
fn node_sizes(machine: &Machine, limits: Limits, divisor: u64) -> Result<Vec<u64>, TopologyError> {
    let least = |(n, bytes): (usize, u64)| match (n, bytes) {
        (_, 0) => 0,
        (0, _) => NODE0_BYTES,
        _ => MEMORY_UNIT,
    };
    let whole: Vec<(usize, u64)> = machine.nodes.iter().map(|n| n.memory_bytes).enumerate().collect();
    let needed: u64 = whole.iter().map(|&n| least(n)).sum();
    if needed > limits.memory_bytes {
        let given = limits.memory_bytes >> 20;
        let what = format!("the nodes of {} do not fit into the guest's {given} MiB of memory", machine.name);
        return Err(TopologyError::new(what, format!("--guest-memory {}MiB or more", needed >> 20)));
    }
    let total: u64 = whole.iter().map(|n| n.1 / divisor).sum();
    let size = |&(n, bytes): &(usize, u64)| {
        let mut own = bytes / divisor;
        if total > limits.memory_bytes {
            own = (u128::from(own) * u128::from(limits.memory_bytes) / u128::from(total)) as u64;
        }
        (own / MEMORY_UNIT * MEMORY_UNIT).max(least((n, bytes)))
    };
    Ok(whole.iter().map(size).collect())
}

/// Chooses the CPUs that are kept: as many cores per cache, threads per core and caches per node as the limit allows.
fn choose_cpus(machine: &Machine, limit: usize) -> Result<Vec<bool>, TopologyError> {
    let count = |per: (usize, usize, usize)| kept(machine, per).iter().filter(|k| **k).count();
    let most = machine.cpu_count();
    let threads = (0..machine.cores).map(|core| machine.cpus.iter().filter(|c| c.core == core).count()).max();
    let threads = threads.unwrap_or(1).max(1);
    // Fewer cores first, then fewer threads per core, then fewer caches per node.
    let with_cores = |t: usize, l: usize| (1..=most).rev().map(move |c| (c, t, l));
    let choices = with_cores(threads, most)
        .chain((1..threads).rev().map(|t| (1, t, most)))
        .chain((1..=machine.llcs.len()).rev().map(|l| (1, 1, l)));
    for per in choices {
        if count(per) <= limit {
            return Ok(kept(machine, per));
        }
    }
    let least = count((1, 1, 1));
    let what = format!("{} has {} nodes with CPUs, the limit is {limit} CPUs", machine.name, least);
    Err(TopologyError::new(what, format!("allow at least {least} CPUs (QEMU offers up to {MAX_CPUS})")))
}

/// Marks the CPUs that remain with so many cores per cache, threads per core and caches per node.
fn kept(machine: &Machine, (cores, threads, llcs): (usize, usize, usize)) -> Vec<bool> {
    let mut llc_rank = vec![0; machine.llcs.len()];
    let mut per_node = vec![0; machine.nodes.len()];
    for (l, llc) in machine.llcs.iter().enumerate() {
        llc_rank[l] = per_node[llc.node];
        per_node[llc.node] += 1;
    }
    let mut core_rank: Vec<Option<usize>> = vec![None; machine.cores];
    let mut per_llc = vec![0; machine.llcs.len()];
    let mut per_core = vec![0; machine.cores];
    let mut out = Vec::with_capacity(machine.cpu_count());
    for cpu in &machine.cpus {
        let rank = *core_rank[cpu.core].get_or_insert_with(|| {
            per_llc[cpu.llc] += 1;
            per_llc[cpu.llc] - 1
        });
        let thread = per_core[cpu.core];
        per_core[cpu.core] += 1;
        out.push(llc_rank[cpu.llc] < llcs && rank < cores && thread < threads);
    }
    out
}

/// `machine` with only the CPUs that `keep` marks, densely renumbered in the same order.
fn keep_cpus(machine: &Machine, keep: &[bool]) -> Machine {
    let mut out = machine.clone();
    let old: Vec<usize> = (0..machine.cpu_count()).filter(|&c| keep[c]).collect();
    let mut new_cpu = vec![usize::MAX; machine.cpu_count()];
    for (n, &o) in old.iter().enumerate() {
        new_cpu[o] = n;
    }
    let translate = |cpus: &[usize]| cpus.iter().map(|&c| new_cpu[c]).filter(|&c| c != usize::MAX).collect::<Vec<_>>();
    let mut new_llc = vec![usize::MAX; machine.llcs.len()];
    out.llcs.clear();
    for (l, llc) in machine.llcs.iter().enumerate() {
        let cpus = translate(&llc.cpus);
        if !cpus.is_empty() {
            new_llc[l] = out.llcs.len();
            out.llcs.push(numalab_model::machine::Llc { cpus, ..llc.clone() });
        }
    }
    let mut cores: Vec<usize> = old.iter().map(|&c| machine.cpus[c].core).collect();
    cores.sort_unstable();
    cores.dedup();
    out.cores = cores.len();
    out.cpus = old
        .iter()
        .enumerate()
        .map(|(n, &o)| {
            let cpu = &machine.cpus[o];
            let core = cores.binary_search(&cpu.core).unwrap_or(0);
            numalab_model::machine::Cpu { id: n as u32, llc: new_llc[cpu.llc], core, ..cpu.clone() }
        })
        .collect();
    for (node, was) in out.nodes.iter_mut().zip(&machine.nodes) {
        node.cpus = translate(&was.cpus);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::machine;

    const GIB: u64 = 1 << 30;

    fn limits(cpus: usize, gib: u64) -> Limits {
        Limits { cpus, memory_bytes: gib * GIB, workload_bytes: 64 * GIB }
    }

    #[test]
    fn a_machine_that_fits_is_left_alone() {
        let m = machine(4, 1, 2, 1, false);
        assert_eq!(fit_machine(&m, limits(64, 16)).unwrap(), m);
    }

    #[test]
    fn cores_go_first_then_threads_then_caches() {
        // 2 nodes × 2 caches × 4 cores × 2 threads = 32 CPUs, siblings half the machine apart.
        let m = machine(2, 2, 4, 2, true);
        let smp = |cpus| GuestTopology::of(&fit_machine(&m, limits(cpus, 64)).unwrap()).unwrap().smp;
        assert_eq!((smp(20).cores, smp(20).threads, smp(20).dies), (2, 2, 2));
        assert_eq!((smp(8).cores, smp(8).threads, smp(8).dies), (1, 2, 2));
        assert_eq!((smp(4).cores, smp(4).threads, smp(4).dies), (1, 1, 2));
        assert_eq!((smp(3).cores, smp(3).threads, smp(3).dies), (1, 1, 1));
        let out = fit_machine(&m, limits(8, 64)).unwrap();
        assert_eq!(out.nodes[1].cpus.len(), 4);
        assert!(out.cpus.iter().all(|c| out.llcs[c.llc].node == c.node));
        assert!(out.warnings[0].contains("8 of 32 CPUs"), "{:?}", out.warnings);
        let e = fit_machine(&m, limits(1, 64)).unwrap_err();
        assert!(e.possible.contains("at least 2 CPUs"), "{e}");
    }

    #[test]
    fn nodes_share_what_the_guest_has() {
        let mut m = machine(4, 1, 1, 1, false);
        m.nodes[2].memory_bytes = 0;
        let mib =
            |d: u64, gib| -> Vec<u64> { node_sizes(&m, limits(64, gib), d).unwrap().iter().map(|s| s >> 20).collect() };
        // Three nodes of 4 GiB.
        assert_eq!(mib(1, 16), vec![4096, 4096, 0, 4096]);
        assert_eq!(mib(1, 6), vec![2048, 2048, 0, 2048]);
        assert_eq!(mib(4, 6), vec![1024, 1024, 0, 1024]);
        assert_eq!(mib(64, 6), vec![512, 128, 0, 128]);
        let e = node_sizes(&m, Limits { memory_bytes: 256 << 20, ..limits(64, 1) }, 1).unwrap_err();
        assert!(e.what.contains("the guest's 256 MiB") && e.possible.contains("--guest-memory 768MiB"), "{e}");
    }

    #[test]
    fn large_files_of_a_program_have_memory_of_their_own() {
        assert_eq!(room_for_files(0), 0);
        assert_eq!(room_for_files(128 << 20), 0);
        assert_eq!(room_for_files(300 << 20), 384 << 20, "344 MiB, as whole units");
        assert!(note_of_files(300 << 20).unwrap().contains("384 MiB more") && note_of_files(0).is_none());
        let m = numalab_model::machine::from_shorthand("2x1x2x1").unwrap();
        let of = |files: u64| guest_topology(&m, limits(8, 2), 1, files).unwrap().nodes[0].memory_bytes;
        assert_eq!(of(300 << 20), of(0) + (384 << 20));
    }

    #[test]
    fn memory_is_divided_until_the_workload_fits_and_its_conditions_hold() {
        let m = machine(2, 1, 1, 1, false);
        // Needs a node of more than 2 GiB, and 3 GiB in all.
        let resolve = |m: &Machine| match m.nodes[0].memory_bytes {
            b if b > 2 * GIB => Ok(crate::shrink::tests::workload(3 * GIB)),
            _ => Err("a node of more than 2 GiB"),
        };
        // A guest of 2 GiB: nodes of 1 GiB stand for 4 GiB when divided by 4; 3 GiB / 4 fit.
        let w = fit_workload(&m, limits(8, 2), &mut { resolve }).unwrap();
        assert_eq!(divisor_of(&w), 4);
        assert_eq!(shrink::memory_bytes(&w), 3 * GIB / 4);
        assert_eq!(w.warnings.len(), 2, "{:?}", w.warnings);
        assert_eq!(guest_topology(&m, limits(8, 2), 4, 0).unwrap().memory_bytes(), 2 * GIB);
        // With enough memory nothing is changed.
        let w = fit_workload(&m, limits(8, 8), &mut { resolve }).unwrap();
        assert_eq!((divisor_of(&w), w.warnings.len()), (1, 0));
        // A limit on the workload alone divides too.
        let small = Limits { workload_bytes: GIB / 8, ..limits(8, 8) };
        assert_eq!(divisor_of(&fit_workload(&m, small, &mut { resolve }).unwrap()), 32);
    }

    #[test]
    fn a_condition_that_never_holds_is_the_workloads_error() {
        let m = machine(2, 1, 1, 1, false);
        let e = fit_workload(&m, limits(8, 2), &mut |_| Err::<Workload, _>("never")).unwrap_err();
        assert!(matches!(e, FitError::Workload("never")));
    }
}
