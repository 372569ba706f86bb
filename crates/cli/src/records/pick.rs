//! Choosing one record: by its own directory, or by options among the runs of an experiment.

use crate::failure::{note, Failure};
use numalab_model::record::{self, Record, Store};
use numalab_model::spec::SpecError;
use std::path::{Path, PathBuf};

/// Options that choose one run: the directory of its record, or that of an experiment and what tells its runs apart.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Pick {
    /// Directory of a record, or of an experiment. In an experiment, --kernel, --workload, --machine and --seed choose
    /// one of its runs
    run: PathBuf,
    /// Kernel of the run, if the directory is an experiment's
    #[arg(long, value_name = "K")]
    kernel: Option<String>,
    /// Workload of the run, if the directory is an experiment's
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    /// Machine of the run, if the directory is an experiment's
    #[arg(long, value_name = "M")]
    machine: Option<String>,
    /// Seed of the run, if the directory is an experiment's [default: the first seed of the experiment]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seed: Option<u64>,
}

impl Pick {
    /// The directory.
    pub fn place(&self) -> &Path {
        &self.run
    }
    /// Whether the options allow a run of this machine, workload, kernel and seed.
    fn fits(&self, (machine, workload, kernel, seed): Names<'_>) -> bool {
        let named = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
        let names = named(&self.machine, machine) && named(&self.workload, workload) && named(&self.kernel, kernel);
        names && self.seed.is_none_or(|s| s == seed)
    }
}

/// Machine, workload, kernel and seed of a run.
type Names<'a> = (&'a str, &'a str, &'a str, u64);

fn names_of(m: &record::Member) -> Names<'_> {
    (&m.machine, &m.workload, &m.kernel, m.seed)
}

/// The options that choose this run, for messages.
fn options((machine, workload, kernel, seed): Names<'_>) -> String {
    format!("--kernel {kernel} --workload {workload} --machine {machine} --seed {seed}")
}

/// The message about a run that has no record yet.
fn unfinished(dir: &Path, member: &record::Member) -> String {
    let expected = "a finished run (`numalab run` with the same arguments resumes)";
    format!("{}: run {} has no record yet; expected {expected}", dir.display(), member.record)
}

/// The file that lists the runs of an experiment.
const EXPERIMENT: &str = "experiment.json";

/// Largest number of runs that a message names.
const MAX_NAMED: usize = 8;

/// Reads the record that the options choose. Among runs that differ in nothing but the seed, the first is taken.
///
/// # Errors
/// The directory is neither a record's nor an experiment's; no run fits the options, or several do; a damaged record.
pub fn find(pick: &Pick) -> Result<Record, Failure> {
    choose(pick, &|m| options(names_of(m)))
}

/// Reads the record at a path. The path of an experiment is accepted if its runs differ in nothing but the seed.
///
/// # Errors
/// See [`find`]. Messages name the directories of records, not options.
pub fn at(path: &Path) -> Result<Record, Failure> {
    let pick = Pick { run: path.into(), ..Pick::default() };
    choose(&pick, &|m| format!("a record's directory: {} ({})", path.join(&m.record).display(), options(names_of(m))))
}

/// Whether a directory is that of a record, complete or not.
fn is_record(dir: &Path) -> bool {
    ["manifest.json", "scalars.json"].iter().any(|file| dir.join(file).is_file())
}

/// Reads the chosen record; `shown` describes a run in messages.
fn choose(pick: &Pick, shown: &dyn Fn(&record::Member) -> String) -> Result<Record, Failure> {
    let refused = |what: String, expected: String| -> Failure {
        SpecError::plain(&pick.run.display().to_string(), what, expected).into()
    };
    if is_record(&pick.run) {
        let record = record::read(&pick.run)?;
        let p = &record.manifest.plan;
        let own = (p.machine.name.as_str(), p.workload.name.as_str(), p.kernel.name.as_str(), p.seed);
        let other = || refused("it is not the run that the options name".into(), options(own));
        return if pick.fits(own) { Ok(record) } else { Err(other()) };
    }
    let store = Store::open(&pick.run)?;
    let all: Vec<_> = store.file().runs.iter().collect();
    let mut found: Vec<_> = all.iter().copied().filter(|m| pick.fits(names_of(m))).collect();
    if found.is_empty() {
        found = only_column_of(&store, pick, &all)?;
    }
    let alike = found
        .windows(2)
        .all(|w| (&w[0].kernel, &w[0].workload, &w[0].machine) == (&w[1].kernel, &w[1].workload, &w[1].machine));
    let list = |runs: &[&record::Member]| {
        let more = runs.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(", or one of {more} more ({EXPERIMENT} lists all)") } else { String::new() };
        runs.iter().take(MAX_NAMED).map(|m| shown(m)).collect::<Vec<_>>().join(", or ") + &more
    };
    match found.first() {
        Some(member) if alike => {
            if found.len() > 1 {
                let options = options(names_of(member));
                note(&format!("numalab: of {} seeds the first: {options} ({})", found.len(), member.record));
            }
            store.record(member)?.ok_or_else(|| Failure::usage(unfinished(&pick.run, member)))
        }
        Some(_) => Err(refused(format!("{} runs fit", found.len()), list(&found))),
        None => Err(refused("no run fits".into(), list(&all))),
    }
}

/// The runs of the only column that is made of the kernel that was asked for: `6.12[scan.scan_size_mb=512]` for `6.12`,
/// or a column of another name. Empty if there is none, or several.
fn only_column_of<'a>(
    store: &Store,
    pick: &Pick,
    all: &[&'a record::Member],
) -> Result<Vec<&'a record::Member>, Failure> {
    let Some(wanted) = &pick.kernel else { return Ok(Vec::new()) };
    let any_kernel = Pick { kernel: None, ..pick.clone() };
    let mut found: Vec<&record::Member> = Vec::new();
    for member in all.iter().filter(|m| any_kernel.fits(names_of(m))) {
        let base = member.kernel.split('[').next() == Some(wanted);
        let made_of = || -> Result<bool, Failure> {
            let record = store.record(member)?;
            Ok(record.is_some_and(|r| r.manifest.plan.kernel.chain.first() == Some(wanted)))
        };
        if base || made_of()? {
            found.push(member);
        }
    }
    let one = found.windows(2).all(|w| w[0].kernel == w[1].kernel);
    Ok(if one { found } else { Vec::new() })
}
