//! The first line of a log: what the numbers in its entries stand for.

use crate::machine::{Cpu, Machine};
use crate::workload::{Process, Workload};
use serde::{Deserialize, Serialize};

/// `format` of a log.
pub(super) const FORMAT: &str = "numalab events";
/// Format version this program writes and reads.
pub(super) const VERSION: u64 = 1;

/// A CPU; its place in [`Header::cpus`] is its dense number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuEntry {
    /// Id as the operating system shows it.
    pub id: u32,
    /// Dense node index.
    pub node: u32,
    /// Dense socket index.
    pub socket: u32,
    /// Dense index of its last-level cache.
    pub llc: u32,
}

/// A process of the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEntry {
    /// Name.
    pub name: String,
    /// Number of threads.
    pub threads: u32,
}

/// First line of a log: what the numbers of its entries stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always `numalab events`.
    pub format: String,
    /// Format version.
    pub format_version: u64,
    /// Id of the record the log belongs to.
    pub record: String,
    /// Name of the machine.
    pub machine: String,
    /// Id of each node as the operating system shows it.
    pub nodes: Vec<u32>,
    /// CPUs in dense order.
    pub cpus: Vec<CpuEntry>,
    /// Processes in dense order.
    pub processes: Vec<ProcessEntry>,
    /// Words for the codes of [`Kind::Skip`](super::Kind::Skip).
    pub skips: Vec<String>,
    /// Words for [`Fate::Denied`](super::Fate::Denied).
    pub denials: Vec<String>,
    /// Words for [`Fate::Refused`](super::Fate::Refused).
    pub refusals: Vec<String>,
    /// Words for the codes of [`Kind::Placed`](super::Kind::Placed).
    pub placements: Vec<String>,
}

impl Header {
    /// Header of a run, without the words, which the backend fills in.
    pub fn new(record: &str, machine: &Machine, workload: &Workload) -> Self {
        let cpu = |c: &Cpu| CpuEntry { id: c.id, node: c.node as u32, socket: c.socket as u32, llc: c.llc as u32 };
        let process = |p: &Process| ProcessEntry { name: p.name.clone(), threads: p.threads.len() as u32 };
        Self {
            format: FORMAT.into(),
            format_version: VERSION,
            record: record.into(),
            machine: machine.name.clone(),
            nodes: machine.nodes.iter().map(|n| n.id).collect(),
            cpus: machine.cpus.iter().map(cpu).collect(),
            processes: workload.processes.iter().map(process).collect(),
            ..Self::default()
        }
    }

    /// The header as a line of JSON, with its line feed.
    ///
    /// # Errors
    /// None in practice: every field is text, a number or a list of those.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|s| s + "\n")
    }
}
