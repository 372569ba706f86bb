//! What is legal but suspicious about a machine.
//!
//! Problem: firmware and hypervisors report wrong distance tables (all 10, 10/20 for everything, another node nearer
//! than the own one). The kernel accepts some of them and rejects others. A model of the kernel must do the same, but
//! the user must be told.
//! Approach: each suspicion is one function from a machine to sentences that say what was seen, why it matters and what
//! to do. None of them is an error.

use super::{Machine, Route};

/// Distances Linux assumes when the firmware gives no table (`LOCAL_DISTANCE`, `REMOTE_DISTANCE`).
const LOCAL: u8 = 10;
const REMOTE_DEFAULT: u8 = 20;

/// Replaces a distance table that Linux rejects (`slit_valid`) by the one that Linux then uses: 10 local, 20 remote.
/// Returns the warning about it, `None` if the table of the file is used.
pub(super) fn reject_distances(m: &mut Machine) -> Option<String> {
    let why = diagonal(m).or_else(|| remote_below_local(m))?;
    let n = m.nodes.len();
    m.distance = (0..n).map(|i| (0..n).map(|j| if i == j { LOCAL } else { REMOTE_DEFAULT }).collect()).collect();
    Some(format!(
        "{why}; Linux rejects such a firmware table and uses 10/20 instead, and so do the distances used here"
    ))
}

/// What was done about distances of 255, if any.
pub(super) fn open_distances(m: &Machine, open: &[(usize, usize)]) -> Option<String> {
    let &(i, j) = open.first()?;
    let (a, b, d) = (m.nodes[i].id, m.nodes[j].id, m.distance[i][j]);
    Some(format!(
        "a distance of 255 says nothing, in {}: taken from the opposite direction or from nodes so related, such as {d} \
         from node {a} to {b}",
        in_pairs(open.len())
    ))
}

/// All suspicions, the most important first; `rejected` says that [`reject_distances`] replaced the table.
pub(super) fn suspicions(m: &Machine, rejected: bool) -> Vec<String> {
    let default = if rejected { |_: &Machine| None } else { kernel_default };
    let checks: [fn(&Machine) -> Option<String>; 8] =
        [all_local, default, flat, order, asymmetric, latency_below_local, cache_above_memory, hops_above_latency];
    checks.iter().filter_map(|c| c(m)).chain(empty_nodes(m)).collect()
}

/// All ordered pairs of different nodes.
fn pairs(m: &Machine) -> impl Iterator<Item = (usize, usize)> + '_ {
    let n = m.nodes.len();
    (0..n).flat_map(move |i| (0..n).filter(move |&j| j != i).map(move |j| (i, j)))
}

/// The first pair for which `wrong` holds, and the number of such pairs.
fn first_and_count(m: &Machine, wrong: impl Fn(usize, usize) -> bool) -> Option<((usize, usize), usize)> {
    let mut found = pairs(m).filter(|&(i, j)| wrong(i, j));
    let first = found.next()?;
    Some((first, 1 + found.count()))
}

/// A count in words: `1 pair`, `12 pairs`.
fn in_pairs(count: usize) -> String {
    format!("{count} pair{}", if count == 1 { "" } else { "s" })
}

fn all_local(m: &Machine) -> Option<String> {
    let flat = m.nodes.len() > 1 && pairs(m).all(|(i, j)| m.distance[i][j] == LOCAL);
    flat.then(|| {
        "all distances are 10: a virtual machine without a distance table? The kernel sees no remote node, so it \
         builds no NUMA domain that matters; state the real distances in [distance]"
            .to_string()
    })
}

fn diagonal(m: &Machine) -> Option<String> {
    let n = (0..m.nodes.len()).find(|&n| m.distance[n][n] != LOCAL)?;
    let (id, d) = (m.nodes[n].id, m.distance[n][n]);
    Some(format!("node {id} is {d} from itself, not 10"))
}

fn remote_below_local(m: &Machine) -> Option<String> {
    if all_local(m).is_some() {
        return None;
    }
    let wrong = |i: usize, j: usize| m.distance[i][j] <= m.distance[i][i];
    let ((i, j), count) = first_and_count(m, wrong)?;
    let (a, b) = (m.nodes[i].id, m.nodes[j].id);
    let (own, other) = (m.distance[i][i], m.distance[i][j]);
    Some(format!(
        "from node {a}, node {b} ({other}) is not farther than the node itself ({own}), in {}: the local \
         distance is not minimal",
        in_pairs(count)
    ))
}

fn kernel_default(m: &Machine) -> Option<String> {
    let default = m.nodes.len() > 2 && pairs(m).all(|(i, j)| m.distance[i][j] == REMOTE_DEFAULT);
    default.then(|| {
        format!(
            "all {} nodes are 20 from each other: that is what Linux assumes when the firmware gives no table; check \
             that the distances are real",
            m.nodes.len()
        )
    })
}

/// All remote distances are equal, but some node has near and far nodes by latency.
fn flat(m: &Machine) -> Option<String> {
    let first = pairs(m).next().map(|(i, j)| m.distance[i][j])?;
    if first == LOCAL || pairs(m).any(|(i, j)| m.distance[i][j] != first) {
        return None;
    }
    let remote = |i: usize| (0..m.nodes.len()).filter(move |&j| j != i).map(move |j| m.latency_ns[i][j]);
    let span = |i: usize| Some((remote(i).min_by(f64::total_cmp)?, remote(i).max_by(f64::total_cmp)?));
    let (least, most) = m.cpu_nodes().filter_map(span).find(|(least, most)| *most > least * 1.1)?;
    Some(format!(
        "flat distance table: every other node is {first}, but latencies run from {least} to {most} ns; the kernel \
         cannot tell near from far nodes"
    ))
}

/// In the row of one node, a node `near` that is nearer than `far` by distance but slower; `excess` is the latency
/// ratio.
struct Disorder {
    row: usize,
    near: usize,
    far: usize,
    excess: f64,
}

/// Nodes that are nearer by distance but slower by latency.
fn order(m: &Machine) -> Option<String> {
    let rows: Vec<Disorder> = m.cpu_nodes().filter_map(|i| disorder(m, i)).collect();
    let worst = rows.iter().max_by(|a, b| a.excess.total_cmp(&b.excess).then(b.row.cmp(&a.row)))?;
    let &Disorder { row, near, far, .. } = worst;
    let id = |n: usize| m.nodes[n].id;
    Some(format!(
        "distances and latencies disagree for {} node{}: from node {}, node {} is nearer than node {} by distance ({} \
         against {}), but slower ({} against {} ns)",
        rows.len(),
        if rows.len() == 1 { "" } else { "s" },
        id(row),
        id(near),
        id(far),
        m.distance[row][near],
        m.distance[row][far],
        m.latency_ns[row][near],
        m.latency_ns[row][far],
    ))
}

/// The worst disorder of a row, if its latency ratio exceeds 1.02.
fn disorder(m: &Machine, row: usize) -> Option<Disorder> {
    let (distance, ns) = (&m.distance[row], &m.latency_ns[row]);
    let mut rising: Vec<usize> = (0..m.nodes.len()).filter(|&j| j != row).collect();
    rising.sort_by_key(|&j| distance[j]);
    let slower = |a: Option<usize>, b: usize| a.filter(|&a| ns[a] >= ns[b]).or(Some(b));
    let mut worst: Option<Disorder> = None;
    // The slowest node of all strictly smaller distances, and of all distances up to the present one.
    let (mut below, mut so_far, mut present) = (None, None, 0);
    for far in rising {
        if distance[far] > present {
            present = distance[far];
            below = so_far;
        }
        if let Some(near) = below {
            let excess: f64 = ns[near] / ns[far];
            if excess > 1.02 && worst.as_ref().is_none_or(|w| excess > w.excess) {
                worst = Some(Disorder { row, near, far, excess });
            }
        }
        so_far = slower(so_far, far);
    }
    worst
}

fn asymmetric(m: &Machine) -> Option<String> {
    let ((i, j), count) = first_and_count(m, |i, j| i < j && m.distance[i][j] != m.distance[j][i])?;
    let (a, b) = (m.nodes[i].id, m.nodes[j].id);
    let (there, back) = (m.distance[i][j], m.distance[j][i]);
    Some(format!(
        "asymmetric distances in {}, such as {there} from node {a} to {b} and {back} back: legal, but rare",
        in_pairs(count)
    ))
}

fn latency_below_local(m: &Machine) -> Option<String> {
    let wrong = |i: usize, j: usize| !m.nodes[i].cpus.is_empty() && m.latency_ns[i][j] < m.latency_ns[i][i];
    let ((i, j), count) = first_and_count(m, wrong)?;
    let (a, b) = (m.nodes[i].id, m.nodes[j].id);
    Some(format!(
        "from node {a}, memory of node {b} is faster ({} ns) than its own ({} ns), in {}",
        m.latency_ns[i][j],
        m.latency_ns[i][i],
        in_pairs(count)
    ))
}

fn cache_above_memory(m: &Machine) -> Option<String> {
    let llc = m.cache.llc_latency_ns;
    let node = m.cpu_nodes().find(|&n| m.latency_ns[n][n] <= llc)?;
    let (id, ns) = (m.nodes[node].id, m.latency_ns[node][node]);
    Some(format!(
        "the last-level cache answers in {llc} ns, memory of node {id} in {ns} ns: a cache that is no faster than memory; \
         check `llc_ns` of [cache]"
    ))
}

/// Pairs of nodes where the links alone take as long as the whole access, or longer.
fn hops_above_latency(m: &Machine) -> Option<String> {
    let on_the_way = |i: usize, j: usize| {
        let ns = |r: &Route| r.hops.iter().map(|&(link, _)| m.links[link].hop_latency_ns).sum::<f64>();
        m.routes[i][j].iter().map(ns).fold(0.0, f64::max)
    };
    let wrong = |i: usize, j: usize| !m.nodes[i].cpus.is_empty() && on_the_way(i, j) >= m.latency_ns[i][j];
    let ((i, j), count) = first_and_count(m, wrong)?;
    let (a, b) = (m.nodes[i].id, m.nodes[j].id);
    Some(format!(
        "from node {a} to node {b} the links alone take {} ns, the whole access {} ns, in {}; check `hop_ns` of [[link]] \
         against [latency]",
        on_the_way(i, j),
        m.latency_ns[i][j],
        in_pairs(count)
    ))
}

fn empty_nodes(m: &Machine) -> Option<String> {
    let empty: Vec<u32> = m.nodes.iter().filter(|n| n.cpus.is_empty() && n.memory_bytes == 0).map(|n| n.id).collect();
    (!empty.is_empty()).then(|| format!("nodes without CPUs and without memory: {}", super::cpulist::format(&empty)))
}
