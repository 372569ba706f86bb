//! Windows of a service that goes on running: the switch is turned, the service settles, and its own metric is read.

use super::counters::{self, Of};
use super::metric::Metric;
use super::session::{Measure, Sample};
use super::switch::Switch;
use super::{Error, Way};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A running service.
#[derive(Debug)]
pub struct ServiceWindows {
    /// The process whose CPU time counts, with its descendants; without one, that of the machine.
    pub pid: Option<u32>,
    /// Its throughput.
    pub metric: Metric,
    /// The switch.
    pub switch: Switch,
    /// Length of a window.
    pub window: Duration,
    /// Time between turning the switch and the begin of the window.
    pub settle: Duration,
    /// Where `/proc` is.
    pub root: PathBuf,
    /// Start of the session.
    pub start: Instant,
}

impl ServiceWindows {
    fn is_there(&self) -> Result<(), Error> {
        let Some(pid) = self.pid else { return Ok(()) };
        if self.root.join(format!("proc/{pid}")).exists() {
            return Ok(());
        }
        Err(Error::Program(format!("process {pid} has ended")))
    }
}

impl Measure for ServiceWindows {
    fn measure(&mut self, way: &Way) -> Result<Sample, Error> {
        let of = self.pid.map_or(Of::Machine, Of::Tree);
        self.is_there()?;
        self.switch.set(way)?;
        std::thread::sleep(self.settle);
        let before = counters::read(&self.root, of);
        let first = if self.metric.may_be_counter() { Some(self.metric.read()?) } else { None };
        let begin = Instant::now();
        std::thread::sleep(self.window);
        let last = self.metric.read()?;
        let seconds = begin.elapsed().as_secs_f64();
        self.is_there()?;
        let score = match first.filter(|_| last.is_counter) {
            Some(first) => (last.value - first.value) / seconds,
            None => last.value,
        };
        Ok(Sample { score, costs: counters::read(&self.root, of).since(before) })
    }
    fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}
