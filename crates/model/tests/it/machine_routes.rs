//! Which links requests cross: expanders are no way to somewhere else, and a catalog machine of one socket has the
//! routes of that socket.
#![allow(clippy::unwrap_used)] // test helpers: a failure is a failed test

use numalab_model::catalog::{Catalog, Kind};
use numalab_model::machine::{from_toml_with, Machine};
use numalab_model::spec::SpecError;

/// `base` with `more` in a file that extends it.
fn extended(base: &str, more: &str) -> Result<Machine, SpecError> {
    let catalog = Catalog::embedded();
    let text = format!("extends = \"{base}\"\nname = \"own\"\ntitle = \"t\"\n{more}");
    from_toml_with("own.toml", &text, &|name| catalog.machine_text(name))
}

/// Names of the links of all routes from node `i` to node `j`.
fn crossed(m: &Machine, i: usize, j: usize) -> Vec<&str> {
    m.routes[i][j].iter().flat_map(|r| &r.hops).map(|h| m.links[h.0].name.as_str()).collect()
}

/// Two nodes of DRAM, and an expander that both reach over a link of its own.
fn shared_expander(between: &str) -> Result<Machine, SpecError> {
    let link = |pairs: &str| {
        format!("[[link]]\nkind = \"nodes\"\npairs = {pairs}\npeak_gbps = 32\nsustained_gbps = 24\nhop_ns = 100\n")
    };
    let memory = "[[node]]\nid = 2\nsocket = 0\nkind = \"cxl\"\ntier = 1\n[distance]\nby_hop = [10, 14, 24]\n\
                  [latency]\nby_hop_ns = [100, 200, 300]\n";
    extended("haswell-2s", &format!("{memory}{between}{}", link("[[0, 2], [1, 2]]")))
}

#[test]
fn requests_between_nodes_with_cpus_pass_no_expander() {
    // Three links in a row between the sockets, two over the expander: the shorter way is none.
    let sockets = "[[link]]\nkind = \"nodes\"\npairs = [[0, 1]]\npeak_gbps = 30\nsustained_gbps = 25\nhop_ns = 50\n";
    let m = shared_expander(sockets).unwrap();
    assert_eq!(crossed(&m, 0, 1), ["node0-node1"]);
    assert_eq!((crossed(&m, 0, 2), crossed(&m, 1, 2)), (vec!["node0-node2"], vec!["node1-node2"]));
    let e = shared_expander("").unwrap_err();
    assert!(e.what.contains("has no path to node") && e.expected.contains("CPUs"), "{e}");
}

#[test]
fn a_longer_way_over_cpus_is_taken_before_a_shorter_one_over_an_expander() {
    let pairs = "[[0, 1], [1, 2], [2, 3], [0, 4], [3, 4]]";
    let more = format!(
        "[layout]\nsockets = 4\n[[node]]\nid = 4\nsocket = 0\nkind = \"cxl\"\ntier = 1\n\
         [distance]\nby_hop = [10, 14, 21, 31, 41]\n[latency]\nby_hop_ns = [100, 150, 200, 300, 400]\n\
         [[link]]\nkind = \"nodes\"\npairs = {pairs}\npeak_gbps = 32\nsustained_gbps = 24\nhop_ns = 100\n"
    );
    let m = extended("haswell-2s", &more).unwrap();
    assert_eq!(crossed(&m, 0, 3), ["node0-node1", "node1-node2", "node2-node3"]);
    assert_eq!(m.hop[0][3], 4, "three links between the sockets");
    assert_eq!(crossed(&m, 4, 3), ["node3-node4"], "an expander's own requests leave it");
}

#[test]
fn one_socket_of_every_regular_machine_of_the_catalog() {
    let catalog = Catalog::embedded();
    let mut ported = 0;
    for name in catalog.names(Kind::Machine) {
        let whole = extended(name, "").unwrap();
        // Machines that are given CPU by CPU have no `[layout]` to change, and GPUs of POWER9 have ids beyond a matrix.
        if ["power9-2s-v100"].contains(&name) {
            continue;
        }
        let one = extended(name, "[layout]\nsockets = 1\n").unwrap_or_else(|e| panic!("{name}: {e}"));
        let ids: Vec<u32> = whole.nodes.iter().filter(|n| n.socket == 0).map(|n| n.id).collect();
        assert_eq!(one.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), ids, "{name}");
        let place = |id: u32| whole.nodes.iter().position(|n| n.id == id).unwrap();
        for (i, a) in ids.iter().enumerate() {
            for (j, b) in ids.iter().enumerate() {
                let (x, y) = (place(*a), place(*b));
                assert_eq!(crossed(&one, i, j), crossed(&whole, x, y), "{name}: {a} to {b}");
                assert_eq!(one.latency_ns[i][j], whole.latency_ns[x][y], "{name}: {a} to {b}");
            }
        }
        ported += usize::from(one.links.iter().any(|l| l.name.ends_with("-port")) && ids.len() > 1);
    }
    assert!(ported >= 13, "{ported} machines have ports");
}

#[test]
fn own_links_and_nodes_must_exist() {
    let link = "[[link]]\nkind = \"sockets\"\npairs = [[0, 1]]\npeak_gbps = 9\nsustained_gbps = 9\nhop_ns = 1\n";
    let e = extended("milan-2s-nps1", &format!("[layout]\nsockets = 1\n{link}")).unwrap_err();
    assert!(e.what.contains("no end 1 among the sockets"), "{e}");
    let e = extended("milan-2s-nps1", "[layout]\nsockets = 1\n[[node]]\nid = 1\nsocket = 1\n").unwrap_err();
    assert!(e.expected.contains("a socket of `[layout]`"), "{e}");
}

/// Eight sockets in two groups, each behind a node controller; inside a group every two sockets are linked.
const CONTROLLERS: &str = r#"
[layout]
sockets = 8
[distance]
by_hop = [10, 21, 31]
[latency]
by_hop_ns = [100, 200, 400]
[[link]]
kind = "sockets"
pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3], [4, 5], [4, 6], [4, 7], [5, 6], [5, 7], [6, 7]]
peak_gbps = 48
sustained_gbps = 36
hop_ns = 100
[[link]]
kind = "controllers"
groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
peak_gbps = 40
sustained_gbps = 32
hop_ns = 150
"#;

#[test]
fn requests_to_another_controllers_sockets_cross_both_ports() {
    let m = extended("haswell-2s", CONTROLLERS).unwrap();
    assert_eq!(crossed(&m, 0, 3), ["socket0-socket3"]);
    for (i, j) in [(0, 4), (3, 7), (2, 5)] {
        assert_eq!(crossed(&m, i, j), ["controller0", "controller1"], "all sockets of a group share its port");
        assert_eq!((m.hop[i][j], m.latency_ns[i][j]), (2, 400.0));
    }
    let way = |i: usize, j: usize| m.routes[i][j][0].hops.iter().map(|h| h.1).collect::<Vec<_>>();
    assert_eq!((way(0, 4), way(4, 0)), (vec![true, false], vec![true, false]), "out of one, into the other");
}

#[test]
fn wrong_groups_are_refused() {
    for (from, to, what) in [
        ("[4, 5, 6, 7]]", "[4, 5, 6, 8]]", "no socket 8"),
        ("[4, 5, 6, 7]]", "[3, 5, 6, 7]]", "socket 3 has two controllers"),
        ("groups = [[0, 1, 2, 3], [4, 5, 6, 7]]", "", "groups` is missing"),
    ] {
        let e = extended("haswell-2s", &CONTROLLERS.replace(from, to)).unwrap_err();
        assert!(e.what.contains(what), "{e}");
    }
}
