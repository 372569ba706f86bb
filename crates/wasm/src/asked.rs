//! What a page asks for: one run, by the options of `numalab run`.

use crate::sources::PageSources;
use numalab_kernel::registry;
use numalab_model::catalog::{Catalog, Kind};
use numalab_model::experiment::{Axes, Column, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::machine::import;
use numalab_model::plan::{Backend, PlanInput};
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload;
use serde::Deserialize;

/// Name of a pasted machine.
pub const PASTED: &str = "pasted";

/// One run, as `numalab run` takes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Asked {
    /// A machine of the catalog, or NODESxLLCSxCORESxTHREADS.
    pub machine: String,
    /// A machine file, or the output of `numactl -H`, `lscpu` or `lstopo`. It takes the place of `machine`.
    #[serde(default)]
    pub machine_text: Option<String>,
    /// What is compared, at least one: as on a command line, all of it is read before one of it runs.
    pub sides: Vec<Side>,
    /// Which of the sides runs, from 0.
    #[serde(default)]
    pub side: usize,
    /// Overrides of roles and tunables of every side: name and value.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// A workload of the catalog.
    pub workload: String,
    /// A workload file. It takes the place of `workload`.
    #[serde(default)]
    pub workload_text: Option<String>,
    /// Parameters of the workload: name and expression.
    #[serde(default)]
    pub param: Vec<(String, String)>,
    /// Seed.
    #[serde(default = "one")]
    pub seed: u64,
    /// The machine does nothing beside the workload.
    #[serde(default)]
    pub quiet_machine: bool,
}

/// One side of a comparison: a kernel, or a column with settings of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// A kernel of the catalog.
    pub kernel: String,
    /// Name of the column, as in `[[column]]` of an experiment; a kernel has none.
    #[serde(default)]
    pub name: Option<String>,
    /// Overrides of a column.
    #[serde(default)]
    pub set: Vec<(String, String)>,
}

fn one() -> u64 {
    1
}

fn named(option: &str, name: &str) -> Spot<String> {
    Spot { value: name.into(), file: option.into(), line: 0, column: 0 }
}

fn setting(option: &str, (name, value): &(String, String)) -> Result<Setting, SpecError> {
    Setting::from_argument(option, &format!("{name}={value}"))
}

/// Whether a text is a machine file rather than another tool's output.
fn is_machine_file(text: &str) -> bool {
    text.lines().any(|l| l.trim_start().starts_with("[layout]") || l.trim_start().starts_with("extends"))
}

/// Adds a pasted machine to the catalog; returns its name there.
fn paste_machine(catalog: &mut Catalog, text: &str) -> Result<String, SpecError> {
    let file = if is_machine_file(text) { text.to_string() } else { import::text(PASTED, text, PASTED)? };
    let own = file.lines().find_map(|l| l.trim().strip_prefix("name")?.trim().strip_prefix('=')).map(str::trim);
    let name = own.and_then(|n| n.strip_prefix('"')?.split('"').next()).unwrap_or(PASTED).to_string();
    catalog.insert(Kind::Machine, &name, PASTED, &file);
    Ok(name)
}

impl Asked {
    /// The plan of the run, with all that it names resolved.
    ///
    /// # Errors
    /// Those of the command: a wrong name or value, with its place and what was expected.
    pub fn plan(&self) -> Result<PlanInput, SpecError> {
        let mut catalog = Catalog::embedded();
        let machine = match &self.machine_text {
            Some(text) => paste_machine(&mut catalog, text)?,
            None => self.machine.clone(),
        };
        let workload = match &self.workload_text {
            Some(text) => {
                let name = workload::parse("edited", text)?.name().to_string();
                catalog.insert(Kind::Workload, &name, "edited", text);
                name
            }
            None => self.workload.clone(),
        };
        let settings = |option: &'static str, list: &[(String, String)]| {
            list.iter().map(|s| setting(option, s)).collect::<Result<Vec<_>, _>>()
        };
        let params = settings("--param", &self.param)?;
        let (named_sides, plain): (Vec<&Side>, Vec<&Side>) = self.sides.iter().partition(|s| s.name.is_some());
        let column = |s: &&Side| {
            let name = named("column", s.name.as_deref().unwrap_or_default());
            Ok(Column {
                name,
                kernel: named("column", &s.kernel),
                sets: settings("set", &s.set)?,
                numactl: None,
                instances: None,
                params: Vec::new(),
            })
        };
        let columns = named_sides.iter().map(column).collect::<Result<Vec<_>, SpecError>>()?;
        let experiment = Experiment {
            name: format!("{machine}_{workload}"),
            title: String::new(),
            about: String::new(),
            machines: vec![named("--machine", &machine)],
            kernels: plain.iter().map(|s| named("--kernel", &s.kernel)).collect(),
            workloads: vec![named("--workload", &workload)],
            baseline: None,
            iterations: 1,
            seed: self.seed,
            sets: settings("--set", &self.set)?,
            params: params.into_iter().map(|setting| Param { workload: None, setting }).collect(),
            axes: Axes { columns, quiet_machine: self.quiet_machine, ..Axes::default() },
        };
        experiment.check()?;
        let vocabulary = registry::vocabulary();
        let sources = PageSources::new(&catalog, &vocabulary, &experiment.workloads)?;
        let cells = experiment.cells(&sources, Backend { name: "sim", version: numalab_sim::VERSION })?;
        let count = cells.len();
        let cell = cells.into_iter().nth(self.side);
        let none = || SpecError::plain("side", format!("there is no side {}", self.side), format!("below {count}"));
        cell.map(|c| c.input).ok_or_else(none)
    }
}
