//! The machines that a page draws.

use crate::context::{named, Context};
use crate::failure::{note, Failure};
use crate::records::Run;
use crate::sources;
use numalab_model::machine::Machine;
use numalab_model::plan::of_machine;
use numalab_model::record::{Store, SOURCES};

/// The machines of the runs, each once: from the given files, the catalog, or the files that a record was made from. A
/// machine that none of them has as it was at the run is left out, with a note.
///
/// # Errors
/// A given file that holds no machine.
pub fn machines(context: &Context, store: &Store, runs: &[Run], files: &[String]) -> Result<Vec<Machine>, Failure> {
    let given =
        files.iter().map(|f| sources::machine(context, &named("--machine", f))).collect::<Result<Vec<_>, _>>()?;
    for machine in &given {
        if runs.iter().all(|r| r.plan.machine.sha256 != of_machine(machine)) {
            let text =
                format!("numalab: no run here is of machine {} as --machine gives it; it is not drawn", machine.name);
            note(&text);
        }
    }
    let mut out: Vec<Machine> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for run in runs {
        let plan = &run.plan.machine;
        if seen.contains(&plan.sha256.as_str()) {
            continue;
        }
        seen.push(&plan.sha256);
        let same = |m: &Machine| of_machine(m) == plan.sha256;
        let by_name = |c: &Context| sources::machine(c, &named("machine", &plan.name)).ok().filter(same);
        let kept = || by_name(&Context::new(Some(&store.dir().join(&*run.record).join(SOURCES))).ok()?);
        match given.iter().find(|m| same(m)).cloned().or_else(|| by_name(context)).or_else(kept) {
            Some(m) => out.push(m),
            None => note(&format!(
                "numalab: machine {} is not drawn: neither the catalog nor the record has it as it was at the run; \
                 --machine FILE names it",
                plan.name
            )),
        }
    }
    Ok(out)
}
