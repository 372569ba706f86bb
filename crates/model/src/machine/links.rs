//! Links between nodes and sockets, and the routes over them.
//!
//! Problem: a request to another node loads every link on its way, but a machine file should state links, not n x n
//! routes.
//! Approach: `[[link]]` declares links of one of four kinds. The routes are all shortest ways (fewest links), which
//! share the traffic evenly (machines.md section 2.9).
//! * `kind = "sockets"`: joins two sockets; all their nodes share it.
//! * `kind = "nodes"`: joins two nodes. `transit_gbps` caps what may cross it *towards its second node* for requests
//!   that arrived over another link (a CXL port used by the other socket).
//! * `kind = "ports"`: one for each node with CPUs, between the node and the rest of its socket. Only requests inside
//!   the socket cross ports, one at each end.
//! * `kind = "controllers"`: the port of each node controller, which its group of sockets shares towards all others. A
//!   request to another group crosses two of them.
//!
//! A *place* is a socket, or a node that is joined on its own. Where links of kind `sockets` or `ports` exist, a node
//! belongs to the place of its socket. An exception is an expander (no CPUs) with a `nodes` link of its own, which is
//! reached over that link. `routes.rs` finds the routes. Of the `pairs` of a file that is extended, those whose ends
//! this machine lacks fall away.

use super::cpulist;
use super::index::Layout;
use super::layers::{opt_up_to, opt_within, Layers};
use super::layout::at_most_peak;
use super::limits::GBPS;
use super::Link;
use crate::spec::{clip, shown, SpecError, Spot, Table};
use std::collections::BTreeSet;

/// Most links of a machine.
const MAX_LINKS: usize = 8_192;

/// Which of the shortest routes carry traffic (`routing`).
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// All shortest routes, evenly.
    Shortest,
    /// The shortest routes that leave the socket with their first hop; all of them if none does.
    CrossFirst,
}

/// One direction of a link that leaves a place.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) to: usize,
    pub(super) hop: (usize, bool),
    /// Extra hop for requests that did not start here.
    pub(super) transit: Option<usize>,
    /// Whether it leaves the socket.
    pub(super) crosses: bool,
}

/// The links of a machine and the places they join.
pub(super) struct Graph {
    pub links: Vec<Link>,
    pub(super) place: Option<Spot<()>>,
    pub(super) rule: Rule,
    /// Place of each node. Places are numbered sockets first, then nodes.
    pub(super) home: Vec<usize>,
    /// Whether requests may pass a place on their way: it has CPUs.
    pub(super) passes: Vec<bool>,
    pub(super) edges: Vec<Vec<Edge>>,
    /// Links between two nodes of one place: (node, node, link).
    pub(super) inner: Vec<(usize, usize, usize)>,
    /// Port of each node.
    pub(super) port: Vec<Option<usize>>,
    /// Whether sockets have node controllers. They meet in a place of their own, the last.
    pub(super) controllers: bool,
}

/// A `[[link]]` as the file states it.
struct Head {
    at: Spot<String>,
    pairs: Pairs,
    peak_gbps: f64,
    sustained_gbps: f64,
    hop_ns: f64,
    transit: Option<(f64, f64)>,
    /// Whether it stands in a file that this machine extends.
    inherited: bool,
}

enum Pairs {
    All,
    SameSocket,
    List(Spot<Vec<Vec<f64>>>),
    Groups(Spot<Vec<Vec<f64>>>),
    None,
}

/// Reads `[[link]]` and `routing`.
///
/// # Errors
/// A wrong kind, scope or pair; more than 8192 links.
pub(super) fn read(root: &Layers, layout: &Layout) -> Result<Graph, SpecError> {
    let heads =
        root.list("link")?.into_iter().map(|t| Head::read(t, &root.place().file)).collect::<Result<Vec<_>, _>>()?;
    let rule = match root.opt_str("routing")? {
        None => Rule::Shortest,
        Some(r) => match r.value.as_str() {
            "shortest" => Rule::Shortest,
            "cross-first" => Rule::CrossFirst,
            other => {
                let e = r.error(format!("no routing `{}`", clip(other)), "`shortest` or `cross-first`");
                return Err(e.near(other, ["shortest", "cross-first"]));
            }
        },
    };
    Graph::build(layout, &heads, rule)
}

impl Head {
    fn read(t: Table, own_file: &str) -> Result<Self, SpecError> {
        let at = t.str("kind")?;
        let kinds = ["sockets", "nodes", "ports", "controllers"];
        if !kinds.contains(&at.value.as_str()) {
            let what = format!("no link kind `{}`", clip(&at.value));
            let e = at.error(what, "`sockets`, `nodes`, `ports` or `controllers`");
            return Err(e.near(&at.value, kinds));
        }
        let (ports, controllers) = (at.value == "ports", at.value == "controllers");
        let scope = if ports || controllers { None } else { t.opt_str("scope")? };
        let list = if ports || controllers { None } else { t.opt_matrix("pairs")? };
        let groups = if controllers { t.opt_matrix("groups")? } else { None };
        let pairs = match (scope, list) {
            _ if ports => Pairs::None,
            _ if controllers => match groups {
                Some(groups) => Pairs::Groups(groups),
                None => return Err(t.missing("groups", "the sockets of each controller: `[[0, 1], [2, 3]]`")),
            },
            (None, Some(list)) => Pairs::List(list),
            (Some(s), None) if s.value == "all" => Pairs::All,
            (Some(s), None) if s.value == "same-socket" && at.value == "nodes" => Pairs::SameSocket,
            (Some(s), None) => {
                let e = s.error(format!("no scope `{}`", clip(&s.value)), "`all`, or `same-socket` between nodes");
                return Err(e.near(&s.value, ["all", "same-socket"]));
            }
            _ => return Err(t.missing("pairs", "either `pairs = [[0, 1], ...]` or `scope`")),
        };
        let gbps = "a number above 0, GB/s per direction";
        let rate = |key: &str| opt_within(&t, key, &GBPS)?.ok_or_else(|| t.missing(key, gbps));
        let (peak, sustained) = (rate("peak_gbps")?, rate("sustained_gbps")?);
        at_most_peak(&sustained, peak.value)?;
        let hop_ns =
            opt_up_to(&t, "hop_ns", 1e6)?.ok_or_else(|| t.missing("hop_ns", "extra latency of the hop, ns"))?;
        let transit = if at.value == "nodes" { transit(&t)? } else { None };
        t.finish()?;
        let inherited = at.file != own_file;
        Ok(Self { at, pairs, peak_gbps: peak.value, sustained_gbps: sustained.value, hop_ns, transit, inherited })
    }

    /// An error about its pairs, at the list of them if there is one.
    fn wrong_pair(&self, what: String, expected: &str) -> SpecError {
        match &self.pairs {
            Pairs::List(list) => list.error(what, expected),
            _ => self.at.error(what, expected),
        }
    }

    /// The link between two ends, called `name`.
    fn link(&self, name: String) -> Link {
        Link { name, peak_gbps: self.peak_gbps, sustained_gbps: self.sustained_gbps, hop_latency_ns: self.hop_ns }
    }

    /// The pairs of ends to join, as indices into `ids`, which are the ends' ids in the file.
    fn pairs(&self, ids: &[u32], socket: impl Fn(usize) -> usize) -> Result<Vec<(usize, usize)>, SpecError> {
        let count = ids.len();
        let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        let list = match &self.pairs {
            Pairs::None | Pairs::Groups(_) => return Ok(Vec::new()),
            Pairs::All => return Ok(all.collect()),
            Pairs::SameSocket => return Ok(all.filter(|&(a, b)| socket(a) == socket(b)).collect()),
            Pairs::List(list) => list,
        };
        let known = |x: f64| ids.iter().position(|id| f64::from(*id) == x);
        let end = |x: f64| {
            known(x).ok_or_else(|| {
                let what = format!("no end {} among the {}", shown(x), self.at.value);
                list.error(what, format!("ends among {}", cpulist::format(ids)))
            })
        };
        let mut out = Vec::new();
        for pair in &list.value {
            match pair[..] {
                [a, b] if a != b && self.inherited && (known(a).is_none() || known(b).is_none()) => {}
                [a, b] if a != b => out.push((end(a)?, end(b)?)),
                _ => return Err(list.error(format!("pair {pair:?}"), "two different ends: [0, 1]")),
            }
        }
        Ok(out)
    }
}

/// Reads `transit_gbps`, and `transit_hop_ns`, which needs the first.
fn transit(t: &Table) -> Result<Option<(f64, f64)>, SpecError> {
    match (opt_within(t, "transit_gbps", &GBPS)?, opt_up_to(t, "transit_hop_ns", 1e6)?) {
        (None, None) => Ok(None),
        (Some(gbps), ns) => Ok(Some((gbps.value, ns.unwrap_or(0.0)))),
        (None, Some(_)) => Err(t.missing("transit_gbps", "the cap of that way, GB/s, beside `transit_hop_ns`")),
    }
}

/// Refuses two links between the same ends: they would share a name, and a mistake would double a bandwidth.
fn refuse_twice(heads: &[Head], ends: &[Vec<(usize, usize)>], sockets: &[u32], nodes: &[u32]) -> Result<(), SpecError> {
    let mut seen = BTreeSet::new();
    for (h, pairs) in heads.iter().zip(ends) {
        let between_sockets = h.at.value == "sockets";
        let ids = if between_sockets { sockets } else { nodes };
        for &(a, b) in pairs {
            if !seen.insert((between_sockets, a.min(b), a.max(b))) {
                let what = format!("the link between {} {} and {} is given twice", h.at.value, ids[a], ids[b]);
                return Err(h.wrong_pair(what, "each pair once, with the bandwidth of parallel links added up"));
            }
        }
    }
    Ok(())
}

impl Graph {
    fn build(layout: &Layout, heads: &[Head], rule: Rule) -> Result<Self, SpecError> {
        let mut g = Self {
            links: Vec::new(),
            place: heads.first().map(|h| h.at.clone().map(|_| ())),
            rule,
            home: Vec::new(),
            passes: Vec::new(),
            edges: vec![Vec::new(); layout.sockets + layout.nodes.len() + 1],
            inner: Vec::new(),
            port: vec![None; layout.nodes.len()],
            controllers: false,
        };
        let nodes: Vec<u32> = layout.nodes.iter().map(|n| n.id).collect();
        // A socket whose CPUs are all in nodes of other sockets has no memory to link.
        let with_nodes: BTreeSet<u32> = layout.nodes.iter().map(|n| n.socket as u32).collect();
        let sockets: Vec<u32> = with_nodes.into_iter().collect();
        let mut ends: Vec<Vec<(usize, usize)>> = Vec::new();
        for h in heads {
            ends.push(match h.at.value.as_str() {
                "sockets" => h.pairs(&sockets, |s| s)?,
                _ => h.pairs(&nodes, |n| layout.nodes[n].socket)?,
            });
        }
        refuse_twice(heads, &ends, &sockets, &nodes)?;
        g.home = homes(layout, heads, &ends);
        g.passes = vec![false; g.edges.len()];
        layout.cpus.iter().flat_map(|c| [c.socket, g.home[c.node]]).for_each(|place| g.passes[place] = true);
        for (h, pairs) in heads.iter().zip(&ends) {
            match h.at.value.as_str() {
                "sockets" => pairs.iter().for_each(|&(a, b)| {
                    let (a, b) = (sockets[a] as usize, sockets[b] as usize);
                    let link = g.add(h.link(format!("socket{a}-socket{b}")));
                    g.join((a, b), link, None, true);
                }),
                "nodes" => pairs.iter().try_for_each(|&(a, b)| g.node_link(layout, h, a, b))?,
                "controllers" => g.controllers(h, &sockets)?,
                _ if g.port.iter().any(Option::is_some) => {
                    return Err(h.at.error("ports are declared twice", "one `[[link]]` of kind `ports`"));
                }
                _ => (0..nodes.len()).filter(|&n| !layout.nodes[n].cpus.is_empty()).for_each(|n| {
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

    /// Joins the sockets of each group to where the controllers meet.
    fn controllers(&mut self, h: &Head, sockets: &[u32]) -> Result<(), SpecError> {
        let Pairs::Groups(groups) = &h.pairs else { return Ok(()) };
        if std::mem::replace(&mut self.controllers, true) {
            return Err(h.at.error("controllers are declared twice", "one `[[link]]` of kind `controllers`"));
        }
        let meet = self.edges.len() - 1;
        self.passes[meet] = true;
        let mut seen = BTreeSet::new();
        for (n, group) in groups.value.iter().enumerate() {
            let known = |x: f64| sockets.iter().copied().find(|s| f64::from(*s) == x);
            let (here, lost): (Vec<f64>, Vec<f64>) = group.iter().partition(|x| known(**x).is_some());
            if let Some(x) = lost.first().filter(|_| !h.inherited) {
                let expected = format!("sockets among {}", cpulist::format(sockets));
                return Err(groups.error(format!("no socket {}", shown(*x)), expected));
            }
            if let Some(x) = here.iter().find(|x| !seen.insert(x.to_bits())) {
                return Err(groups.error(format!("socket {} has two controllers", shown(*x)), "each socket once"));
            }
            if !here.is_empty() {
                let link = self.add(h.link(format!("controller{n}")));
                here.iter().filter_map(|x| known(*x)).for_each(|s| self.join((s as usize, meet), link, None, true));
            }
        }
        Ok(())
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

/// The place of each node: its socket where sockets are linked or nodes have ports, or a place of its own.
fn homes(layout: &Layout, heads: &[Head], ends: &[Vec<(usize, usize)>]) -> Vec<usize> {
    let linked = |kind: &'static str| heads.iter().zip(ends).filter(move |(h, _)| h.at.value == kind).map(|(_, e)| e);
    let hubs = linked("sockets").any(|e| !e.is_empty())
        || ["ports", "controllers"].iter().any(|kind| linked(kind).next().is_some());
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
