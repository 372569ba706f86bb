//! One run, in steps.

use crate::asked::Asked;
use crate::shown;
use numalab_kernel::registry;
use numalab_model::plan::PlanInput;
use numalab_model::record::Outcome;
use numalab_sim::{with_machine_threads, Observers, SimConfig, Stepped};
use serde_json::{json, Value};

/// Most memory that a run may be predicted to need: what is left of the 4 GiB that WebAssembly can address, bytes.
const MOST_BYTES: f64 = 3.0 * 1024.0 * 1024.0 * 1024.0;

/// A run that goes on when it is asked to.
///
/// What it borrows is leaked: an instance of the module holds one run, and its memory goes when the page drops the
/// instance.
pub struct Session {
    input: &'static PlanInput,
    run: Stepped<'static>,
    over: bool,
}

impl Session {
    /// Starts the run of a request. `live` runs keep events for those who look.
    ///
    /// # Errors
    /// A sentence: what the command would say of the request, or why the run cannot be simulated here.
    pub fn start(asked: &Asked, live: bool) -> Result<Self, String> {
        let input: &'static PlanInput = Box::leak(Box::new(asked.plan().map_err(|e| e.to_string())?));
        let cfg = SimConfig::of(&input.kernel).map_err(|e| format!("kernel {}: {e}", input.kernel.name))?;
        let cfg = cfg.with_machine_background(!input.on_quiet_machine());
        let needs = numalab_sim::predict_memory(&input.machine, &input.workload, &cfg).total();
        if needs as f64 > MOST_BYTES {
            let gib = needs as f64 / f64::from(1 << 30);
            let what = format!("the run needs about {gib:.1} GiB of memory and a page has 3");
            return Err(format!("{what}; expected a smaller workload, or the command"));
        }
        let joined = with_machine_threads(&input.machine, &input.workload, &cfg, input.seed);
        let (workload, cfg) = match joined {
            Some((workload, cfg)) => (&*Box::leak(Box::new(workload)), &*Box::leak(Box::new(cfg))),
            None => (&*input.workload, &*Box::leak(Box::new(cfg))),
        };
        let observers = Observers { live, ..Observers::default() };
        let run = Stepped::start(&input.machine, workload, cfg, input.seed, false, observers);
        let run = run.map_err(|e| format!("{}: {e}", label(input)))?;
        Ok(Self { input, run, over: false })
    }

    /// What a page needs to know once: the plan, the machine, and which memory the cells of a look stand for.
    pub fn opening(&self) -> Value {
        json!({
            "id": self.input.id.short(),
            "label": label(self.input),
            "plan": self.input.plan,
            "machine": shown::machine(&self.input.machine),
            "workload": shown::workload(&self.input.workload),
            "layout": shown::layout(self.run.layout()),
            "limit_ns": self.input.workload.limit_ns,
            "words": numalab_sim::log_words(),
        })
    }

    /// Goes on up to the first event at `until_ns` or later. Returns whether the run is over.
    pub fn advance(&mut self, until_ns: u64) -> bool {
        if !self.over {
            self.over = self.run.advance(until_ns);
        }
        self.over
    }

    /// Model time, ns.
    pub fn now_ns(&self) -> u64 {
        self.run.now_ns()
    }

    /// The run as it is.
    pub fn look(&mut self) -> Value {
        shown::look(&self.run.look())
    }

    /// Runs to the end, and returns the outcome that the command would record.
    ///
    /// # Errors
    /// A fault of the simulator.
    pub fn finish(mut self) -> Result<Outcome, String> {
        self.advance(u64::MAX);
        let mut outcome = self.run.finish().map_err(|e| format!("{}: {e}", label(self.input)))?.outcome;
        outcome.tunables = registry::effective(&self.input.kernel);
        Ok(outcome)
    }
}

/// The name of a run in messages: machine, workload, kernel and seed.
fn label(input: &PlanInput) -> String {
    let plan = &input.plan;
    format!("{} {} {} seed {}", plan.machine.name, plan.workload.name, plan.kernel.name, plan.seed)
}
