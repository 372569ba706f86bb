//! The page of an experiment: its records as one self-contained file of HTML.

mod machines;
mod workload_line;

use crate::context::Context;
use crate::failure::Failure;
use crate::output_file;
use crate::records::{self, Loaded, Run, Series};
use crate::service::entries;
use numalab_model::catalog::Kind;
use numalab_model::kernel::RoleChoice;
use numalab_model::kernel::OVERRIDE;
use numalab_model::plan::{KernelPlan, Plan, INSTANCES, NUMACTL};
use numalab_model::record::{Status, Store};
use numalab_report::html::{self, Input, Setting};
use numalab_report::order::unique;
use numalab_report::origin::{made_by, Origin};
use numalab_report::StarRule;
use std::path::{Path, PathBuf};

/// Writes the page of an experiment into its directory, and returns its path.
///
/// # Errors
/// The directory has no experiment; a damaged record; a file that cannot be written.
pub fn write_into(context: &Context, dir: &Path) -> Result<PathBuf, Failure> {
    let store = Store::open(dir)?;
    write_page(context, &store, &records::load(context, &store, None, Series::Keep)?)
}

/// Writes the page of records that were read with their series, and returns its path.
///
/// # Errors
/// An error of the file system, or a file of another kind in its place.
pub fn write_page(context: &Context, store: &Store, loaded: &Loaded) -> Result<PathBuf, Failure> {
    let out = store.dir().join("report.html");
    output_file::write(&out, &page(context, store, loaded, StarRule::default(), &[])?)?;
    Ok(out)
}

/// The page as HTML. Machines that the catalog lacks are read from `files`.
///
/// # Errors
/// A file of a machine that cannot be read or describes none.
pub fn page(
    context: &Context,
    store: &Store,
    loaded: &Loaded,
    rule: StarRule,
    files: &[String],
) -> Result<String, Failure> {
    let plans = plans(&loaded.runs);
    let machines = machines::machines(context, store, &loaded.runs, files)?;
    let runs = loaded.runs.iter().filter_map(|r| {
        let outcome = r.drawn.as_deref()?;
        Some(html::Run { workload: r.workload, kernel: r.kernel, seed: r.seed, outcome })
    });
    let mut not_drawn = vec![0; loaded.comparison.workloads.len()];
    loaded.runs.iter().filter(|r| r.drawn.is_none()).for_each(|r| not_drawn[r.workload] += 1);
    let kernels = 0..loaded.comparison.kernels.len();
    let plan_of = |k: usize| loaded.runs.iter().find(|r| r.kernel == k).map(|r| &*r.plan);
    Ok(html::render(&Input {
        rule,
        facts: loaded.comparison.origin.as_ref().map_or_else(Vec::new, |o| facts(loaded, o, &plans)),
        machines: machines.iter().collect(),
        runs: runs.collect(),
        not_drawn,
        about_kernels: kernels
            .clone()
            .map(|k| plan_of(k).map_or_else(String::new, |p| about_kernel(context, p)))
            .collect(),
        about_workloads: loaded
            .comparison
            .workloads
            .iter()
            .map(|w| about(context, Kind::Workload, w.program()))
            .collect(),
        settings: kernels.map(|k| plan_of(k).map_or_else(Vec::new, |p| settings(context, &p.kernel))).collect(),
        ..Input::new(&title(store), &loaded.comparison)
    }))
}

/// The plans of runs. Of runs that share one, it comes once.
fn plans(runs: &[Run]) -> Vec<&Plan> {
    let mut out: Vec<&Plan> = Vec::new();
    for run in runs {
        if out.last().is_none_or(|last| !std::ptr::eq(*last, &*run.plan)) {
            out.push(&run.plan);
        }
    }
    out
}

/// The title of the page.
fn title(store: &Store) -> String {
    let file = store.file();
    if file.title.is_empty() {
        file.name.clone()
    } else {
        format!("{}: {}", file.name, file.title)
    }
}

/// The facts at the head of the page: what was run, where, and how often.
fn facts(loaded: &Loaded, origin: &Origin, plans: &[&Plan]) -> Vec<(String, String)> {
    let every = |of: &dyn Fn(&Plan) -> String| unique(plans.iter().map(|p| of(p))).join(", ");
    let backend = |p: &Plan| match p.backend.as_str() {
        "sim" => "sim: a model's predictions, not measurements".to_string(),
        "vm" => "vm: real kernels under emulation; times are not real".to_string(),
        other => other.to_string(),
    };
    let fact = |name: &str, value: String| (name.to_string(), value);
    let mut all = vec![
        fact("Backend", every(&backend)),
        fact("Machine", every(&|p| p.machine.name.clone())),
        fact("Workload", workload_line::workload_line(plans)),
        fact("Runs", runs(loaded)),
        fact("Seeds", origin.seed_list()),
        fact("Version", every(&|p| made_by(&p.backend, &p.version))),
    ];
    // Facts that are read from records are unknown without one.
    all.retain(|(_, value)| !value.is_empty());
    all
}

/// How many runs have a record, such as `4 of 4`, and how many of them completed.
fn runs(loaded: &Loaded) -> String {
    let recorded = loaded.runs.len();
    let all = recorded + loaded.missing;
    match loaded.runs.iter().filter(|r| r.status == Status::Completed).count() {
        n if n == recorded => format!("{recorded} of {all}"),
        0 => format!("{recorded} of {all}, none of them completed"),
        n => format!("{recorded} of {all}, {n} of them completed"),
    }
}

/// The title of a file of the catalog; empty if it has none of this name.
fn about(context: &Context, kind: Kind, name: &str) -> String {
    entries::title(context, kind, name).unwrap_or_default()
}

/// What a column is: the title of its kernel, if it goes by the kernel's name. A column of another name is not that
/// kernel, but the kernel with settings, or started in some way.
fn about_kernel(context: &Context, plan: &Plan) -> String {
    let kernel = &plan.kernel;
    // A column may have the name of another kernel.
    let named = kernel.chain.first() == Some(&kernel.name);
    let own = [Some(&kernel.name), kernel.alias_of.as_ref()].into_iter().flatten().filter(|_| named);
    let title = own.map(|name| about(context, Kind::Kernel, name)).find(|title| !title.is_empty());
    if let Some(title) = title {
        return title;
    }
    let Some(made_of) = kernel.chain.iter().find(|name| !about(context, Kind::Kernel, name).is_empty()) else {
        return String::new();
    };
    let roles =
        kernel.roles.iter().filter(|r| r.origin == OVERRIDE).map(|r| format!("{}={}", r.role, r.implementation));
    let tunables = kernel.tunables.iter().filter(|t| t.origin == OVERRIDE).map(|t| format!("{}={}", t.name, t.value));
    let start = plan.conditions.iter().filter(|c| c.0 == NUMACTL).map(|c| format!("numactl {}", c.1));
    let several = plan.conditions.iter().filter(|c| c.0 == INSTANCES).map(|c| format!("instances = {}", c.1));
    let with: Vec<String> = roles.chain(tunables).chain(start).chain(several).collect();
    match with.as_slice() {
        // A kernel in a file of one's own.
        [] if named => format!("made of {made_of}, {}", about(context, Kind::Kernel, made_of)),
        [] => format!("{made_of}, {}", about(context, Kind::Kernel, made_of)),
        with => format!("{made_of} with {}", with.join(", ")),
    }
}

/// The switch of NUMA balancing.
const SWITCH: &str = "system.numa_balancing";
/// Roles that nothing asks while NUMA balancing is switched off.
const BALANCING: [&str; 6] = ["scan", "vma_filter", "page_filter", "fault_stats", "page_migrate", "task_migrate"];

/// Roles, then tunables, with their descriptions.
fn settings(context: &Context, kernel: &KernelPlan) -> Vec<Setting> {
    let v = &context.vocabulary;
    let off = kernel.tunables.iter().any(|t| t.name == SWITCH && t.value == "0");
    let role = |name: &str| v.roles.iter().find(|r| r.name == name);
    let meaning = |r: &RoleChoice| {
        let known = role(&r.role)?.implementations.iter().find(|i| i.name == r.implementation)?;
        Some(known.text().to_string())
    };
    let roles = kernel.roles.iter().map(|r| Setting {
        name: r.role.clone(),
        value: r.implementation.clone(),
        origin: r.origin.clone(),
        doc: role(&r.role).map_or(String::new(), |r| r.doc.to_string()),
        meaning: meaning(r).unwrap_or_default(),
        unread: if off && BALANCING.contains(&r.role.as_str()) { format!("{SWITCH} is 0") } else { String::new() },
        ..Setting::default()
    });
    let tunables = kernel.tunables.iter().map(|t| Setting {
        name: t.name.clone(),
        value: t.value.clone(),
        unit: t.unit.clone(),
        kernel_name: t.kernel_name.clone(),
        origin: t.origin.clone(),
        doc: v.tunables.iter().find(|i| i.name == t.name).map_or(String::new(), |i| i.doc.to_string()),
        unread: unread(context, kernel, &t.name).unwrap_or_default(),
        ..Setting::default()
    });
    roles.chain(tunables).collect()
}

/// Why a kernel never reads a tunable: "system.numa_balancing is 0". `None` if it does.
fn unread(context: &Context, kernel: &KernelPlan, name: &str) -> Option<String> {
    let value = |subject: &str| {
        let tunable = || kernel.tunables.iter().find(|t| t.name == subject).map(|t| &t.value);
        kernel.roles.iter().find(|r| r.role == subject).map(|r| &r.implementation).or_else(tunable)
    };
    context.vocabulary.tunable(name)?.read_when.iter().find_map(|condition| {
        let is = value(condition.subject)?;
        (!condition.needs.met_by(is)).then(|| format!("{} is {is}", condition.subject))
    })
}
