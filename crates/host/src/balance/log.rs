//! What the daemon says: one line for each action, with its reason.

use numalab_base::visible_text::visible;
use serde::Serialize;
use std::io::Write;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// A remark about the machine or the daemon.
    Note {
        /// The remark.
        text: String,
    },
    /// How it is found out which memory is in use; one line for each way that there is.
    Sampler {
        /// Name of the way.
        name: String,
        /// It is used.
        used: bool,
        /// What it sees, or why it is not used.
        reason: String,
    },
    /// Pages of a process were moved, or would be.
    MovePages {
        /// Process.
        pid: u32,
        /// Its name.
        name: String,
        /// First address of the mapping, hexadecimal.
        mapping: String,
        /// Node of the pages.
        from: u32,
        /// Node they moved to.
        to: u32,
        /// Pages that were to move.
        asked: u64,
        /// Pages that moved; 0 in a dry run.
        moved: u64,
        /// Pages that the kernel refused to move.
        refused: u64,
        /// Why.
        reason: String,
        /// Nothing was done.
        dry_run: bool,
    },
    /// A thread was restricted to the CPUs of a node, or would be.
    MoveTask {
        /// Process.
        pid: u32,
        /// Its name.
        name: String,
        /// Thread.
        tid: u32,
        /// Node that it ran on.
        from: u32,
        /// Node that it runs on now.
        to: u32,
        /// Why.
        reason: String,
        /// Nothing was done.
        dry_run: bool,
    },
    /// Something is left alone from now on.
    Left {
        /// Process.
        pid: u32,
        /// Its name.
        name: String,
        /// First address of the mapping, hexadecimal; absent for threads.
        mapping: Option<String>,
        /// Pages, or threads.
        count: u64,
        /// Why.
        reason: String,
    },
    /// An affinity was given back, or would be.
    Undo {
        /// Thread.
        tid: u32,
        /// CPUs on which it may run again.
        cpus: String,
        /// Why.
        reason: String,
        /// Nothing was done.
        dry_run: bool,
    },
}

impl Line {
    /// A remark.
    pub fn note(text: impl Into<String>) -> Self {
        Self::Note { text: text.into() }
    }

    /// The line for people.
    pub fn text(&self) -> String {
        let would = |dry: bool, did: &str, would: &str| if dry { format!("would {would}") } else { did.to_string() };
        match self {
            Self::Note { text } => text.clone(),
            Self::Sampler { name, used: true, reason } => format!("sampler {name}: sees {reason}"),
            Self::Sampler { name, used: false, reason } => format!("not sampler {name}: {reason}"),
            Self::MovePages { pid, name, mapping, from, to, asked, moved, refused, reason, dry_run } => {
                let (count, rest) = match (*dry_run, *refused) {
                    (true, _) => (*asked, String::new()),
                    (false, 0) => (*moved, String::new()),
                    (false, refused) => (*moved, format!(" ({refused} refused)")),
                };
                let verb = would(*dry_run, "moved", "move");
                format!("{verb} {count} pages of {name}[{pid}] at {mapping} from node {from} to {to}{rest}: {reason}")
            }
            Self::MoveTask { pid, name, tid, from, to, reason, dry_run } => {
                if from == to {
                    let verb = would(*dry_run, "kept", "keep");
                    return format!("{verb} thread {tid} of {name}[{pid}] on node {to}: {reason}");
                }
                let verb = would(*dry_run, "moved", "move");
                format!("{verb} thread {tid} of {name}[{pid}] from node {from} to {to}: {reason}")
            }
            Self::Left { pid, name, mapping, count, reason } => match mapping {
                Some(at) => format!("left {count} pages of {name}[{pid}] at {at} alone: {reason}"),
                None => format!("left {name}[{pid}] alone, {count} of its threads are {reason}"),
            },
            Self::Undo { tid, cpus, reason, dry_run } => {
                let verb = if *dry_run { "could" } else { "may" };
                format!("thread {tid} {verb} run on CPUs {cpus} again: {reason}")
            }
        }
    }
}

/// Where lines go.
pub struct Log {
    out: Box<dyn Write + Send>,
    json: bool,
}

impl Log {
    /// A log as text, or as JSON, one object per line.
    pub fn new(out: Box<dyn Write + Send>, json: bool) -> Self {
        Self { out, json }
    }
    /// Writes a line. Errors are ignored: the daemon goes on if nobody reads.
    pub fn line(&mut self, line: &Line) {
        let text = match self.json {
            true => serde_json::to_string(line).unwrap_or_default(),
            false => visible(&line.text()),
        };
        let _ = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
    }
}
