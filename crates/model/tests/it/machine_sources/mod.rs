//! Machines from what other tools say about them: forms, kinds of odd machines, and agreement between the forms.
#![allow(clippy::unwrap_used)] // test helpers: a failure is a failed test

mod agree;
mod archives;
mod dmidecode;
mod doubts;
mod hostile;
mod kinds;
mod lscpu;
mod odd;
mod pasted;
mod together;
mod world;

use numalab_model::machine::Machine;
use numalab_model::spec::SpecError;

/// Loads an imported file, which must succeed.
fn machine(toml: Result<String, SpecError>) -> Machine {
    let toml = toml.unwrap_or_else(|e| panic!("{e}"));
    numalab_model::machine::from_toml("imported.toml", &toml).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// Whether a machine warns with a part of a sentence.
fn warns(m: &Machine, part: &str) {
    assert!(m.warnings.iter().any(|w| w.contains(part)), "`{part}` is not in {:#?}", m.warnings);
}

/// CPU ids of a node.
fn cpus(m: &Machine, node: usize) -> Vec<u32> {
    m.nodes[node].cpus.iter().map(|&c| m.cpus[c].id).collect()
}
