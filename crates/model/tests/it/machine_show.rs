//! The picture of a machine, `numalab machine show`.
#![allow(clippy::unwrap_used)]

use numalab_model::machine::{self, show};

#[test]
fn show_draws_everything_within_100_columns() {
    let find = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/machines");
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).ok()?;
        Some((format!("{name}.toml"), text))
    };
    for name in ["milan-2s-nps1", "cxl-2s", "spr-8s-snc4", "x5-8-flat"] {
        let m = machine::load(name, &find, &[]).unwrap();
        let text = show(&m, 100);
        for width in [72, 80, 100] {
            assert!(show(&m, width).lines().all(|l| l.chars().count() <= width), "{name} in {width}");
        }
        assert_eq!((show(&m, 20), show(&m, 200)), (show(&m, 72), text.clone()), "{name}");
        assert_eq!(
            text.matches("\n| node ").count() + usize::from(text.starts_with("| node")),
            m.nodes.len(),
            "{name}"
        );
        assert_eq!(text.matches("LLC ").count() - text.matches("LLC hit").count(), m.llcs.len(), "{name}");
        assert!(text.contains("distance (as the kernel sees it)") && text.contains("idle latency, ns"), "{name}");
        for l in &m.links {
            assert!(text.contains(&l.name), "{name}: {}", l.name);
        }
        assert_eq!(text.contains("warning: "), !m.warnings.is_empty(), "{name}");
    }
    let text = show(&machine::load("milan-2s-nps1", &find, &[]).unwrap(), 100);
    for part in [
        "2 sockets, 2 nodes, 16 LLCs, 128 cores, 256 CPUs, 512 GiB\n",
        "| node 0    256 GiB DRAM, 198 GB/s (peak 204.8)",
        "CPUs 0-63,128-191 ",
        "LLC 15  32 MiB  120-127,248-255",
        "\n  0 10 32\n  1 32 10\n",
        "\n  0 110 200\n  1 200 110\n",
        "  1 x 85 (96)           +90 ns  socket0-socket1\n",
    ] {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
    let m = numalab_model::machine::from_shorthand("1000x1x1x1").unwrap();
    assert!(show(&m, 100).contains("1000 x 1000 values, 2 different"));
}
