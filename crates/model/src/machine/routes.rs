//! Hop classes and routes from the link graph of `links.rs`.
//!
//! Problem: the model must know which links a request loads, and which hop class two nodes are in.
//! Approach: a breadth-first search between places (see `links.rs`) enumerates all shortest ways, which share the
//! traffic evenly.
//! No way passes a place without CPUs, such as an expander: such a node is where requests end.
//! Invariant: where there are links, every pair of places has a route, or the machine is refused. The shares of a pair
//! sum to 1. Work is bounded: at most [`MAX_PARALLEL`] ways for a pair, and [`MAX_HOPS`] hops in all.

use super::index::Layout;
use super::links::{Edge, Graph, Rule};
use super::Route;
use crate::spec::SpecError;

/// Most parallel shortest routes between two nodes.
const MAX_PARALLEL: usize = 64;

/// Most hops of all routes of a machine together.
const MAX_HOPS: usize = 4_000_000;

/// Routes of every pair of nodes.
type Routes = Vec<Vec<Vec<Route>>>;

impl Graph {
    /// Hop classes: 0 for the node itself, 1 for another node of its socket. Another socket has the number of links to
    /// it as its class, plus 1 where sockets have several nodes.
    ///
    /// # Errors
    /// Two sockets that no chain of links joins.
    pub(super) fn hops(&self, layout: &Layout) -> Result<Vec<Vec<u8>>, SpecError> {
        // Where controllers meet counts as one more socket.
        let socket_of = |place: usize| match place.checked_sub(layout.sockets) {
            None => place,
            Some(node) => layout.nodes.get(node).map_or(layout.sockets, |n| n.socket),
        };
        let mut near = vec![Vec::new(); layout.sockets + 1];
        for (place, edges) in self.edges.iter().enumerate().filter(|(place, _)| self.passes[*place]) {
            let joins = edges.iter().filter(|e| e.crosses && self.passes[e.to]);
            near[socket_of(place)].extend(joins.map(|e| socket_of(e.to)));
        }
        let mut per_socket = vec![0; layout.sockets];
        layout.nodes.iter().for_each(|n| per_socket[n.socket] += 1);
        let base = usize::from(per_socket.iter().any(|&n| n > 1));
        let between: Vec<Vec<Option<usize>>> = (0..layout.sockets).map(|s| steps(&near, s)).collect();
        let class = |i: usize, j: usize| {
            let (a, b) = (layout.nodes[i].socket, layout.nodes[j].socket);
            if i == j || a == b {
                return Ok(u8::from(i != j));
            }
            let links = if self.links.is_empty() { Some(1) } else { between[a][b] };
            let class = links.and_then(|l| u8::try_from(base + l).ok());
            class.ok_or_else(|| self.unreachable(layout, i, j))
        };
        let n = layout.nodes.len();
        (0..n).map(|i| (0..n).map(|j| class(i, j)).collect()).collect()
    }

    /// Routes of every pair of nodes; all empty without links.
    ///
    /// # Errors
    /// Two nodes that no chain of links joins, or more ways or hops than the limits.
    pub(super) fn routes(&self, layout: &Layout) -> Result<Routes, SpecError> {
        let n = layout.nodes.len();
        let mut out = vec![vec![Vec::new(); n]; n];
        if self.links.is_empty() {
            return Ok(out);
        }
        let between = Map { edges: self.edges.clone(), passes: self.passes.clone() };
        let inner = Map { edges: self.inner_edges(n), passes: vec![true; n] };
        let mut hops = 0;
        for (j, &target) in self.home.iter().enumerate() {
            let to_place = between.distances(target);
            let to_node = inner.distances(j);
            let mut known: Vec<Option<Vec<Route>>> = vec![None; self.edges.len()];
            for i in (0..n).filter(|&i| i != j) {
                let home = self.home[i];
                out[i][j] = if home != target {
                    if known[home].is_none() {
                        known[home] = Some(self.ways(layout, &between, (home, target), &to_place, (i, j))?);
                    }
                    known[home].clone().unwrap_or_default()
                } else if inner.edges[i].is_empty() && inner.edges[j].is_empty() {
                    self.by_ports(i, j)
                } else {
                    self.ways(layout, &inner, (i, j), &to_node, (i, j))?
                };
                hops += out[i][j].iter().map(|r| r.hops.len()).sum::<usize>();
                if hops > MAX_HOPS {
                    return Err(
                        self.refuse(format!("routes of more than {MAX_HOPS} hops in all"), "fewer or shorter routes")
                    );
                }
            }
        }
        Ok(out)
    }

    /// The links inside places, as edges between nodes.
    fn inner_edges(&self, nodes: usize) -> Vec<Vec<Edge>> {
        let mut edges = vec![Vec::new(); nodes];
        for &(a, b, link) in &self.inner {
            edges[a].push(Edge { to: b, hop: (link, true), transit: None, crosses: false });
            edges[b].push(Edge { to: a, hop: (link, false), transit: None, crosses: false });
        }
        edges
    }

    /// The route inside a socket: out of the port of node `i` and into the port of node `j`. Without ports no link
    /// limits it.
    fn by_ports(&self, i: usize, j: usize) -> Vec<Route> {
        let out = self.port[i].map(|p| (p, true));
        let into = self.port[j].map(|p| (p, false));
        let hops: Vec<(usize, bool)> = out.into_iter().chain(into).collect();
        if hops.is_empty() {
            return Vec::new();
        }
        vec![Route { share: 1.0, hops }]
    }

    /// All shortest ways between two places, each with its share; `steps` are the distances to `to`.
    fn ways(
        &self,
        layout: &Layout,
        map: &Map,
        (from, to): (usize, usize),
        steps: &[Option<usize>],
        (i, j): (usize, usize),
    ) -> Result<Vec<Route>, SpecError> {
        let Some(length) = steps[from] else { return Err(self.unreachable(layout, i, j)) };
        let mut ways: Vec<(usize, Vec<Edge>)> = vec![(from, Vec::new())];
        for left in (0..length).rev() {
            let mut longer = Vec::new();
            for (at, way) in ways {
                for e in map.edges[at].iter().filter(|e| steps[e.to] == Some(left) && (map.passes[e.to] || e.to == to))
                {
                    let mut next = way.clone();
                    next.push(*e);
                    longer.push((e.to, next));
                }
            }
            if longer.len() > MAX_PARALLEL {
                let (a, b) = (layout.nodes[i].id, layout.nodes[j].id);
                let what = format!("nodes {a} and {b} have more than {MAX_PARALLEL} shortest routes");
                return Err(self.refuse(what, "fewer parallel links"));
            }
            ways = longer;
        }
        debug_assert!(ways.iter().all(|(at, _)| *at == to));
        if self.rule == Rule::CrossFirst && ways.iter().any(|(_, w)| w[0].crosses) {
            ways.retain(|(_, w)| w[0].crosses);
        }
        let share = 1.0 / ways.len() as f64;
        Ok(ways.iter().map(|(_, w)| Route { share, hops: crossed(w) }).collect())
    }

    fn unreachable(&self, layout: &Layout, i: usize, j: usize) -> SpecError {
        let (a, b) = (layout.nodes[i].id, layout.nodes[j].id);
        let expected = "a chain of `[[link]]` between every two nodes, with CPUs at each node or socket on the way";
        self.refuse(format!("node {a} has no path to node {b}"), expected)
    }

    fn refuse(&self, what: String, expected: &str) -> SpecError {
        match &self.place {
            Some(p) => p.error(what, expected),
            None => SpecError::plain("machine", what, expected),
        }
    }
}

/// The links that a way crosses. A link other than the first also loads its transit cap, if it has one.
fn crossed(way: &[Edge]) -> Vec<(usize, bool)> {
    let mut hops = Vec::with_capacity(way.len());
    for (n, e) in way.iter().enumerate() {
        hops.extend(e.transit.filter(|_| n > 0).map(|t| (t, true)));
        hops.push(e.hop);
    }
    hops
}

/// Places, the edges between them, and which of them requests may pass.
struct Map {
    edges: Vec<Vec<Edge>>,
    passes: Vec<bool>,
}

impl Map {
    /// Number of edges from every place to `to`; every link has an edge in both directions.
    fn distances(&self, to: usize) -> Vec<Option<usize>> {
        let next = |at: usize| if at == to || self.passes[at] { self.edges[at].as_slice() } else { &[] };
        let near: Vec<Vec<usize>> = (0..self.edges.len()).map(|at| next(at).iter().map(|e| e.to).collect()).collect();
        steps(&near, to)
    }
}

/// Number of edges from `start` to every place (breadth-first search), `None` for a place that cannot be reached.
fn steps(near: &[Vec<usize>], start: usize) -> Vec<Option<usize>> {
    let mut steps = vec![None; near.len()];
    if start >= near.len() {
        return steps;
    }
    steps[start] = Some(0);
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        let next = steps[at].map(|s| s + 1);
        for &to in &near[at] {
            if steps[to].is_none() {
                steps[to] = next;
                queue.push_back(to);
            }
        }
    }
    steps
}
