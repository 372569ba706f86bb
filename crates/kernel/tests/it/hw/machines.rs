//! The machines that the vectors of machines.md speak of, read from the catalog.
//!
//! The catalog is the only place of their figures. Where a vector was computed from another figure than the catalog has
//! today, the function here sets it and says why. Costs are those of the machine's class at 3.0 GHz, as machines.md
//! sections 4 and 5 print them: the catalog scales them to each clock.

use numalab_model::machine::{self, Machine};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/machines");

/// A clock at which costs are not scaled, for a machine that extends another.
const AT_3_GHZ: &str =
    "name = \"at-3-ghz\"\ntitle = \"costs\"\n[clock]\nbase_ghz = 1.0\nsustained_ghz = 3.0\nsingle_ghz = 6.0\n";

fn load(name: &str, extending: &str) -> Machine {
    let find = |wanted: &str| {
        if wanted == "at-3-ghz" {
            return Some((wanted.to_string(), format!("extends = \"{extending}\"\n{AT_3_GHZ}")));
        }
        let path = format!("{FOLDER}/{wanted}.toml");
        std::fs::read_to_string(&path).ok().map(|text| (path, text))
    };
    machine::load(name, &find, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// A machine of the catalog as it is.
pub fn of_catalog(name: &str) -> Machine {
    load(name, "")
}

/// A machine of the catalog with the costs of its class at 3.0 GHz. Its page walks cost what section 3 says for all
/// machines: vectors do not know their walkers.
fn preset(name: &str) -> Machine {
    let mut m = Machine { costs: load("at-3-ghz", name).costs, ..load(name, "") };
    m.tlb.walker = None;
    m
}

/// M1 `milan-2s-nps1`, with the 171.5 GB/s of a node that vectors 1, 2 and 8.1 count with. The catalog's 198 follows
/// from a measurement of both nodes.
pub fn milan() -> Machine {
    let mut m = preset("milan-2s-nps1");
    m.nodes.iter_mut().for_each(|n| n.dram_sustained_gbps = 171.5);
    m
}

/// M2 `e7-4807-4s`, with the 7 GB/s of a link that designs-2012.md section 0.2 counts with, and without the traffic of
/// snoops, which it does not count. The catalog's 2.5 GB/s is calibrated.
pub fn westmere() -> Machine {
    let mut m = preset("e7-4807-4s");
    m.links.iter_mut().for_each(|l| l.sustained_gbps = 7.0);
    m.cache.source_snoop = false;
    m
}

/// M3 `x5-8`.
pub fn x5_8() -> Machine {
    preset("x5-8")
}

/// M4 `naples-2s`.
pub fn naples() -> Machine {
    preset("naples-2s")
}

/// M5 `tr-1950x` with DDR4-3200.
pub fn threadripper() -> Machine {
    preset("tr-1950x")
}

/// M8 `cxl-2s`, without the port between an expander and its own socket: vector 13 is of the device alone.
pub fn cxl() -> Machine {
    let mut m = preset("cxl-2s");
    for (socket, expander) in [(0, 2), (1, 3)] {
        m.routes[socket][expander].clear();
        m.routes[expander][socket].clear();
    }
    m
}

/// M7b `spr-8s-snc4`.
pub fn spr_8s() -> Machine {
    preset("spr-8s-snc4")
}
