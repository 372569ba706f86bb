//! Links between nodes and sockets, and the routes over them.
//!
//! Problem: a request to another node loads every link on its way, and a machine file should state links,
//! not n x n routes. Approach: `[[link]]` declares links of one of three kinds; routes are all shortest
//! ways (fewest links), sharing the traffic evenly (machines.md section 2.9).
//! * `kind = "sockets"`: joins two sockets; all their nodes share it.
//! * `kind = "nodes"`: joins two nodes. `transit_gbps` caps what may cross it *towards its second node*
//!   for requests that arrived over another link (a CXL port used by the other socket).
//! * `kind = "ports"`: one for each node with CPUs, between it and the rest of its socket; crossed by
//!   requests inside the socket only, at both ends.
//!
//! A node stands at its socket where `sockets` links exist, except an expander (no CPUs) with a `nodes` link
//! of its own, which is reached through that. The routes themselves are made in `routes.rs`.

use super::index::Layout;
use super::layers::{opt_positive, opt_up_to, Layers};
use super::layout::MAX_GBPS;
use super::{cpulist, Link};
use crate::spec::{SpecError, Spot, Table};

/// Most links of a machine.
const MAX_LINKS: usize = 8_192;

/// Which of the shortest routes are taken.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// All of them, evenly.
    Shortest,
    /// Those that leave the socket with their first hop, where there are such.
    CrossFirst,
}

/// One direction of a link at a place (a socket or a node).
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) to: usize,
    pub(super) hop: (usize, bool),
    /// Extra hop for requests that did not start here.
    pub(super) transit: Option<usize>,
    /// Whether it leaves the socket.
    pub(super) crosses: bool,
}

/// The links of a machine and how places hang together.
pub(super) struct Graph {
    pub links: Vec<Link>,
    pub(super) place: Option<Spot<()>>,
    pub(super) rule: Rule,
    /// Place each node stands at: sockets first, then nodes.
    pub(super) home: Vec<usize>,
    pub(super) edges: Vec<Vec<Edge>>,
    /// Links between nodes of one place: (node, node, link).
    pub(super) inner: Vec<(usize, usize, usize)>,
    /// Port of each node.
    pub(super) port: Vec<Option<usize>>,
}

/// The common keys of a `[[link]]`.
struct Head {
    at: Spot<String>,
    pairs: Pairs,
    peak_gbps: f64,
    sustained_gbps: f64,
    hop_ns: f64,
    transit: Option<(f64, f64)>,
}

enum Pairs {
    All,
    SameSocket,
    List(Spot<Vec<Vec<f64>>>),
    None,
}

/// Reads `[[link]]` and `routing`.
///
/// # Errors
/// A wrong kind, scope or pair; more than 8192 links.
pub(super) fn read(root: &Layers, layout: &Layout) -> Result<Graph, SpecError> {
    let heads = root.list("link")?.into_iter().map(Head::read).collect::<Result<Vec<_>, _>>()?;
    let rule = match root.opt_str("routing")? {
        None => Rule::Shortest,
        Some(r) => match r.value.as_str() {
            "shortest" => Rule::Shortest,
            "cross-first" => Rule::CrossFirst,
            other => {
                let e = r.error(format!("no routing `{}`", super::clip(other)), "`shortest` or `cross-first`");
                return Err(e.near(other, ["shortest", "cross-first"]));
            }
        },
    };
    Graph::build(layout, &heads, rule)
}

impl Head {
    fn read(t: Table) -> Result<Self, SpecError> {
        let at = t.str("kind")?;
        let kinds = ["sockets", "nodes", "ports"];
        if !kinds.contains(&at.value.as_str()) {
            let e = at.error(format!("no link kind `{}`", super::clip(&at.value)), "`sockets`, `nodes` or `ports`");
            return Err(e.near(&at.value, kinds));
        }
        let ports = at.value == "ports";
        let scope = if ports { None } else { t.opt_str("scope")? };
        let list = if ports { None } else { t.opt_matrix("pairs")? };
        let pairs = match (scope, list) {
            _ if ports => Pairs::None,
            (None, Some(list)) => Pairs::List(list),
            (Some(s), None) if s.value == "all" => Pairs::All,
            (Some(s), None) if s.value == "same-socket" && at.value == "nodes" => Pairs::SameSocket,
            (Some(s), None) => {
                let e =
                    s.error(format!("no scope `{}`", super::clip(&s.value)), "`all`, or `same-socket` between nodes");
                return Err(e.near(&s.value, ["all", "same-socket"]));
            }
            _ => return Err(t.missing("pairs", "either `pairs = [[0, 1], ...]` or `scope`")),
        };
        let gbps = "a number above 0, GB/s per direction";
        let peak_gbps = opt_positive(&t, "peak_gbps", MAX_GBPS)?.ok_or_else(|| t.missing("peak_gbps", gbps))?;
        let sustained_gbps =
            opt_positive(&t, "sustained_gbps", MAX_GBPS)?.ok_or_else(|| t.missing("sustained_gbps", gbps))?;
        if sustained_gbps > peak_gbps {
            let what = format!("sustained {sustained_gbps} GB/s is above the peak of {peak_gbps}");
            return Err(t.error(what, "at most the peak"));
        }
        let hop_ns =
            opt_up_to(&t, "hop_ns", 1e6)?.ok_or_else(|| t.missing("hop_ns", "extra latency of the hop, ns"))?;
        let transit = match at.value.as_str() {
            "nodes" => opt_positive(&t, "transit_gbps", MAX_GBPS)?
                .zip(Some(opt_up_to(&t, "transit_hop_ns", 1e6)?.unwrap_or(0.0))),
            _ => None,
        };
        t.finish()?;
        Ok(Self { at, pairs, peak_gbps, sustained_gbps, hop_ns, transit })
    }

    /// The link of a pair under a name.
    fn link(&self, name: String) -> Link {
        Link { name, peak_gbps: self.peak_gbps, sustained_gbps: self.sustained_gbps, hop_latency_ns: self.hop_ns }
    }

    /// Dense pairs among `count` ends; `index` finds an end by what the file calls it.
    fn pairs(
        &self,
        count: usize,
        socket: impl Fn(usize) -> usize,
        index: impl Fn(u32) -> Option<usize>,
    ) -> Result<Vec<(usize, usize)>, SpecError> {
        let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        let list = match &self.pairs {
            Pairs::None => return Ok(Vec::new()),
            Pairs::All => return Ok(all.collect()),
            Pairs::SameSocket => return Ok(all.filter(|&(a, b)| socket(a) == socket(b)).collect()),
            Pairs::List(list) => list,
        };
        let end = |x: f64| {
            let known = (x.fract() == 0.0 && (0.0..=f64::from(cpulist::MAX_ID)).contains(&x)).then(|| index(x as u32));
            known.flatten().ok_or_else(|| list.error(format!("no end {x} among the {}", self.at.value), "existing ids"))
        };
        let mut out = Vec::new();
        for pair in &list.value {
            match pair[..] {
                [a, b] if a != b => out.push((end(a)?, end(b)?)),
                _ => return Err(list.error(format!("pair {pair:?}"), "two different ends: [0, 1]")),
            }
        }
        Ok(out)
    }
}

impl Graph {
    fn build(layout: &Layout, heads: &[Head], rule: Rule) -> Result<Self, SpecError> {
        let nodes = layout.nodes.len();
        let mut g = Self {
            links: Vec::new(),
            place: heads.first().map(|h| h.at.clone().map(|_| ())),
            rule,
            home: Vec::new(),
            edges: vec![Vec::new(); layout.sockets + nodes],
            inner: Vec::new(),
            port: vec![None; nodes],
        };
        let node = |id: u32| layout.nodes.iter().position(|n| n.id == id);
        let socket = |s: u32| ((s as usize) < layout.sockets).then_some(s as usize);
        let mut ends: Vec<Vec<(usize, usize)>> = Vec::new();
        for h in heads {
            ends.push(match h.at.value.as_str() {
                "sockets" => h.pairs(layout.sockets, |s| s, socket)?,
                _ => h.pairs(nodes, |n| layout.nodes[n].socket, node)?,
            });
        }
        g.home = homes(layout, heads, &ends);
        for (h, pairs) in heads.iter().zip(&ends) {
            match h.at.value.as_str() {
                "sockets" => pairs.iter().for_each(|&(a, b)| {
                    let link = g.add(h.link(format!("socket{a}-socket{b}")));
                    g.join((a, b), link, None, true);
                }),
                "nodes" => pairs.iter().try_for_each(|&(a, b)| g.node_link(layout, h, a, b))?,
                _ if g.port.iter().any(Option::is_some) => {
                    return Err(h.at.error("ports are declared twice", "one `[[link]]` of kind `ports`"));
                }
                _ => (0..nodes).filter(|&n| !layout.nodes[n].cpus.is_empty()).for_each(|n| {
                    g.port[n] = Some(g.add(h.link(format!("node{}-port", layout.nodes[n].id))));
                }),
            }
            if g.links.len() > MAX_LINKS {
                return Err(h.at.error(format!("{} links", g.links.len()), format!("at most {MAX_LINKS}")));
            }
        }
        Ok(g)
    }

    fn add(&mut self, link: Link) -> usize {
        self.links.push(link);
        self.links.len() - 1
    }

    fn join(&mut self, (a, b): (usize, usize), link: usize, transit: Option<usize>, crosses: bool) {
        self.edges[a].push(Edge { to: b, hop: (link, true), transit, crosses });
        self.edges[b].push(Edge { to: a, hop: (link, false), transit: None, crosses });
    }

    fn node_link(&mut self, layout: &Layout, h: &Head, a: usize, b: usize) -> Result<(), SpecError> {
        let (first, second) = (&layout.nodes[a], &layout.nodes[b]);
        let name = format!("node{}-node{}", first.id, second.id);
        let (from, to) = (self.home[a], self.home[b]);
        if h.transit.is_some() && from == to {
            let what = format!("`transit_gbps` on a link inside socket {}", first.socket);
            return Err(h.at.error(what, "a link to a node without CPUs"));
        }
        let transit = h.transit.map(|(gbps, ns)| {
            let name = format!("{name}-transit");
            self.add(Link { name, peak_gbps: gbps, sustained_gbps: gbps, hop_latency_ns: ns })
        });
        let link = self.add(h.link(name));
        if from == to {
            self.inner.push((a, b, link));
        } else {
            self.join((from, to), link, transit, first.socket != second.socket);
        }
        Ok(())
    }
}

/// Where each node stands: at its socket (where sockets are linked), or on its own.
fn homes(layout: &Layout, heads: &[Head], ends: &[Vec<(usize, usize)>]) -> Vec<usize> {
    let linked = |kind: &'static str| heads.iter().zip(ends).filter(move |(h, _)| h.at.value == kind).map(|(_, e)| e);
    let hubs = linked("sockets").any(|e| !e.is_empty());
    let own_link = |n: usize| linked("nodes").flatten().any(|&(a, b)| a == n || b == n);
    let home = |n: usize| {
        let node = &layout.nodes[n];
        let alone = !hubs || (node.cpus.is_empty() && own_link(n));
        if alone {
            layout.sockets + n
        } else {
            node.socket
        }
    };
    (0..layout.nodes.len()).map(home).collect()
}
