//! A workload file as parsed: names are resolved to indices and expressions are parsed, but nothing is evaluated.

use super::pattern::PatternSpec;
use super::{ForkPoint, Histogram, HugeAdvice, IoDirection, PolicyMode, RegionKind};
use crate::expr::Formula;
use crate::spec::Spot;
use std::sync::Arc;

/// A parsed workload file, independent of any machine. [`super::parse`] makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) aliases: Vec<String>,
    pub(super) about: String,
    pub(super) source: String,
    pub(super) limit: Option<Formula>,
    pub(super) params: Vec<ParamSpec>,
    pub(super) requires: Vec<Require>,
    pub(super) policies: Vec<PolicySpec>,
    pub(super) barriers: Vec<Family>,
    pub(super) channels: Vec<Family>,
    pub(super) scores: Vec<ScoreSpec>,
    pub(super) processes: Vec<ProcessSpec>,
    /// File of the histograms that steps draw from, relative to the workload's own.
    pub(super) histograms_file: Option<Spot<String>>,
    /// Its histograms, once they are there.
    pub(super) histograms: Option<Arc<[Histogram]>>,
}

impl WorkloadSpec {
    /// The file of histograms that it names, relative to the workload file. Who has it hands its content to
    /// [`WorkloadSpec::with_histograms`].
    pub fn histograms_file(&self) -> Option<&Spot<String>> {
        self.histograms_file.as_ref()
    }
    /// The histograms that steps draw from; none before [`WorkloadSpec::with_histograms`].
    pub fn histograms(&self) -> &[Histogram] {
        self.histograms.as_deref().unwrap_or_default()
    }
    /// With the histograms of [`WorkloadSpec::histograms_file`].
    #[must_use]
    pub fn with_histograms(self, histograms: Arc<[Histogram]>) -> Self {
        Self { histograms: Some(histograms), ..self }
    }
    /// Catalog name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// One line for people.
    pub fn title(&self) -> &str {
        &self.title
    }
    /// Other words for it, for suggestions.
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }
    /// Prose: what it measures, and when it is adverse.
    pub fn about(&self) -> &str {
        &self.about
    }
    /// Where its figures come from.
    pub fn source(&self) -> &str {
        &self.source
    }
    /// Its parameters, in order of declaration.
    pub fn params(&self) -> &[ParamSpec] {
        &self.params
    }
    /// Names and units of its scores: (name, unit, higher is better).
    pub fn scores(&self) -> impl Iterator<Item = (&str, &str, bool)> {
        self.scores.iter().map(|s| (s.family.name.value.as_str(), s.unit.as_str(), s.higher_is_better))
    }
    /// Names of its scores with their places, for checks that need names this crate does not know.
    pub fn score_names(&self) -> impl Iterator<Item = &Spot<String>> {
        self.scores.iter().map(|s| &s.family.name)
    }
}

/// A parameter of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSpec {
    /// Name, as used in expressions and overrides.
    pub name: String,
    /// One line about it; empty if the file gives none.
    pub about: String,
    pub(super) default: Formula,
}

impl ParamSpec {
    /// The default as written: an expression of the machine and of earlier parameters.
    pub fn default_text(&self) -> &str {
        self.default.text()
    }
}

/// A condition the machine must meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Require {
    pub that: Formula,
    pub because: String,
}

/// A list of whole numbers: single expressions and inclusive ranges.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    pub items: Vec<ListItem>,
    pub spot: Spot<String>,
}

/// One entry of a [`List`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ListItem {
    One(Formula),
    Range { from: Formula, to: Formula, by: Option<Formula> },
}

/// A name that stands for one thing or, with `over`, for one thing per number of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    pub name: Spot<String>,
    pub over: Option<List>,
    /// Barriers only: busy-wait.
    pub spin: bool,
    /// Channels only: no message, only a wake-up.
    pub futex: bool,
}

/// A use of a family: the index of the family among those of its kind, and the member.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ref {
    pub index: usize,
    pub at: Option<Formula>,
    pub spot: Spot<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoreSpec {
    pub family: Family,
    pub unit: String,
    pub higher_is_better: bool,
    pub per_second: bool,
    pub best: bool,
    pub latency: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PolicySpec {
    pub name: Spot<String>,
    pub mode: PolicyMode,
    /// `None` = every node that has memory.
    pub nodes: Option<List>,
    pub weights: Vec<Formula>,
    pub numa_balancing: bool,
    /// Whether the policy depends on the number of the thread.
    pub per_thread: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct RegionSpec {
    pub family: Family,
    /// The region is mapped only where this condition holds.
    pub when: Option<Formula>,
    pub kind: RegionKind,
    pub size: Formula,
    pub misalign: Option<Formula>,
    pub advice: HugeAdvice,
    pub policy: Option<usize>,
    pub huge_policy: Option<usize>,
    /// Time of a second-level fault, where the region is the memory of a virtual machine.
    pub second_level_fault: Option<Formula>,
    /// Its pages are pinned for good (`FOLL_LONGTERM`).
    pub pinned: Option<Spot<bool>>,
    /// What each node sets aside for it, if its pages are hugetlb pages.
    pub pool: Option<Formula>,
}

/// A region as seen from a process entry: (process entry, region of that entry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RegionId {
    pub process: usize,
    pub region: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProcessSpec {
    pub name: Spot<String>,
    pub count: Option<Formula>,
    /// The process entry that it is forked from, and which instance of that entry.
    pub parent: Option<(usize, Option<Formula>)>,
    /// Instances after the first are forked from the first.
    pub forked_from_first: bool,
    pub fork: ForkPoint,
    pub policy: Option<usize>,
    pub cpuset: Option<CpusetSpec>,
    /// `cpu.weight` of the control group that its instances and their children are in.
    pub cpu_weight: Option<Formula>,
    pub regions: Vec<RegionSpec>,
    /// Regions that its steps can name, inherited ones first.
    pub visible: Vec<RegionId>,
    pub prologue: Vec<Step>,
    /// Whether the initial thread is the first thread of the first group; otherwise it only waits.
    pub initial_works: bool,
    pub groups: Vec<Group>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// Number of threads; one if absent.
    pub threads: Option<Formula>,
    pub affinity: Option<Affinity>,
    pub phases: Vec<Step>,
    /// Whether the steps, or the policies that they set, depend on the number of the thread.
    pub per_thread: bool,
}

/// CPUs that a thread may use, as a list of CPUs or of larger units.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Affinity {
    pub unit: AffinityUnit,
    pub list: List,
    /// Whether it depends on the thread's number.
    pub per_thread: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AffinityUnit {
    Cpus,
    Cores,
    Llcs,
    Nodes,
    Sockets,
}

/// CPUs and memory nodes that a process may use at all; an absent list sets no limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CpusetSpec {
    pub cpus: Option<Affinity>,
    pub mems: Option<List>,
}

/// One step: modifiers around a verb. They apply from the outside in: `for`, `let`, `when`, `policy`, `timed`, `count`
/// or `time`, `request`, and the verb.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub spot: Spot<()>,
    pub each: Option<(String, List)>,
    pub lets: Vec<(String, Formula)>,
    pub when: Option<Formula>,
    pub policy: Option<usize>,
    pub timed: Option<Ref>,
    /// The latency whose request the step is.
    pub request: Option<Ref>,
    pub bound: StepBound,
    pub verb: Verb,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum StepBound {
    Once,
    Count(Formula),
    Time(Formula),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verb {
    Access(Box<AccessSpec>),
    Compute(Formula),
    Sleep { mean: Formula, exponential: bool },
    Barrier(Ref),
    Signal(Ref),
    Wait(Ref),
    Discard(SpanSpec),
    DirectIo(Box<DirectIoSpec>),
    MovePages { span: SpanSpec, to: List },
    Read { span: SpanSpec, into: SpanSpec, bytes: Option<Formula> },
    Score { score: Ref, amount: Option<Formula> },
    Steps(Vec<Step>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanSpec {
    pub region: RegionId,
    pub at: Option<Formula>,
    pub slice: Slice,
    pub spot: Spot<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slice {
    Whole,
    Thread,
    Explicit { offset: Option<Formula>, len: Option<Formula> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct AccessSpec {
    pub span: SpanSpec,
    pub pattern: PatternSpec,
    pub write: Option<Formula>,
    pub cost: Option<Formula>,
    /// The score that the access counts to, and how many bytes make one unit of it.
    pub counts: Option<(Ref, Option<Formula>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct DirectIoSpec {
    pub span: SpanSpec,
    pub direction: IoDirection,
    pub random: bool,
    /// Bytes of each transfer.
    pub bytes: Option<Formula>,
    /// Number of transfers; those of one pass if absent.
    pub ios: Option<Formula>,
    /// Time of each transfer on the device.
    pub latency: Formula,
}
