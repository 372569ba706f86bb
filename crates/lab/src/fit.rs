//! Fitting a machine and a workload into a guest, with a note for everything that was scaled.
//!
//! Nodes, sockets, distances, latencies and bandwidths are never changed: they are the experiment. What is
//! scaled is what emulation cannot hold: cores per last-level cache, SMT threads and caches per node (in this order), and
//! memory per node. The workload is resolved for the scaled machine; if its regions still do not fit the
//! memory, they are divided by a power of two, and so are the caches of the model.

use crate::shape::{Shape, ShapeError, MAX_CPUS, MEMORY_UNIT};
use crate::shrink;
use numalab_model::machine::Machine;
use numalab_model::workload::Workload;

/// What a guest may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most CPUs.
    pub cpus: usize,
    /// Most memory, bytes.
    pub memory_bytes: u64,
}

/// Guests above this many CPUs boot slowly under emulation; the default limit.
pub const DEFAULT_CPUS: usize = 64;
/// Least memory of node 0, which holds the kernel.
const NODE0_BYTES: u64 = 512 << 20;
/// Memory of the guest that a workload may fill, percent.
const FILL_PERCENT: u64 = 75;

impl Default for Limits {
    fn default() -> Self {
        Self { cpus: DEFAULT_CPUS, memory_bytes: 8 << 30 }
    }
}

/// A machine and a workload that fit a guest.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The machine as the guest has it.
    pub machine: Machine,
    /// Its shape for QEMU.
    pub shape: Shape,
    /// The workload resolved for `machine`, possibly shrunk.
    pub workload: Workload,
    /// Sizes of regions and modelled caches were divided by this.
    pub divisor: u64,
    /// What was scaled, for people.
    pub notes: Vec<String>,
}

/// Why nothing fits.
#[derive(Debug, thiserror::Error)]
pub enum FitError<E: std::fmt::Display> {
    /// QEMU cannot build the machine.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The workload does not resolve on the scaled machine.
    #[error("{0}")]
    Workload(E),
}

/// Scales `machine` to `limits`, resolves the workload for it with `resolve`, and shrinks that if it must.
///
/// # Errors
/// A shape QEMU cannot build, or the error of `resolve`.
pub fn fit<E: std::fmt::Display>(
    machine: &Machine,
    limits: Limits,
    resolve: &mut dyn FnMut(&Machine) -> Result<Workload, E>,
) -> Result<Fitted, FitError<E>> {
    let mut notes = Vec::new();
    let scaled = scale_machine(machine, limits, &mut notes)?;
    let shape = Shape::of(&scaled)?;
    let mut workload = resolve(&scaled).map_err(FitError::Workload)?;
    let room = shape.memory_bytes() * FILL_PERCENT / 100;
    let need = shrink::memory_bytes(&workload);
    let mut divisor = 1;
    while need / divisor > room {
        divisor *= 2;
    }
    if divisor > 1 {
        workload = shrink::divide(&workload, divisor);
        notes.push(format!(
            "workload: regions need {} MiB, the guest has {} MiB for them: sizes divided by {divisor}",
            need >> 20,
            room >> 20
        ));
    }
    Ok(Fitted { machine: scaled, shape, workload, divisor, notes })
}

/// The machine scaled to `limits`; what was done is added to `notes`.
///
/// # Errors
/// Even one CPU per last-level cache of one per node is too many, or the memory is too little.
pub fn scale_machine(machine: &Machine, limits: Limits, notes: &mut Vec<String>) -> Result<Machine, ShapeError> {
    let mut out = machine.clone();
    if machine.cpu_count() > limits.cpus.min(MAX_CPUS) {
        let keep = choose_cpus(machine, limits.cpus.min(MAX_CPUS))?;
        out = keep_cpus(machine, &keep);
        notes.push(format!(
            "machine: {} of {} CPUs ({} of {} last-level caches)",
            out.cpu_count(),
            machine.cpu_count(),
            out.llcs.len(),
            machine.llcs.len()
        ));
    }
    scale_memory(&mut out, limits.memory_bytes, notes)?;
    Ok(out)
}

/// How much of a machine is kept: cores per cache, threads per core, caches per node.
fn choose_cpus(machine: &Machine, limit: usize) -> Result<Vec<bool>, ShapeError> {
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
    Err(ShapeError::new(what, format!("allow at least {least} CPUs (QEMU offers up to {MAX_CPUS})")))
}

/// Which CPUs are kept with so many cores per cache, threads per core and caches per node.
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

/// `machine` with only the CPUs marked in `keep`, densely renumbered in the same order.
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

fn scale_memory(machine: &mut Machine, limit: u64, notes: &mut Vec<String>) -> Result<(), ShapeError> {
    let whole: u64 = machine.memory_bytes();
    let least: u64 = machine.nodes.iter().enumerate().map(|(n, node)| least_bytes(n, node.memory_bytes)).sum();
    if least > limit {
        let what = format!("{} nodes with memory need {} MiB", machine.node_count(), least >> 20);
        return Err(ShapeError::new(what, format!("allow that much (now {} MiB)", limit >> 20)));
    }
    let sizes = |divisor: u64| -> Vec<u64> {
        let size = |(n, bytes): (usize, u64)| (bytes / divisor / MEMORY_UNIT * MEMORY_UNIT).max(least_bytes(n, bytes));
        machine.nodes.iter().map(|n| n.memory_bytes).enumerate().map(size).collect()
    };
    let mut divisor = 1;
    while sizes(divisor).iter().sum::<u64>() > limit {
        divisor *= 2;
    }
    let sizes = sizes(divisor);
    for (node, size) in machine.nodes.iter_mut().zip(&sizes) {
        node.memory_bytes = *size;
    }
    if divisor > 1 {
        let now = machine.memory_bytes();
        notes.push(format!("machine: memory {} of {} MiB (divided by {divisor})", now >> 20, whole >> 20));
    }
    Ok(())
}

fn least_bytes(node: usize, memory_bytes: u64) -> u64 {
    match (node, memory_bytes) {
        (_, 0) => 0,
        (0, _) => NODE0_BYTES,
        _ => MEMORY_UNIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::machine;

    fn scaled(m: &Machine, cpus: usize, gib: u64) -> (Machine, Vec<String>) {
        let mut notes = Vec::new();
        let out = scale_machine(m, Limits { cpus, memory_bytes: gib << 30 }, &mut notes).unwrap();
        (out, notes)
    }

    #[test]
    fn a_machine_that_fits_is_left_alone() {
        let m = machine(4, 1, 2, 1, false);
        assert_eq!(scaled(&m, 64, 16), (m, vec![]));
    }

    #[test]
    fn cores_go_first_then_threads_then_caches() {
        // 2 nodes × 2 caches × 4 cores × 2 threads = 32 CPUs, siblings half the machine apart.
        let m = machine(2, 2, 4, 2, true);
        let smp = |cpus| Shape::of(&scaled(&m, cpus, 64).0).unwrap().smp;
        assert_eq!((smp(20).cores, smp(20).threads, smp(20).dies), (2, 2, 2));
        assert_eq!((smp(8).cores, smp(8).threads, smp(8).dies), (1, 2, 2));
        assert_eq!((smp(4).cores, smp(4).threads, smp(4).dies), (1, 1, 2));
        assert_eq!((smp(3).cores, smp(3).threads, smp(3).dies), (1, 1, 1));
        let (out, notes) = scaled(&m, 8, 64);
        assert_eq!(out.nodes[1].cpus.len(), 4);
        assert!(out.cpus.iter().all(|c| out.llcs[c.llc].node == c.node));
        assert!(notes[0].contains("8 of 32 CPUs"), "{notes:?}");
        let e = scale_machine(&m, Limits { cpus: 1, memory_bytes: 64 << 30 }, &mut vec![]).unwrap_err();
        assert!(e.possible.contains("at least 2 CPUs"), "{e}");
    }

    #[test]
    fn memory_is_divided_but_node_0_holds_a_kernel() {
        let mut m = machine(4, 1, 1, 1, false);
        m.nodes[2].memory_bytes = 0;
        let (out, notes) = scaled(&m, 64, 1);
        let sizes: Vec<u64> = out.nodes.iter().map(|n| n.memory_bytes >> 20).collect();
        assert_eq!(sizes, vec![512, 256, 0, 256]);
        assert!(notes[0].contains("divided by 16"), "{notes:?}");
        let e = scale_machine(&m, Limits { cpus: 64, memory_bytes: 256 << 20 }, &mut vec![]).unwrap_err();
        assert!(e.what.contains("768 MiB"), "{e}");
    }

    #[test]
    fn a_workload_that_is_too_big_is_divided() {
        let m = machine(2, 1, 1, 1, false);
        let limits = Limits { cpus: 64, memory_bytes: 2 << 30 };
        let big = |_: &Machine| Ok::<_, String>(crate::shrink::tests::workload(6 << 30));
        let fitted = fit(&m, limits, &mut { big }).unwrap();
        // 1.5 GiB of the guest's 2 GiB may be filled: 6 GiB must be divided by 4.
        assert_eq!(fitted.divisor, 4);
        assert_eq!(shrink::memory_bytes(&fitted.workload), 6 << 28);
        assert_eq!(fitted.notes.len(), 2);
    }
}
