//! A run in steps: whoever calls decides how far it goes, and may look at it on the way.

use crate::engine::carry_out::Engine;
use crate::record;
use crate::sim_config::SimConfig;
use crate::state::log::Observers;
use crate::watched::{look, Layout, Look};
use crate::{Observed, SimError};
use numalab_nouns::machine::Machine;
use numalab_nouns::workload::Workload;

/// A run in steps. Its outcome does not depend on where the steps end, nor on who looks at it.
pub struct Stepped<'a> {
    engine: Engine<'a>,
    check: bool,
    layout: Layout,
}

impl<'a> Stepped<'a> {
    /// Starts a run. The machine's own threads are not added; [`crate::with_machine_threads`] does that.
    ///
    /// # Errors
    /// A machine or a workload that the simulator cannot model.
    pub fn start(
        machine: &'a Machine,
        workload: &'a Workload,
        cfg: &'a SimConfig,
        seed: u64,
        check: bool,
        observers: Observers,
    ) -> Result<Self, SimError> {
        let mut engine = Engine::new(machine, workload, cfg, seed, observers).map_err(SimError::Unsupported)?;
        let check = check || cfg.check_every_ns > 0;
        if check {
            engine.watch_pipes();
        }
        engine.begin();
        let layout = Layout::of(&engine.sim);
        Ok(Self { engine, check, layout })
    }

    /// Goes on up to the first event at `until_ns` of model time or later. Returns whether the run is over.
    pub fn advance(&mut self, until_ns: u64) -> bool {
        self.engine.advance(until_ns)
    }

    /// Model time, ns.
    pub fn now_ns(&self) -> u64 {
        self.engine.sim.now_ns
    }

    /// Which memory the cells of [`Self::look`] stand for.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The run as it is, and what happened since the last look.
    pub fn look(&mut self) -> Look {
        look(&mut self.engine.sim, &self.layout)
    }

    /// Ends a run that is over, and returns its result.
    ///
    /// # Errors
    /// A violated invariant, or a log that could not be written.
    pub fn finish(mut self) -> Result<Observed, SimError> {
        self.engine.end().map_err(SimError::Fault)?;
        if self.check {
            self.engine.check().map_err(SimError::Fault)?;
        }
        let mut sim = self.engine.into_simulation();
        let why = record::log::finish_logs(&mut sim).map_err(|e| SimError::Log(e.to_string()))?;
        let footprint = record::footprint::footprint(&sim);
        Ok(Observed { outcome: record::outcome::outcome(sim), footprint, why })
    }
}
