//! The names of a request, resolved with the catalog and by the rules of the command (`crates/cli/src/sources.rs`).

use numalab_kernel::mm::thp::Locality;
use numalab_kernel::registry;
use numalab_kernel::sched::{Domains, SchedConfig};
use numalab_model::catalog::{Catalog, Kind};
use numalab_model::counters;
use numalab_model::experiment::Sources;
use numalab_model::kernel::{self, Kernel, Setting, Vocabulary};
use numalab_model::machine::{self, Machine};
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::{self, Workload, WorkloadSpec};
use numalab_report::columns;
use std::sync::Arc;

/// The catalog as the sources of a request.
pub struct PageSources<'a> {
    catalog: &'a Catalog,
    vocabulary: &'a Vocabulary,
    workloads: Vec<(String, WorkloadSpec)>,
}

impl<'a> PageSources<'a> {
    /// Parses the workloads of a request.
    ///
    /// # Errors
    /// A workload that is unknown or invalid, or one of its scores has the name of another figure.
    pub fn new(catalog: &'a Catalog, vocabulary: &'a Vocabulary, names: &[Spot<String>]) -> Result<Self, SpecError> {
        let parsed = |name: &Spot<String>| {
            let file = catalog.find(Kind::Workload, name)?;
            let spec = workload::parse(&file.label, &file.text)?;
            spec.score_names().try_for_each(check_score)?;
            Ok((name.value.clone(), spec))
        };
        Ok(Self { catalog, vocabulary, workloads: names.iter().map(parsed).collect::<Result<_, SpecError>>()? })
    }

    fn spec(&self, name: &Spot<String>) -> Result<&WorkloadSpec, SpecError> {
        let found = self.workloads.iter().find(|w| w.0 == name.value).map(|w| &w.1);
        found.ok_or_else(|| self.catalog.unknown(Kind::Workload, name))
    }
}

/// Refuses a score with the name of a counter or a derived column.
fn check_score(score: &Spot<String>) -> Result<(), SpecError> {
    let name = score.value.as_str();
    let taken = if counters::find(name).is_some() {
        "a counter"
    } else if columns::built_in()?.iter().any(|c| c.name == name) {
        "a derived column"
    } else {
        return Ok(());
    };
    let what = format!("the score `{name}` has the name of {taken} of every report");
    Err(score.error(what, "another name (`numalab counters` lists those that are taken)"))
}

impl Sources for PageSources<'_> {
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError> {
        let names: Vec<&str> = self.catalog.names(Kind::Machine).collect();
        let find = |n: &str| self.catalog.machine_text(n);
        let place = |e: SpecError| match e.file.as_str() {
            "machine" | "command line" if e.line == 0 => SpecError { file: name.file.clone(), ..e },
            _ => e,
        };
        let machine = machine::load(&name.value, &find, &names).map_err(place)?;
        Domains::build(&machine, &SchedConfig::default()).map_err(|e| {
            let (what, expected) = e.parts();
            name.error(format!("{}: {what}", machine.name), expected)
        })?;
        Ok(Arc::new(machine))
    }
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        let kernels = kernel::resolve(names, self.catalog, self.vocabulary, sets)?;
        for (kernel, name) in kernels.iter().zip(names) {
            let thp = registry::mm_config(kernel).thp;
            if thp.locality == Locality::LadderCustom && thp.ladder.is_none() {
                let set = sets.iter().find(|s| s.name.value == "thp_locality").map_or(name, |s| &s.name);
                let what = format!("`thp_locality` of kernel {} is ladder_custom, which has no list", kernel.name);
                return Err(set.error(what, "a list beside it: --set \"thp.ladder=D0 THP | D1 THP | D0 4k\""));
            }
        }
        Ok(kernels)
    }
    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError> {
        Ok(self.spec(workload)?.params().iter().map(|p| p.name.clone()).collect())
    }
    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        seed: u64,
        settings: &[Setting],
    ) -> Result<Workload, SpecError> {
        let params: Vec<(String, String)> = settings.iter().map(|p| (p.name.value.clone(), p.value.clone())).collect();
        self.spec(name)?.resolve(machine, seed, &params).map_err(|e| placed(e, settings))
    }
}

/// Adds to an error about a parameter where the parameter was set.
fn placed(e: SpecError, settings: &[Setting]) -> SpecError {
    let about = |s: &&Setting| e.what.starts_with(&format!("parameter `{}`", s.name.value));
    match settings.iter().find(about).filter(|_| e.file == "command line") {
        Some(Setting { name, .. }) => SpecError { file: name.file.clone(), line: name.line, column: name.column, ..e },
        None => e,
    }
}
