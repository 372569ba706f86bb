//! Names that expressions of a workload can use: variables of the machine, of the run, and of the process and thread.

use crate::expr::Value;
use crate::machine::Machine;

/// A variable of the machine.
#[derive(Clone, Copy)]
pub struct Variable {
    /// Name in expressions.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    value: fn(&Machine) -> Value,
}

impl Variable {
    /// Its value on `machine`.
    pub fn value(&self, machine: &Machine) -> Value {
        (self.value)(machine)
    }
}

fn count(n: usize) -> Value {
    Value::plain(n as f64)
}

fn bytes(n: u64) -> Value {
    Value::bytes(n as f64)
}

fn ratio(a: usize, b: usize) -> Value {
    count(a / b.max(1))
}

/// All variables of the machine.
pub const VARIABLES: [Variable; 13] = [
    Variable { name: "cpus", about: "logical CPUs", value: |m| count(m.cpus.len()) },
    Variable { name: "cores", about: "physical cores", value: |m| count(m.cores) },
    Variable { name: "threads_per_core", about: "cpus // cores", value: |m| ratio(m.cpus.len(), m.cores) },
    Variable { name: "nodes", about: "memory nodes, with CPUs or without", value: |m| count(m.nodes.len()) },
    Variable { name: "cpu_nodes", about: "nodes that have CPUs", value: |m| count(m.cpu_nodes().count()) },
    Variable { name: "sockets", about: "sockets", value: |m| count(m.sockets) },
    Variable { name: "llcs", about: "last-level caches", value: |m| count(m.llcs.len()) },
    Variable {
        name: "cpus_per_node",
        about: "cpus // cpu_nodes",
        value: |m| ratio(m.cpus.len(), m.cpu_nodes().count()),
    },
    Variable { name: "cpus_per_llc", about: "cpus // llcs", value: |m| ratio(m.cpus.len(), m.llcs.len()) },
    Variable {
        name: "llc_bytes",
        about: "size of the smallest last-level cache",
        value: |m| bytes(m.llcs.iter().map(|l| l.size_bytes).min().unwrap_or(0)),
    },
    Variable {
        name: "llc_total",
        about: "size of all last-level caches together",
        value: |m| bytes(m.llcs.iter().map(|l| l.size_bytes).sum()),
    },
    Variable { name: "memory_bytes", about: "memory of all nodes", value: |m| bytes(m.memory_bytes()) },
    Variable {
        name: "node_memory_bytes",
        about: "memory of the smallest node that has CPUs and memory",
        value: |m| {
            let sizes = m.cpu_nodes().map(|n| m.nodes[n].memory_bytes).filter(|&b| b > 0);
            bytes(sizes.min().unwrap_or(0))
        },
    },
];

/// Seed of the run, modulo 2^32 so that every bit of it is exact in an expression.
pub(super) const SEED: &str = "seed";
/// Number of the process among the instances of its entry, from 0.
pub(super) const PROCESS: &str = "process";
/// Instances of the process entry.
pub(super) const PROCESSES: &str = "processes";
/// Number of the thread in its group, from 0.
pub(super) const THREAD: &str = "thread";
/// Threads of the group.
pub(super) const THREADS: &str = "threads";

/// The value of `seed` in expressions.
pub(super) fn seed_value(seed: u64) -> Value {
    Value::plain((seed % (1 << 32)) as f64)
}

/// Whether `name` has a meaning, so that no parameter or local value can have it.
pub(super) fn is_reserved(name: &str) -> bool {
    let own = [SEED, PROCESS, PROCESSES, THREAD, THREADS, "and", "or", "not"];
    own.contains(&name) || VARIABLES.iter().any(|v| v.name == name)
}

/// Whether `name` can be used in an expression.
pub(super) fn is_identifier(name: &str) -> bool {
    name.bytes().enumerate().all(|(i, b)| b == b'_' || b.is_ascii_alphabetic() || (i > 0 && b.is_ascii_digit()))
        && !name.is_empty()
}
