//! `kernel try --good REF --bad REF --fail-if BOUND`: the first commit of a tree that is beyond a bound.
//!
//! Every commit is checked out in one folder of the cache, built, booted and measured, and its figures are compared
//! with those of the good commit. A commit that does not build or boot is skipped. Records and the log of `git bisect`
//! stay, so the same command goes on where it was stopped.

use super::request::{column, Request};
use crate::backend::{BackendKind, GuestArgs, Sim};
use crate::context::{named, Context};
use crate::failure::{finding, note, Done, Exit, Failure};
use crate::options;
use crate::records;
use crate::service::carry_out::{carry_out, RunOptions};
use numalab_lab::bisect::{Bisection, Next, Verdict};
use numalab_lab::cache::{sha256, Cache, KERNELS};
use numalab_lab::image::{build, source, ImageSpec};
use numalab_model::files::output;
use numalab_model::record::{Status, Store};
use numalab_report::data::Comparison;
use numalab_report::fail_if::FailIf;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// What is asked.
pub struct Question<'a> {
    /// The user's tree.
    pub tree: &'a Path,
    /// A commit without the change.
    pub good: &'a str,
    /// A later commit with it.
    pub bad: &'a str,
    /// Bounds; a commit beyond one of them is bad.
    pub fail_if: &'a [String],
    /// What runs.
    pub request: &'a Request,
    /// How guests are started.
    pub guest: &'a GuestArgs,
    /// Number of guests at a time, if the user chose it.
    pub jobs: Option<NonZeroUsize>,
    /// Directory of the records, if the user chose it.
    pub out: Option<&'a Path>,
}

/// A bisection on its way.
struct Search<'a> {
    context: &'a Context,
    question: &'a Question<'a>,
    bounds: Vec<FailIf>,
    /// Name of the experiment: the same question has the same one.
    name: String,
    /// Directory of its records.
    directory: PathBuf,
    bisection: Bisection,
    good: String,
}

/// A verdict and what it rests on.
struct Judged {
    verdict: Verdict,
    why: String,
}

/// Number of digits of a commit in names.
const SHORT: usize = 12;

fn short(commit: &str) -> &str {
    commit.get(..SHORT).unwrap_or(commit)
}

/// Finds the first bad commit.
///
/// # Errors
/// A wrong bound or commit; a good commit that is bad or cannot be judged, or a bad one that is not; a guest that this
/// host cannot start.
pub fn run(context: &Context, question: &Question<'_>) -> Result<Done, Failure> {
    let bounds = question.fail_if.iter().map(|b| FailIf::parse(b)).collect::<Result<Vec<_>, _>>()?;
    for (option, revision) in [("--good", question.good), ("--bad", question.bad)] {
        let tree = question.tree.to_path_buf();
        let commit = ImageSpec::Commit { tree, revision: revision.to_string() };
        commit
            .check()
            .map_err(|e| Failure::usage(format!("{option} {revision}: {}; expected {}", e.what, e.expected)))?;
    }
    let of = |revision| source::commit_of(question.tree, revision).map_err(Failure::environment);
    let (good, bad) = (of(question.good)?, of(question.bad)?);
    if good == bad {
        let what = format!("--good and --bad are one commit, {}", short(&good));
        return Err(Failure::usage(format!("{what}; expected a good commit and a later bad one")));
    }
    let tree = question.tree.canonicalize().unwrap_or_else(|_| question.tree.to_path_buf());
    let all = (tree, &good, &bad, question.fail_if, question.request, question.guest);
    let key = &sha256(format!("{all:?}").as_bytes())[..8];
    let cache = Cache::open().map_err(|e| Failure::environment(format!("cache: {e}")))?;
    let kernels = cache.directory(KERNELS).map_err(|e| Failure::environment(format!("cache: {e}")))?;
    let mut wait = || note("waiting for another numalab that carries out the same bisection");
    let _lock =
        cache.lock(&format!("bisect-{key}"), &mut wait).map_err(|e| Failure::environment(format!("cache: {e}")))?;
    let bisection =
        Bisection::open(question.tree, &kernels.join(format!("bisect-{key}"))).map_err(Failure::environment)?;
    let name = format!("bisect-{key}");
    let directory = options::directory(question.out, &format!("{name}{}", question.guest.suffix()));
    let search = Search { context, question, bounds, name, directory, bisection, good };
    search.carry_on(&bad)
}

impl Search<'_> {
    /// Judges both ends unless that was done before, then one commit after the other.
    fn carry_on(&self, bad: &str) -> Result<Done, Failure> {
        let mut next = if self.bisection.is_started() {
            note("going on with the bisection that was stopped");
            self.bisection.next().map_err(Failure::environment)?
        } else {
            self.judge_ends(bad)?;
            self.bisection.start(&self.good, bad).map_err(Failure::usage)?
        };
        while let Next::Test { commit, left } = &next {
            let steps = left.ilog2() + 1;
            let which = self.described(commit);
            note(&format!("bisect: {left} commits left, about {steps} steps: testing {which}"));
            let judged = self.judge(commit)?;
            let word = match judged.verdict {
                Verdict::Good => "is good",
                Verdict::Bad => "is bad",
                Verdict::Skip => "is skipped",
            };
            note(&format!("bisect: {} {word}: {}", short(commit), judged.why));
            next = self.bisection.judge(commit, judged.verdict).map_err(Failure::environment)?;
        }
        self.answer(&next, bad)
    }

    /// Measures the good commit and the bad one: a bisection between commits that do not differ would find anything.
    fn judge_ends(&self, bad: &str) -> Result<(), Failure> {
        for (option, commit) in [("--good", self.good.as_str()), ("--bad", bad)] {
            note(&format!("bisect: {option} is {}", self.described(commit)));
            self.bisection.check_out(commit).map_err(Failure::environment)?;
            let judged = self.judge(commit)?;
            let wanted = if option == "--good" { Verdict::Good } else { Verdict::Bad };
            if judged.verdict != wanted {
                let is = match judged.verdict {
                    Verdict::Good => "is good",
                    Verdict::Bad => "is bad",
                    Verdict::Skip => "cannot be judged",
                };
                let expected = "a good commit and a later bad one, told apart by --fail-if";
                let message = format!("{option} {} {is}: {}; expected {expected}", short(commit), judged.why);
                return Err(Failure { exit: Exit::FINDING, message });
            }
        }
        Ok(())
    }

    /// Builds, boots and measures the commit that is checked out, and compares it with the good one.
    fn judge(&self, commit: &str) -> Result<Judged, Failure> {
        let q = self.question;
        let checkout = ImageSpec::Tree(self.bisection.checkout().to_path_buf()).to_string();
        let title = format!("first bad commit of {}", q.tree.display());
        let columns = vec![column("--tree", short(commit), &checkout, Vec::new())];
        let mut experiment = q.request.experiment(&self.name, title, columns)?;
        experiment.baseline = Some(named("--good", short(&self.good)));
        let with = RunOptions {
            backend: BackendKind::Vm,
            program: None,
            guest: q.guest,
            sim: Sim::default(),
            jobs: q.jobs,
            out: q.out,
        };
        let (store, finished) = match carry_out(self.context, &experiment, with) {
            Err(e) if build::is_failed_build(&e.message) => {
                let first = e.message.lines().take(2).collect::<Vec<_>>().join(" ");
                return Ok(Judged { verdict: Verdict::Skip, why: first });
            }
            done => done?,
        };
        let failed = finished.iter().find_map(|f| match &f.record.outcome.status {
            Status::Failed(why) => Some(why.clone()),
            Status::Completed | Status::Timeout => None,
        });
        if let Some(why) = failed {
            return Ok(Judged { verdict: Verdict::Skip, why });
        }
        let (verdict, why) = self.compare(&store, commit)?;
        Ok(Judged { verdict, why })
    }

    /// The verdict of the bounds on a commit that was measured.
    fn compare(&self, store: &Store, commit: &str) -> Result<(Verdict, String), Failure> {
        let good = short(&self.good);
        let loaded = records::load(self.context, store, Some(good), records::Series::Drop)?;
        verdict(&loaded.comparison, &self.bounds, short(commit), good)
    }

    fn described(&self, commit: &str) -> String {
        self.bisection.describe(commit).unwrap_or_else(|_| short(commit).to_string())
    }

    /// The answer, with the log of git beside the records.
    fn answer(&self, next: &Next, bad: &str) -> Result<Done, Failure> {
        let log = self.bisection.log().map_err(Failure::environment)?;
        let count = |word: &str| log.lines().filter(|l| l.starts_with(&format!("git bisect {word} "))).count();
        let (tested, skipped) = (count("good") + count("bad") + count("skip"), count("skip"));
        let suffix = format!(
            "Tested    {tested} commits, {skipped} skipped, between {} and {}.\n",
            short(&self.good),
            short(bad)
        );
        let commit = match next {
            Next::Found(commit) => commit,
            Next::Undecided(possible) => {
                let list: Vec<String> = possible.iter().map(|c| format!("  {}\n", self.described(c))).collect();
                let text =
                    format!("The first bad commit is one of these; the rest could not be judged:\n{}", list.concat());
                return Ok(Done { text: text + &suffix, exit: Exit::FINDING });
            }
            Next::Test { .. } => return Err(Failure::environment("git bisect has not ended")),
        };
        let mut text = format!("First bad commit: {}\n", self.described(commit));
        let (_, why) = self.compare(&Store::open(&self.directory)?, commit)?;
        text.push_str(&format!("Measured  {why}\n"));
        text.push_str(&suffix);
        let file = self.directory.join("bisect.log");
        match output::replace(&file, log.as_bytes()) {
            Ok(()) => text.push_str(&format!("Log       {} (git bisect replay)\n", file.display())),
            Err(e) => finding(&format!("{}: {e}", file.display())),
        }
        Ok(Done { text, exit: Exit::OK })
    }
}

/// The verdict of bounds on a kernel beside the good one.
fn verdict(c: &Comparison, bounds: &[FailIf], kernel: &str, good: &str) -> Result<(Verdict, String), Failure> {
    let alone = kernel == good;
    for bound in bounds {
        let tested = match bound.check(c) {
            // Alone it has nothing to be compared with, but a metric that does not exist can be told by now.
            Err(e) if alone && !e.what.starts_with("no metric") => continue,
            tested => tested?,
        };
        if let Some(failure) = tested.failures.iter().find(|f| f.kernel == kernel) {
            return Ok((Verdict::Bad, failure.to_string()));
        }
        let of_kernel = format!(" on {kernel}: ");
        if let Some(why) = tested.untested.iter().find(|u| u.contains(&of_kernel)).filter(|_| !alone) {
            return Ok((Verdict::Skip, why.clone()));
        }
    }
    Ok((Verdict::Good, "every bound holds".to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_report::data::{Kernel, Metric, Workload};

    fn comparison(means: &[f64]) -> Comparison {
        let samples = means.iter().map(|m| vec![*m]).collect();
        let w = Workload {
            name: "w".into(),
            metrics: vec![Metric::new("elapsed", "s", false, samples)],
            ..Workload::default()
        };
        let kernels =
            ["good", "a", "b"].iter().take(means.len()).map(|n| Kernel { name: (*n).into(), ..Kernel::default() });
        Comparison { kernels: kernels.collect(), workloads: vec![w], ..Comparison::default() }
    }

    #[test]
    fn a_commit_is_judged_by_its_own_figures_beside_the_good_one() {
        let bounds = [FailIf::parse("elapsed > +50%").unwrap()];
        let of = |means: &[f64], kernel: &str| verdict(&comparison(means), &bounds, kernel, "good").unwrap();
        assert_eq!(of(&[10.0], "good").0, Verdict::Good);
        assert_eq!(of(&[10.0, 14.0, 16.0], "a").0, Verdict::Good);
        let (bad, why) = of(&[10.0, 14.0, 16.0], "b");
        assert!(bad == Verdict::Bad && why.contains("+60.00%"), "{why}");
        let unknown = [FailIf::parse("elapsd > +50%").unwrap()];
        let e = verdict(&comparison(&[10.0]), &unknown, "good", "good").unwrap_err();
        assert!(e.message.contains("no metric `elapsd`"), "{}", e.message);
        // A figure of its own is a bound of the good commit too.
        let figure = [FailIf::parse("elapsed > 9 s").unwrap()];
        assert_eq!(verdict(&comparison(&[10.0]), &figure, "good", "good").unwrap().0, Verdict::Bad);
    }
}
