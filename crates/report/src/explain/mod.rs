//! Reasons in sentences, from the decision log of a run ([`numalab_model::record::why`]).
//!
//! Problem: "why was this mapping never scanned?" has an answer in the run, as counts by reason and a short history, and a
//! reader wants it as sentences. Approach: one file per subject ([`vma`], [`page`], [`task`], [`node`]), and [`diff`] for
//! where two runs parted; each gives text. Without a name a subject lists what there is.
//! Invariant: a sentence says only what was logged; what was not kept is said to be missing.

pub mod diff;
pub mod node;
pub mod page;
pub mod task;
pub mod vma;

use crate::format::count;
use crate::html::reasons;
use numalab_model::machine::size;
use numalab_model::record::why::{Tallies, Tally, VmaWhy, Why, WhyFile};
use numalab_model::spec::SpecError;

/// Most lines of a list.
const MAX_LINES: usize = 60;

/// Names of what a log counts.
struct Names<'a> {
    file: &'a WhyFile,
}

impl<'a> Names<'a> {
    fn new(file: &'a WhyFile) -> Self {
        Self { file }
    }
    fn why(&self) -> &'a Why {
        &self.file.why
    }
    fn process(&self, process: u32) -> &'a str {
        self.file.header.processes.get(process as usize).map_or("process", |p| p.name.as_str())
    }
    fn task(&self, task: u32) -> String {
        match self.file.why.tasks.get(task as usize) {
            Some(t) => format!("{}/t{}", self.process(t.process), t.thread),
            None => format!("task {task}"),
        }
    }
    fn vma(&self, v: &VmaWhy) -> String {
        format!("{}/{}", self.process(v.process), v.name)
    }
    fn node(&self, node: u32) -> String {
        format!("node {}", self.file.header.nodes.get(node as usize).copied().unwrap_or(node))
    }
    fn preferred(&self, node: Option<u32>) -> String {
        node.map_or("none".into(), |n| self.node(n))
    }
    fn cpu(&self, cpu: u32) -> String {
        match self.file.header.cpus.get(cpu as usize) {
            Some(c) => format!("CPU {} ({})", c.id, self.node(c.node)),
            None => format!("CPU {cpu}"),
        }
    }
    fn node_of_cpu(&self, cpu: u32) -> Option<u32> {
        self.file.header.cpus.get(cpu as usize).map(|c| c.node)
    }
}

/// "1.024 s".
fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

/// "12 times, first at 1.024 s, last at 8.100 s".
fn times(t: &Tally) -> String {
    match t.count {
        0 => "never".into(),
        1 => format!("once, at {}", seconds(t.first_ns)),
        n => format!("{n} times, first at {}, last at {}", seconds(t.first_ns), seconds(t.last_ns)),
    }
}

/// One line per word: count, times, meaning. `role` is what its meaning is filed under.
fn reasons_text(list: &Tallies, role: &str) -> String {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort_by_key(|r| std::cmp::Reverse(r.1.count));
    let mut out = String::new();
    for (word, t) in sorted {
        let key = if role.is_empty() { word.clone() } else { format!("{role}.{word}") };
        let meaning = reasons::meaning(&key).map(|m| format!("\n      {m}")).unwrap_or_default();
        out.push_str(&format!("  {word}: {}{meaning}\n", times(t)));
    }
    out
}

/// "38.1 %" of `all`; "none" without any.
fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return "none".into();
    }
    format!("{:.1} %", 100.0 * part as f64 / all as f64)
}

fn bytes(n: u64) -> String {
    size::short(n)
}

/// A name that fits nothing, or several.
fn unknown<'a>(option: &str, name: &str, noun: &str, names: impl Iterator<Item = &'a str> + Clone) -> SpecError {
    let some: Vec<&str> = names.clone().take(6).collect();
    let expected = format!("a {noun} of this run such as {} (without a name all are listed)", some.join(", "));
    SpecError::plain(option, format!("no {noun} `{name}`"), expected).near(name, names)
}

/// The lines of a list, cut if there are many.
fn cut(lines: &[String]) -> String {
    let mut out = lines.iter().take(MAX_LINES).fold(String::new(), |out, l| out + l + "\n");
    if lines.len() > MAX_LINES {
        out.push_str(&format!("… and {} more\n", lines.len() - MAX_LINES));
    }
    out
}
