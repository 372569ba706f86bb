//! What `kernel try` runs on every kernel.

use crate::context::named;
use crate::failure::Failure;
use crate::options;
use numalab_model::experiment::{Axes, Column, Experiment, Param};
use numalab_model::kernel::Setting;

/// Workload, machine and settings, the same on every kernel.
#[derive(Clone, Debug, clap::Args)]
pub struct Request {
    /// Workload to run: a name of the catalog, or a TOML file
    #[arg(long, value_name = "W")]
    workload: String,
    /// Machine of the guests: a name of the catalog, a TOML file, NODESxLLCSxCORESxTHREADS, or `host`
    #[arg(long, value_name = "M", default_value = "4x1x2x1")]
    machine: String,
    /// Number of runs per kernel, with seeds S, S+1, … (see --seed)
    #[arg(
        long,
        value_name = "N",
        value_parser = options::iterations,
        default_value = "1",
        allow_negative_numbers = true
    )]
    iterations: u32,
    /// Seed S of the first run
    #[arg(long, value_name = "S", value_parser = options::seed, default_value = "1", allow_negative_numbers = true)]
    seed: u64,
    /// Override a setting of every kernel. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Set a parameter of the workload to an expression of the machine, such as cpus/2. May be repeated
    #[arg(long, value_name = "NAME=EXPRESSION")]
    param: Vec<String>,
}

impl Request {
    /// The experiment that runs it on these columns. The first one is the baseline.
    ///
    /// # Errors
    /// A setting or parameter without a value, or what [`Experiment::check`] refuses.
    pub fn experiment(&self, name: &str, title: String, columns: Vec<Column>) -> Result<Experiment, Failure> {
        let sets = self.set.iter().map(|s| Setting::from_argument("--set", s)).collect::<Result<_, _>>()?;
        let param =
            |text: &String| Setting::from_argument("--param", text).map(|setting| Param { workload: None, setting });
        let experiment = Experiment {
            name: name.into(),
            title,
            about: String::new(),
            machines: vec![named("--machine", &self.machine)],
            kernels: Vec::new(),
            workloads: vec![named("--workload", &self.workload)],
            baseline: None,
            iterations: self.iterations,
            seed: self.seed,
            sets,
            params: self.param.iter().map(param).collect::<Result<_, _>>()?,
            axes: Axes { columns, ..Axes::default() },
        };
        experiment.check()?;
        Ok(experiment)
    }
}

/// A column of a kernel or an image, as `option` asked for it.
pub fn column(option: &str, name: &str, kernel: &str, sets: Vec<Setting>) -> Column {
    let (name, kernel) = (named(option, name), named(option, kernel));
    Column { name, kernel, sets, numactl: None, instances: None, params: Vec::new() }
}
