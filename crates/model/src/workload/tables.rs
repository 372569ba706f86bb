//! Ids of barriers, channels and scores, and the number of ops, while a workload is resolved.

use super::ast::{Family, PolicySpec, Ref, WorkloadSpec};
use super::families::Members;
use super::Score;
use crate::expr::Env;
use crate::spec::{SpecError, Spot};

/// Most ops that are resolved for a workload, before equal lists are shared.
pub const MAX_OPS: u64 = 4_000_000;

/// Names of the workload with their members and ids, and how many ops are left of [`MAX_OPS`].
pub(super) struct Tables {
    pub policies: Vec<PolicySpec>,
    barriers: Vec<(Members, bool)>,
    channels: Vec<(Members, bool)>,
    scores: Vec<Members>,
    /// Name and place of the first use of each barrier, by id.
    pub barrier_uses: Vec<Spot<String>>,
    /// Name and place of the first use of each channel, by id.
    pub channel_uses: Vec<Spot<String>>,
    /// Ids of the channels that are futexes.
    pub futexes: Vec<u32>,
    ops_left: u64,
    /// Number of histograms, or the file that is not there.
    histograms: Histograms,
}

/// What steps can draw from.
enum Histograms {
    /// The workload names no file.
    Unnamed,
    /// It names this one, which nobody has read.
    Unread(String),
    /// So many.
    Read(usize),
}

impl Tables {
    pub fn new(spec: &WorkloadSpec, env: &Env) -> Result<Self, SpecError> {
        let all = |families: &[Family]| families.iter().map(|f| Members::new(f, env)).collect::<Result<Vec<_>, _>>();
        let spins = spec.barriers.iter().map(|f| f.spin);
        let futexes = spec.channels.iter().map(|f| f.futex);
        Ok(Self {
            policies: spec.policies.clone(),
            barriers: all(&spec.barriers)?.into_iter().zip(spins).collect(),
            channels: all(&spec.channels)?.into_iter().zip(futexes).collect(),
            scores: spec.scores.iter().map(|s| Members::new(&s.family, env)).collect::<Result<_, _>>()?,
            barrier_uses: Vec::new(),
            channel_uses: Vec::new(),
            futexes: Vec::new(),
            ops_left: MAX_OPS,
            histograms: match (&spec.histograms, &spec.histograms_file) {
                (Some(read), _) => Histograms::Read(read.len()),
                (None, Some(file)) => Histograms::Unread(file.value.clone()),
                (None, None) => Histograms::Unnamed,
            },
        })
    }
    /// Whether a step may draw from histogram `number`.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn check_histogram(&self, number: u32, at: &Spot<String>) -> Result<(), SpecError> {
        let step = "`pattern = \"recorded\"`";
        Err(match &self.histograms {
            Histograms::Read(n) if (number as usize) < *n => return Ok(()),
            Histograms::Read(n) => {
                let last = n.saturating_sub(1);
                at.error(format!("the step draws from visit {number} of {n}"), format!("`visit` from 0 to {last}"))
            }
            Histograms::Unread(file) => at.error(
                format!("{step} draws from `{file}`, which is not here"),
                "the workload's path on this disk, with that file beside it",
            ),
            Histograms::Unnamed => at.error(
                format!("{step} draws from histograms, and the workload names none"),
                "`histograms = \"FILE\"` at the top of the workload, as `numalab fit --exact` writes it",
            ),
        })
    }
    /// Counts `n` ops; refuses them if that is more than [`MAX_OPS`] in all.
    pub fn spend<T>(&mut self, n: u64, at: &Spot<T>) -> Result<(), SpecError> {
        self.ops_left = self.ops_left.checked_sub(n).ok_or_else(|| {
            at.error("the workload comes to too many steps", format!("at most {MAX_OPS} over all threads"))
        })?;
        Ok(())
    }
    /// Id of a barrier and whether it spins.
    pub fn barrier(&mut self, r: &Ref, env: &Env) -> Result<(u32, bool), SpecError> {
        let (members, spin) = &mut self.barriers[r.index];
        let mut next = self.barrier_uses.len() as u32;
        let (id, fresh) = members.id(r, env, &mut next)?;
        if fresh {
            self.barrier_uses.push(r.spot.clone());
        }
        Ok((id, *spin))
    }
    /// Id of a channel.
    pub fn channel(&mut self, r: &Ref, env: &Env) -> Result<u32, SpecError> {
        let mut next = self.channel_uses.len() as u32;
        let (members, futex) = &mut self.channels[r.index];
        let (id, fresh) = members.id(r, env, &mut next)?;
        if fresh {
            self.channel_uses.push(r.spot.clone());
            self.futexes.extend(futex.then_some(id));
        }
        Ok(id)
    }
    /// Id of a score. Scores have ids from the start, in the order of their declaration.
    pub fn score(&mut self, r: &Ref, env: &Env) -> Result<u32, SpecError> {
        self.scores[r.index].id(r, env, &mut 0).map(|(id, _)| id)
    }
    pub fn list_scores(&mut self, spec: &WorkloadSpec) -> Vec<Score> {
        let mut out = Vec::new();
        for (members, s) in self.scores.iter_mut().zip(&spec.scores) {
            for name in members.number_from(out.len() as u32) {
                let (unit, higher_is_better) = (s.unit.clone(), s.higher_is_better);
                out.push(Score {
                    name,
                    unit,
                    higher_is_better,
                    per_second: s.per_second,
                    best: s.best,
                    latency: s.latency,
                });
            }
        }
        out
    }
}
