//! Runs of the user's command.

use super::counters::{self, Of};
use super::metric::{last_number, pipe_through};
use super::nodes::Node;
use super::session::{Measure, Sample};
use super::switch::Switch;
use super::tree::{self, Size};
use super::{Error, Way};
use numalab_worker::sys::{self, RawPolicy};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time between two looks at a running program.
const LOOK: Duration = Duration::from_millis(5);
/// Looks between two measurements of its size.
const SIZE_EVERY: u32 = 40;
/// Bytes of standard error that a message about a failed run quotes at most.
const QUOTED_BYTES: usize = 400;

/// Memory policies of `linux/mempolicy.h`.
const MPOL_BIND: i32 = 2;
const MPOL_INTERLEAVE: i32 = 3;

/// The user's command, with all that a run needs.
#[derive(Debug)]
pub struct CommandRuns {
    /// Program and arguments; at least the program.
    pub line: Vec<String>,
    /// A shell command that prints the score. It reads what the command printed. Without one, the elapsed time is the
    /// score.
    pub metric: Option<String>,
    /// The switch, if this user may turn it.
    pub switch: Option<Switch>,
    /// Nodes that have memory.
    pub nodes: Vec<Node>,
    /// Where `/proc` and `/sys` are.
    pub root: PathBuf,
    /// Largest size of the program so far.
    pub peak: Size,
    /// Start of the session.
    pub start: Instant,
}

impl CommandRuns {
    fn run(&mut self, way: &Way) -> Result<Sample, Error> {
        if let Some(switch) = &mut self.switch {
            switch.set(way)?;
        }
        let (out, errors) = (scratch()?, scratch()?);
        let before = counters::read(&self.root, Of::Children);
        let started = Instant::now();
        let mut child = self.spawn(way, &out, &errors)?;
        if let Some(switch) = &mut self.switch {
            switch.guardian().child_started()?;
        }
        let status = self.wait(&mut child)?;
        let elapsed_s = started.elapsed().as_secs_f64();
        if let Some(switch) = &mut self.switch {
            switch.guardian().child_ended()?;
        }
        let costs = counters::read(&self.root, Of::Children).since(before);
        if !status.success() {
            return Err(failed(&self.line, way, status, errors));
        }
        let score = match &self.metric {
            None => elapsed_s,
            Some(metric) => last_number(metric, &pipe_through(metric, rewound(out)?)?)?,
        };
        Ok(Sample { score, costs })
    }

    /// Starts the command. A child inherits policy and affinity of the thread that starts it, so a thread of its own
    /// does.
    fn spawn(&self, way: &Way, out: &File, errors: &File) -> Result<Child, Error> {
        let (program, args) = self.line.split_first().ok_or_else(|| Error::Program("no command".into()))?;
        let copy = |f: &File| f.try_clone().map_err(|e| Error::Machine(e.to_string()));
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(copy(out)?).stderr(copy(errors)?);
        if let Some(switch) = &self.switch {
            switch.ends_with_session(&mut command)?;
        }
        let start = || {
            self.place(way)?;
            command.spawn().map_err(|e| Error::Program(format!("{program}: {e}")))
        };
        std::thread::scope(|scope| {
            let ended = scope.spawn(start).join();
            ended.unwrap_or_else(|_| Err(Error::Machine("the thread that starts the command panicked".into())))
        })
    }

    /// Why this machine does not let a program run in this way, as some containers do not; `None` if it does.
    pub fn refusal(&self, way: &Way) -> Option<String> {
        let tried = std::thread::scope(|scope| scope.spawn(|| self.place(way)).join());
        tried.ok()?.err().map(|e| e.to_string())
    }

    /// Sets policy and affinity of the calling thread.
    fn place(&self, way: &Way) -> Result<(), Error> {
        let refused = |e| Error::Machine(format!("set_mempolicy for {}: {e}", way.name()));
        let bit = |id: u32| 1u64.checked_shl(id).unwrap_or(0);
        match way {
            Way::On | Way::Off => Ok(()),
            Way::Interleave => {
                let nodes = self.nodes.iter().fold(0, |mask, n| mask | bit(n.id));
                sys::set_mempolicy(RawPolicy { mode: MPOL_INTERLEAVE, nodes }).map_err(refused)
            }
            Way::Bind(id) => {
                let node = self.nodes.iter().find(|n| n.id == *id);
                let cpus = node.map(|n| n.cpus.as_slice()).unwrap_or_default();
                sys::set_affinity(cpus).map_err(|e| Error::Machine(format!("sched_setaffinity to node {id}: {e}")))?;
                sys::set_mempolicy(RawPolicy { mode: MPOL_BIND, nodes: bit(*id) }).map_err(refused)
            }
        }
    }

    /// Waits for the end, and looks how large the program gets.
    fn wait(&mut self, child: &mut Child) -> Result<ExitStatus, Error> {
        let proc = self.root.join("proc");
        for look in 0u32.. {
            if look % SIZE_EVERY == 1 {
                self.peak = self.peak.max(tree::size(&proc, child.id()));
            }
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => std::thread::sleep(LOOK),
                Err(e) => return Err(Error::Machine(format!("waiting for the command: {e}"))),
            }
        }
        Err(Error::Machine("the command has not ended".into()))
    }
}

impl Measure for CommandRuns {
    fn measure(&mut self, way: &Way) -> Result<Sample, Error> {
        self.run(way)
    }
    fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

fn scratch() -> Result<File, Error> {
    tempfile::tempfile().map_err(|e| Error::Machine(format!("temporary file: {e}")))
}

fn rewound(mut file: File) -> Result<File, Error> {
    file.seek(SeekFrom::Start(0)).map_err(|e| Error::Machine(format!("temporary file: {e}")))?;
    Ok(file)
}

/// The message about a run that failed, with the end of what it printed as errors.
fn failed(line: &[String], way: &Way, status: ExitStatus, errors: File) -> Error {
    let mut bytes = Vec::new();
    let read = rewound(errors).map(|mut f| f.read_to_end(&mut bytes));
    let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(QUOTED_BYTES)..]).trim().replace('\n', " | ");
    let said = if tail.is_empty() || read.is_err() { String::new() } else { format!(": {tail}") };
    Error::Program(format!("`{}` with {}: {status}{said}", line.join(" "), way.name()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn runs(line: &[&str], metric: Option<&str>) -> CommandRuns {
        CommandRuns {
            line: line.iter().map(|s| s.to_string()).collect(),
            metric: metric.map(str::to_string),
            switch: None,
            nodes: vec![Node { id: 0, memory_bytes: 1, free_bytes: 1, cpus: vec![0] }],
            root: "/".into(),
            peak: Size::default(),
            start: Instant::now(),
        }
    }

    #[test]
    fn the_metric_reads_what_the_command_printed() {
        let mut runs = runs(&["sh", "-c", "echo tps = 42.5; echo done"], Some("sed -n 's/tps = //p'"));
        assert_eq!(runs.measure(&Way::On).unwrap().score, 42.5);
    }

    #[test]
    fn the_program_gets_policy_and_affinity_and_this_thread_keeps_its_own() {
        let policy = "awk 'NR == 1 { print ($2 ~ /^bind/) ? 1 : ($2 ~ /^interleave/) ? 2 : 3 }' /proc/self/numa_maps";
        let of = |way| runs(&["sh", "-c", policy], Some("cat")).measure(&way).unwrap().score;
        assert_eq!([of(Way::On), of(Way::Interleave), of(Way::Bind(0)), of(Way::Off)], [3.0, 2.0, 1.0, 3.0]);
        let mut count = runs(&["nproc"], Some("cat"));
        assert_eq!(count.measure(&Way::Bind(0)).unwrap().score, 1.0);
    }

    #[test]
    fn a_failed_run_says_what_it_printed() {
        let e = runs(&["sh", "-c", "echo no disk >&2; exit 7"], None).measure(&Way::Off).unwrap_err().to_string();
        assert!(e.contains("with off") && e.contains('7') && e.contains("no disk"), "{e}");
        let e = runs(&["/absent/program"], None).measure(&Way::Off).unwrap_err().to_string();
        assert!(e.contains("/absent/program"), "{e}");
    }
}
