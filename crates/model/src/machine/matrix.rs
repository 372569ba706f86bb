//! Distances, hop classes and latencies between nodes.
//!
//! Problem: a preset states values by class (`by_hop = [10, 21, 31]`), a measured machine states full matrices, and
//! both must become three complete matrices.
//! Approach: each section takes either form. Hop classes come from the link graph where distances are given by class,
//! and from the rank of the distances where distances are a matrix.
//! Units: distances as ACPI SLIT (10 local, 255 where nothing is known), latencies in ns.
//! Invariant: all matrices are nodes x nodes. Hop class 0 stands exactly on the diagonal; distances are 10 to 254.

use super::distance::{complete, Completed, Place, OPEN};
use super::index::Layout;
use super::layers::Layers;
use super::links::Graph;
use super::Node;
use crate::spec::{shown, SpecError, Spot};

/// Largest latency accepted, ns: one millisecond.
pub(super) const MAX_LATENCY_NS: f64 = 1e6;

/// Least latency accepted, ns.
pub(super) const MIN_LATENCY_NS: f64 = 1.0;

/// The three matrices of a machine.
pub(super) struct Matrices {
    pub distance: Vec<Vec<u8>>,
    pub hop: Vec<Vec<u8>>,
    pub latency_ns: Vec<Vec<f64>>,
    /// Pairs (from, to) of nodes whose distance the file leaves open.
    pub open: Vec<(usize, usize)>,
}

/// The two forms of a section.
enum Form {
    ByHop(Spot<Vec<f64>>),
    Matrix(Spot<Vec<Vec<f64>>>),
}

impl Form {
    /// [`of_nodes`] of a matrix.
    fn of_nodes(self, layout: &Layout, own_file: &str) -> Self {
        match self {
            Form::Matrix(m) => Form::Matrix(of_nodes(m, layout, own_file)),
            by_hop => by_hop,
        }
    }
}

/// The rows and columns of this machine's nodes, by their ids, in the matrix of a larger machine that it extends. Any
/// other matrix stays as it is, also one that its shape will have refused.
fn of_nodes(m: Spot<Vec<Vec<f64>>>, layout: &Layout, own_file: &str) -> Spot<Vec<Vec<f64>>> {
    if m.file == own_file || m.value.len() <= layout.nodes.len() {
        return m;
    }
    let row = |i: u32| layout.nodes.iter().map(|n| m.value.get(i as usize)?.get(n.id as usize).copied()).collect();
    match layout.nodes.iter().map(|n| row(n.id)).collect::<Option<Vec<Vec<f64>>>>() {
        Some(rows) => m.map(|_| rows),
        None => m,
    }
}

/// Reads `[distance]`, `[hop]` and `[latency]`.
///
/// # Errors
/// A missing section, a matrix of the wrong shape, a value out of range, or two nodes without a path.
pub(super) fn read(root: &Layers, layout: &Layout, graph: &Graph) -> Result<Matrices, SpecError> {
    let n = layout.nodes.len();
    let own = root.place().file;
    let distance = form(root, "distance", "by_hop", "matrix")?.of_nodes(layout, &own);
    let latency = form(root, "latency", "by_hop_ns", "matrix_ns")?.of_nodes(layout, &own);
    let own_hop = root.sub("hop")?;
    let hop_matrix = own_hop.opt_matrix("matrix")?.map(|m| of_nodes(m, layout, &own));
    own_hop.finish()?;
    let hop = match (&hop_matrix, &distance) {
        (Some(m), _) => hop_given(m, n)?,
        (None, Form::Matrix(m)) => hop_by_distance(&distances(m, layout)?.distance),
        (None, Form::ByHop(_)) => graph.hops(layout)?,
    };
    let Completed { distance, open } = match &distance {
        Form::Matrix(m) => distances(m, layout)?,
        Form::ByHop(list) => {
            if list.value.contains(&f64::from(OPEN)) {
                return Err(
                    list.error("distance 255 for a hop class", "10 to 254; 255 is for single pairs of a matrix")
                );
            }
            let values = by_hop(list, &hop, &own)?;
            distances(&list.clone().map(|_| values), layout)?
        }
    };
    let latency_ns = match &latency {
        Form::Matrix(m) => latencies(m, n)?,
        Form::ByHop(list) => {
            let values = by_hop(list, &hop, &own)?;
            let mut ns = latencies(&list.clone().map(|_| values), n)?;
            own_latency_of_memory_nodes(layout, &mut ns);
            ns
        }
    };
    Ok(Matrices { distance, hop, latency_ns, open })
}

/// Reads a section from the nearest file that has one of its forms.
fn form(root: &Layers, section: &str, by_hop: &str, matrix: &str) -> Result<Form, SpecError> {
    let t = root.need(section, &format!("a table with `{by_hop}` or `{matrix}`"))?;
    let mut found = None;
    for layer in t.each() {
        let here = match (layer.opt_f64s(by_hop)?, layer.opt_matrix(matrix)?) {
            (Some(_), Some(m)) => return Err(m.error(format!("`{matrix}` beside `{by_hop}`"), "one of the two")),
            (Some(list), None) => Some(Form::ByHop(list)),
            (None, Some(m)) => Some(Form::Matrix(m)),
            (None, None) => None,
        };
        found = found.or(here);
    }
    let found = found.ok_or_else(|| t.missing(by_hop, &format!("`{by_hop}` or `{matrix}`")))?;
    t.finish()?;
    Ok(found)
}

/// The matrix of values given by hop class; `own` is the nearest file of the chain.
fn by_hop(list: &Spot<Vec<f64>>, hop: &[Vec<u8>], own: &str) -> Result<Vec<Vec<f64>>, SpecError> {
    let classes = hop.iter().flatten().max().map_or(0, |&h| usize::from(h) + 1);
    if list.value.len() < classes {
        let what = format!("{} values for {classes} hop classes", list.value.len());
        return Err(list.error(what, format!("one value for each of the classes 0 to {}", classes - 1)));
    }
    // A value for a class that no pair of nodes has is a mistake about the machine. A file that extends a larger
    // machine may inherit such a list.
    if list.value.len() > classes && list.file == own {
        let what = format!("{} values for {classes} hop classes", list.value.len());
        return Err(
            list.error(what, format!("{classes}: one for each of the classes 0 to {}", classes.saturating_sub(1)))
        );
    }
    Ok(hop.iter().map(|row| row.iter().map(|&h| list.value[usize::from(h)]).collect()).collect())
}

/// Refuses a matrix that is not n x n.
fn square(m: &Spot<Vec<Vec<f64>>>, n: usize) -> Result<(), SpecError> {
    let expected = format!("{n} rows of {n} values, one for each node in rising order of id");
    if m.value.len() != n {
        return Err(m.error(format!("{} rows for {n} nodes", m.value.len()), expected));
    }
    match m.value.iter().position(|row| row.len() != n) {
        Some(i) => Err(m.error(format!("row {i} has {} values", m.value[i].len()), expected)),
        None => Ok(()),
    }
}

/// A matrix of whole numbers in a range; `wrong` gives the message for (i, j, value).
fn whole(
    m: &Spot<Vec<Vec<f64>>>,
    n: usize,
    range: std::ops::RangeInclusive<u8>,
    wrong: impl Fn(usize, usize, f64) -> String,
) -> Result<Vec<Vec<u8>>, SpecError> {
    square(m, n)?;
    let mut out = vec![vec![0; n]; n];
    for (i, row) in m.value.iter().enumerate() {
        for (j, &x) in row.iter().enumerate() {
            if x.fract() != 0.0 || x < f64::from(*range.start()) || x > f64::from(*range.end()) {
                let expected = match *range.end() {
                    OPEN => format!("whole numbers from {} to 254, or 255 where nothing is known", range.start()),
                    last => format!("whole numbers from {} to {last}", range.start()),
                };
                return Err(m.error(wrong(i, j, x), expected));
            }
            out[i][j] = x as u8;
        }
    }
    Ok(out)
}

/// Distances of a matrix; 255 leaves one open.
fn distances(m: &Spot<Vec<Vec<f64>>>, layout: &Layout) -> Result<Completed, SpecError> {
    let n = layout.nodes.len();
    let table = whole(m, n, 10..=OPEN, |i, j, x| match x {
        0.0 => format!("row {i} has no path to {j} (distance 0)"),
        _ => format!("distance from row {i} to {j} is {x}"),
    })?;
    let table: Vec<Vec<Option<u8>>> =
        table.iter().map(|row| row.iter().map(|d| Some(*d).filter(|d| *d != OPEN)).collect()).collect();
    let place = |n: &Node| Place { socket: n.socket, has_cpus: !n.cpus.is_empty() };
    Ok(complete(&table, &layout.nodes.iter().map(place).collect::<Vec<_>>()))
}

fn hop_given(m: &Spot<Vec<Vec<f64>>>, n: usize) -> Result<Vec<Vec<u8>>, SpecError> {
    let hop = whole(m, n, 0..=254, |i, j, x| format!("hop class from row {i} to {j} is {x}"))?;
    for (i, row) in hop.iter().enumerate() {
        if let Some(j) = row.iter().enumerate().position(|(j, &h)| (h == 0) != (i == j)) {
            return Err(m.error(format!("hop class from row {i} to {j} is {}", row[j]), "0 exactly on the diagonal"));
        }
    }
    Ok(hop)
}

/// Hop classes by rank: class 1 is the smallest distance between different nodes, class 2 the next, and so on.
fn hop_by_distance(distance: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let pairs = |i: usize| distance[i].iter().enumerate().filter(move |(j, _)| *j != i).map(|(_, d)| *d);
    let mut ranks: Vec<u8> = (0..distance.len()).flat_map(pairs).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let class = |i: usize, j: usize, d: u8| {
        if i == j {
            0
        } else {
            ranks.binary_search(&d).map_or(1, |r| r as u8 + 1)
        }
    };
    distance.iter().enumerate().map(|(i, row)| row.iter().enumerate().map(|(j, &d)| class(i, j, d)).collect()).collect()
}

fn latencies(m: &Spot<Vec<Vec<f64>>>, n: usize) -> Result<Vec<Vec<f64>>, SpecError> {
    square(m, n)?;
    for (i, row) in m.value.iter().enumerate() {
        if let Some(j) = row.iter().position(|x| !(MIN_LATENCY_NS..=MAX_LATENCY_NS).contains(x)) {
            let what = format!("latency from row {i} to {j} is {} ns", shown(row[j]));
            return Err(m.error(what, format!("{MIN_LATENCY_NS} to {MAX_LATENCY_NS} ns")));
        }
    }
    Ok(m.value.clone())
}

/// Sets the diagonal of nodes without CPUs, which have no local access, to the latency from the nearest CPU. The
/// queueing term of such a node scales with it (machines.md section 6.1).
fn own_latency_of_memory_nodes(layout: &Layout, ns: &mut [Vec<f64>]) {
    for (m, node) in layout.nodes.iter().enumerate() {
        if node.cpus.is_empty() {
            let from_cpus = layout.nodes.iter().enumerate().filter(|(_, c)| !c.cpus.is_empty()).map(|(c, _)| ns[c][m]);
            ns[m][m] = from_cpus.min_by(f64::total_cmp).unwrap_or(ns[m][m]);
        }
    }
}
