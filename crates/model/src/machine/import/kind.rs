//! Which technology a node without CPUs holds: HBM, GPU memory, Optane or CXL.
//!
//! Problem: the operating system shows all of them as nodes without CPUs, and hardly any source names them. They differ
//! by a factor of twenty in bandwidth.
//! Approach: the user's word comes first, then the source's own, then bandwidth and latency against those of the nodes
//! with CPUs, then distances and sizes that known machines have. If nothing tells, the node is taken for CXL and the
//! user is asked.

use super::found::{Found, FoundNode};
use super::origin::Origin;
use super::Wish;
use crate::machine::MemoryKind;
use crate::spec::SpecError;

/// Bandwidth above that of DRAM by which HBM is known.
const HBM_BANDWIDTH: f64 = 1.5;
/// Write bandwidth by read bandwidth below which memory is Optane; DRAM behind CXL writes as fast as it reads.
const OPTANE_WRITES: f64 = 0.6;
/// Distance of GPU memory behind NVLink from its nearest CPUs (POWER9 AC922, Grace Hopper).
const GPU_DISTANCE: u8 = 80;
/// Distance of Optane from the CPUs of its socket (Cascade Lake, Ice Lake), and its least size: one DIMM.
const OPTANE_DISTANCE: u8 = 17;
const OPTANE_BYTES: u64 = 100 << 30;
/// Distances and greatest sizes of HBM: Xeon Max (13, 64 GiB) and Xeon Phi (31, 16 GiB).
const HBM_DISTANCES: [(u8, u64); 2] = [(13, 64 << 30), (31, 16 << 30)];

/// Sets the kind of every node, and notes those that are not certain.
///
/// # Errors
/// `wish` names a node that the source does not have.
pub(super) fn settle(found: &mut Found, distance: &[Vec<u8>], wish: &Wish) -> Result<(), SpecError> {
    for id in wish.kinds.iter().map(|(id, _)| *id) {
        if !found.nodes.iter().any(|n| n.id == id) {
            let ids: Vec<u32> = found.nodes.iter().map(|n| n.id).collect();
            let expected = format!("one of the nodes {}", crate::machine::cpulist::format(&ids));
            return Err(SpecError::plain("--memory-kind", format!("{} has no node {id}", found.file), expected));
        }
    }
    let kinds: Vec<(MemoryKind, Origin)> = (0..found.nodes.len()).map(|n| of(found, n, distance, wish)).collect();
    let named = |kind: Option<MemoryKind>, unknown: bool| {
        let like = |(k, o): &(MemoryKind, Origin)| {
            if unknown {
                *o == Origin::Unknown
            } else {
                Some(*k) == kind && matches!(o, Origin::Concluded(_))
            }
        };
        let at = kinds.iter().zip(&found.nodes).filter(|(k, _)| like(k));
        let why = at.clone().find_map(|((_, o), _)| if let Origin::Concluded(why) = o { Some(*why) } else { None });
        (at.map(|(_, n)| n.id).collect::<Vec<u32>>(), why.unwrap_or_default())
    };
    let mut notes = Vec::new();
    for kind in MemoryKind::ALL {
        let (ids, why) = named(Some(kind), false);
        if let Some(first) = ids.first() {
            let (which, label) = (crate::machine::cpulist::format(&ids), kind.label());
            notes.push(format!(
                "memory of node {which} is {label}, {why}; if not, import with --memory-kind {first}=KIND"
            ));
        }
    }
    let (ids, _) = named(None, true);
    if let Some(first) = ids.first() {
        let which = crate::machine::cpulist::format(&ids);
        notes.push(format!(
            "memory of node {which} has no CPUs and nothing tells what it is: taken for CXL; import with --memory-kind \
             {first}=hbm, gpu, optane, cxl or dram"
        ));
    }
    found.notes.extend(notes);
    for (node, kind) in found.nodes.iter_mut().zip(kinds) {
        node.settled = Some(kind);
    }
    Ok(())
}

fn of(found: &Found, n: usize, distance: &[Vec<u8>], wish: &Wish) -> (MemoryKind, Origin) {
    let node = &found.nodes[n];
    if let Some((_, kind)) = wish.kinds.iter().find(|(id, _)| *id == node.id) {
        return (*kind, Origin::Given);
    }
    if let Some(kind) = node.kind {
        return (kind, Origin::Read);
    }
    if !node.cpus.is_empty() || node.memory_bytes == Some(0) {
        return (MemoryKind::Dram, Origin::Read);
    }
    let told = by_attributes(found, n).or_else(|| by_distance(found, node, n, distance));
    let told = told.or(found.hidden_cpus.then_some((MemoryKind::Dram, "since the source hides CPUs of the machine")));
    told.map_or((MemoryKind::Cxl, Origin::Unknown), |(kind, why)| (kind, Origin::Concluded(why)))
}

/// The kind by bandwidth and latency against those of nodes with CPUs.
fn by_attributes(found: &Found, n: usize) -> Option<(MemoryKind, &'static str)> {
    let node = &found.nodes[n];
    let dram = || found.nodes.iter().filter(|d| !d.cpus.is_empty());
    let best = dram().filter_map(|d| d.gbps).max_by(f64::total_cmp);
    let nearest =
        |j: usize| found.latency_ns.iter().filter(|(&(_, to), _)| to == j).map(|(_, ns)| *ns).min_by(f64::total_cmp);
    let own = (0..found.nodes.len()).filter(|&d| !found.nodes[d].cpus.is_empty()).filter_map(nearest);
    let own = own.min_by(f64::total_cmp);
    if let (Some(here), Some(best)) = (node.gbps, best) {
        if here > best * HBM_BANDWIDTH {
            return Some((MemoryKind::Hbm, "by its bandwidth above that of DRAM"));
        }
    }
    if let (Some(read), Some(write)) = (node.gbps, node.write_gbps) {
        if write < read * OPTANE_WRITES {
            return Some((MemoryKind::Optane, "by its bandwidth of writes far below that of reads"));
        }
    }
    let slow = matches!((nearest(n), own), (Some(here), Some(own)) if here > own * 1.5);
    let narrow = matches!((node.gbps, best), (Some(here), Some(best)) if here < best);
    (slow || narrow).then_some((MemoryKind::Cxl, "by its latency or bandwidth beside those of DRAM"))
}

/// The kind by the distance from the nearest CPUs and the size, as known machines have them.
fn by_distance(found: &Found, node: &FoundNode, n: usize, distance: &[Vec<u8>]) -> Option<(MemoryKind, &'static str)> {
    found.distance.as_ref()?;
    let cpus = (0..found.nodes.len()).filter(|&c| !found.nodes[c].cpus.is_empty());
    let nearest = cpus.map(|c| distance[c][n]).min()?;
    if nearest == GPU_DISTANCE {
        return Some((MemoryKind::Gpu, "by its distance of 80, as on POWER9 and Grace Hopper"));
    }
    let bytes = node.memory_bytes?;
    if HBM_DISTANCES.iter().any(|&(d, most)| nearest == d && bytes <= most) {
        return Some((MemoryKind::Hbm, "by its distance and size, as on Xeon Max and Xeon Phi"));
    }
    (nearest == OPTANE_DISTANCE && bytes >= OPTANE_BYTES)
        .then_some((MemoryKind::Optane, "by its distance of 17 and size, as on Cascade Lake and Ice Lake"))
}
