//! `numalab repeat`: repeat a simulated run from the files that its record keeps, and compare the outcomes.
//!
//! Problem: a figure must be reproducible, but the files of machines and workloads change.
//! Approach: a record keeps the files it was made from in the layout of a catalog ([`SOURCES`]). They are laid over the
//! built-in catalog. The plan is resolved again, simulated, and its outcome is compared with the record's.
//! Invariant: nothing is written.

use crate::backend::guest_model::{self, AsGuest, CALIBRATED};
use crate::backend::Sim;
use crate::context::{named, Context};
use crate::execute::Backend as _;
use crate::failure::{Done, Exit, Failure};
use crate::progress::Progress;
use crate::records::{self, Pick};
use crate::run_label::run_label;
use crate::sources::CatalogSources;
use numalab_model::experiment::{Axes, Column, Experiment, Instances, Named, Numactl, Param};
use numalab_model::kernel::{Setting, OVERRIDE};
use numalab_model::plan::{
    KernelPlan, Plan, PlanInput, END, EXACT, INSTANCES, MACHINE, NUMACTL, PAGES, PARAMS, QUIET, SETTLED, WORKLOAD,
};
use numalab_model::record::{Outcome, Record, SOURCES};
use numalab_model::spec::SpecError;
use serde_json::json;

/// Arguments of `repeat`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: Pick,
    /// Verify the simulator's invariants in every second of model time and at the end
    #[arg(long)]
    check: bool,
    /// Print the differences as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Name of the condition of a plan that says which policy in Python made decisions (`python/numalab/policy.py`).
const POLICY: &str = "policy";

/// Repeats a simulated run and prints in what its outcome differs from the record.
///
/// # Errors
/// A missing record, a record of a real kernel, or a record whose sources no longer give its plan.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let record = records::find(&args.run)?;
    let place = record.path.display().to_string();
    let plan = &record.manifest.plan;
    let known =
        |c: &(String, String)| [END, INSTANCES, MACHINE, NUMACTL, PAGES, PARAMS, WORKLOAD].contains(&c.0.as_str());
    let sim = simulator(&record, args.check);
    let of_guest = sim.conditions();
    if plan.backend != "sim" || !plan.conditions.iter().all(|c| known(c) || of_guest.contains(c)) {
        let by_python = plan.conditions.iter().any(|(name, _)| name == POLICY);
        let what = match plan.backend.as_str() {
            "sim" if by_python => "a run with a policy in Python, which only `numalab.run` can make".to_string(),
            "sim" => "a run of `numalab validate`, on a machine that a guest was measured for".to_string(),
            other => format!("a run of backend `{other}`"),
        };
        return Err(SpecError::plain(&place, what, "a simulated run of an experiment").into());
    }
    let input = resolve(&record, &sim)?;
    let parts = changed(plan, &input.plan);
    if let Some(part) = parts.iter().find(|p| **p != "version") {
        let what = format!("the {part} that its sources give now is not the plan's");
        return Err(SpecError::plain(&place, what, "a record of a version that reads these files alike").into());
    }
    let again = sim.run(&input, &Progress::new(1).start(&input))?.outcome;
    let differences = differences(&record.outcome, &again);
    let exit = if differences.is_empty() { Exit::OK } else { Exit::FINDING };
    let what = run_label(&input.plan);
    let text = if args.json {
        let rows: Vec<_> =
            differences.iter().map(|(name, a, b)| json!({"name": name, "record": a, "now": b})).collect();
        let form = json!({"run": what, "record": record.manifest.id, "version": plan.version,
            "version_now": input.plan.version, "identical": rows.is_empty(), "differences": rows});
        Done::json(&form)?.text
    } else {
        table(&what, (&plan.version, &input.plan.version), &differences)
    };
    Ok(Done { text, exit })
}

/// The simulator that made a plan: of the machine, or of a guest (`--as-guest`). The machine of a run of `validate` is
/// in no file.
fn simulator(record: &Record, check: bool) -> Sim {
    let plan = &record.manifest.plan;
    let is_calibrated = record.path.join(SOURCES).join(CALIBRATED).exists();
    let of = |who: AsGuest| Sim { check, ..Sim::in_guest(who.harness()) };
    let guests = [AsGuest::Program, AsGuest::Worker].map(of);
    let is_in = |sim: &Sim| sim.conditions().iter().all(|c| plan.conditions.contains(c));
    let in_guest = guests.into_iter().find(|sim| is_in(sim) && !is_calibrated);
    in_guest.unwrap_or(Sim { check, ..Sim::default() })
}

/// The plan of a record, resolved from its own sources.
fn resolve(record: &Record, sim: &Sim) -> Result<PlanInput, Failure> {
    let plan = &record.manifest.plan;
    let sources = record.path.join(SOURCES);
    if !sources.is_dir() {
        let expected = "a record of version 0.8.0 or later";
        return Err(SpecError::plain(&record.path.display().to_string(), "it has no sources", expected).into());
    }
    let mut context = Context::new(Some(&sources))?;
    context.catalog = context.catalog.sealed();
    let sets = overrides(&plan.kernel)?;
    let condition = |name: &str| plan.conditions.iter().find(|c| c.0 == name).map(|c| c.1.as_str());
    let kernel = plan.kernel.chain.first().unwrap_or(&plan.kernel.name);
    let numactl = condition(NUMACTL).map(|text| Numactl::parse(named("repeat", text))).transpose()?;
    let instances = condition(INSTANCES).map(|text| Instances::parse(named("repeat", text))).transpose()?;
    let of_column = condition(PARAMS).map_or(Ok(Vec::new()), |text| {
        text.split("; ").map(|s| Setting::from_argument("--param", s)).collect::<Result<Vec<_>, _>>()
    })?;
    let (name, kernel) = (named("repeat", &plan.kernel.name), named("repeat", kernel));
    let own = Column { name, kernel, sets: Vec::new(), numactl, instances, params: of_column };
    let renamed =
        condition(WORKLOAD).map(|of| Named { name: named("repeat", &plan.workload.name), of: named("repeat", of) });
    let quiet_machine = condition(MACHINE) == Some(QUIET);
    let until_settled = Some(condition(END) == Some(SETTLED));
    let exact = condition(PAGES) == Some(EXACT);
    let workloads = renamed.into_iter().collect();
    let axes = Axes { columns: vec![own], workloads, quiet_machine, until_settled, exact, ..Axes::default() };
    let param = |(name, value): &(String, String)| {
        let setting = Setting::from_argument("--param", &format!("{name}={value}"))?;
        Ok(Param { workload: None, setting })
    };
    let params: Result<Vec<Param>, SpecError> = plan.workload.params.iter().map(param).collect();
    let experiment = Experiment {
        name: "repeat".into(),
        title: String::new(),
        about: String::new(),
        machines: vec![named("repeat", &plan.machine.name)],
        kernels: Vec::new(),
        workloads: vec![named("repeat", &plan.workload.name)],
        baseline: None,
        iterations: 1,
        seed: plan.seed,
        sets,
        params: params?,
        axes,
    };
    let sources = CatalogSources::new(&context, &experiment.workload_sources())?;
    let mut cells = experiment.cells(&sources, sim.name())?;
    let cell = cells.pop().ok_or_else(|| Failure::usage("repeat: the record names no run".to_string()))?;
    Ok(if sim.background > 0 { guest_model::in_guest(cell, sim)?.input } else { cell.input })
}

/// The overrides of a kernel: the roles and tunables that it has from `--set` or from the settings of an experiment.
fn overrides(kernel: &KernelPlan) -> Result<Vec<Setting>, SpecError> {
    let roles = kernel.roles.iter().map(|r| (&r.role, &r.implementation, &r.origin));
    let tunables = kernel.tunables.iter().map(|t| (&t.name, &t.value, &t.origin));
    let set = roles.chain(tunables).filter(|s| s.2 == OVERRIDE);
    set.map(|(name, value, _)| Setting::from_argument("--set", &format!("{name}={value}"))).collect()
}

/// The parts in which two plans differ.
fn changed(then: &Plan, now: &Plan) -> Vec<&'static str> {
    let parts = [
        ("version", then.version != now.version),
        ("machine", then.machine.sha256 != now.machine.sha256),
        ("kernel", then.kernel.roles != now.kernel.roles || then.kernel.tunables != now.kernel.tunables),
        ("workload", then.workload.sha256 != now.workload.sha256),
    ];
    parts.into_iter().filter(|p| p.1).map(|p| p.0).collect()
}

/// The name of a figure, its value in the record, and its value now.
type Difference = (String, String, String);

/// The differences between two outcomes of a plan: in status, scores, counters, reasons and time series.
fn differences(then: &Outcome, now: &Outcome) -> Vec<Difference> {
    let mut out = Vec::new();
    let mut differ = |name: &str, a: String, b: String| {
        if a != b {
            out.push((name.to_string(), a, b));
        }
    };
    differ("status", format!("{:?}", then.status), format!("{:?}", now.status));
    let absent = || "absent".to_string();
    for a in &then.scalars {
        let b = now.scalars.iter().find(|b| b.name == a.name);
        differ(&a.name, a.value.to_string(), b.map_or_else(absent, |b| b.value.to_string()));
    }
    for (then, now) in [(&then.counters, &now.counters), (&then.reasons, &now.reasons)] {
        for (name, a) in then {
            let b = now.iter().find(|b| b.0 == *name);
            differ(name, a.to_string(), b.map_or_else(absent, |b| b.1.to_string()));
        }
        for (name, b) in now.iter().filter(|b| !then.iter().any(|a| a.0 == b.0)) {
            differ(name, absent(), b.to_string());
        }
    }
    for a in &then.series {
        let same = now.series.iter().any(|b| b == a);
        differ(
            &format!("series {}", a.name),
            "as recorded".into(),
            if same { "as recorded" } else { "another" }.into(),
        );
    }
    out
}

/// The differences as text.
fn table(what: &str, (then, now): (&str, &str), differences: &[Difference]) -> String {
    let versions = if then == now { format!("version {now}") } else { format!("version {then}, now {now}") };
    if differences.is_empty() {
        return format!("{what}: identical ({versions})\n");
    }
    let mut out = format!("{what}: {} figures differ ({versions})\n", differences.len());
    out += &format!("{:<32}{:>24}{:>24}\n", "", "record", "now");
    for (name, a, b) in differences {
        out += &format!("{name:<32}{a:>24}{b:>24}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_those_that_no_file_has_set() {
        let context = Context::new(None).unwrap();
        let set = |text: &str| Setting::from_argument("--set", text).unwrap();
        let sets = [set("scan.scan_size_mb=512"), set("vma_filter=v612")];
        let kernel = &crate::sources::kernels(&context, &[named("t", "6.3")], &sets).unwrap()[0];
        let plan = KernelPlan {
            name: kernel.name.clone(),
            alias_of: None,
            image: None,
            chain: kernel.chain.clone(),
            roles: kernel.roles.clone(),
            tunables: kernel.tunables.clone(),
            warnings: Vec::new(),
        };
        let found: Vec<_> = overrides(&plan).unwrap().into_iter().map(|s| (s.name.value, s.value)).collect();
        let want = [("vma_filter", "v612"), ("scan.scan_size_mb", "512")];
        assert_eq!(found, want.map(|(name, value)| (name.to_string(), value.to_string())));
    }

    #[test]
    fn every_kind_of_difference_is_named() {
        let then = Outcome { counters: vec![("pgfault".into(), 1)], ..Outcome::default() };
        let now = Outcome { counters: vec![("pgfault".into(), 2), ("new".into(), 3)], ..Outcome::default() };
        let found = differences(&then, &now);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], ("pgfault".into(), "1".into(), "2".into()));
        assert_eq!(found[1], ("new".into(), "absent".into(), "3".into()));
        assert_eq!(differences(&now, &now), vec![]);
    }
}
