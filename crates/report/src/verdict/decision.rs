//! The decision: the question of the experiment answered, with how much, how sure and at what cost.
//!
//! Problem: a reader asks "which one do I take?" and not "which rows have stars?". Approach: for every workload the
//! kernels are sorted into those that are clearly better than the baseline, clearly worse, and the rest. The best of
//! the better ones is taken. Others that no test tells from it are taken beside it. The text form and the page print
//! the same sentences ([`super::answer`]). Units: those of the metrics. Invariants: a kernel is taken only on a clear
//! difference, and a workload that nothing can be told about never has a choice.

use super::agreement::Agreement;
use super::answer;
use super::call::Call;
use super::choice::{Choice, Decision, Standing, Sure, WorkloadDecision};
use super::costs::costs;
use super::failed;
use super::finding::{findings_of, measurements, Finding};
use super::question::asked;
use crate::assess::{assess, Assessment, LEVEL};
use crate::data::{Comparison, Metric, Workload};
use crate::format::shows;
use crate::trust;
use numalab_stats::welch::welch;
use numalab_stats::Better;

/// Decides a comparison.
pub fn decide(c: &Comparison) -> Decision {
    let assessments = assess(c);
    let all = findings_of(c, &assessments);
    let agreement = Agreement::of(c).filter(|_| !c.nothing_ran());
    let mut workloads: Vec<WorkloadDecision> = Vec::new();
    for (index, w) in c.workloads.iter().enumerate() {
        let ran = |k: &usize| c.kernels[*k].failed.is_none();
        let mut standings: Vec<Standing> =
            c.others().filter(ran).filter_map(|k| standing(c, (index, w), k, &all, &assessments)).collect();
        // Sizes and times of a prediction are tested together, so each is called by what counts there.
        for s in &mut standings {
            s.call = agreement.as_ref().and_then(|a| a.call(index, s.kernel)).map_or(s.call, Some);
        }
        if !standings.is_empty() {
            let choice = choose(c, w, &standings);
            let text = answer::of_workload(c, w, &choice, &standings);
            workloads.push(WorkloadDecision { workload: index, choice, standings, text });
        }
    }
    let mut said = failed::sentences(c);
    let compares = said.is_empty() || failed::leaves_something(c);
    if compares {
        said.push(agreement.as_ref().map_or_else(|| answer::answer(c, &workloads, &all), |a| a.answer(c)));
    }
    let how_sure = || agreement.as_ref().map_or_else(|| answer::how_sure(c, &workloads), |a| a.how_sure(c));
    Decision {
        question: asked(c),
        answer: said.join(" "),
        how_sure: if compares { how_sure() } else { String::new() },
        costs: answer::costs(c, &workloads),
        workloads,
        agreement,
    }
}

/// How a kernel stands on a workload; `None` if the workload has no measurement.
fn standing(
    c: &Comparison,
    (index, w): (usize, &Workload),
    kernel: usize,
    all: &[Finding],
    assessments: &[Assessment],
) -> Option<Standing> {
    let own: Vec<&Finding> = all.iter().filter(|f| (f.workload, f.kernel) == (index, kernel)).collect();
    let has = |call: Call| own.iter().any(|f| f.call == call);
    let call = match (has(Call::Better), has(Call::Worse)) {
        (true, true) => None,
        (true, false) => Some(Call::Better),
        (false, true) => Some(Call::Worse),
        _ if has(Call::Even) => Some(Call::Even),
        _ => Some(Call::CannotTell),
    };
    let size = |f: &&&Finding| f.change_percent.map_or(0.0, f64::abs);
    let deciding = own.iter().filter(|f| call.is_none_or(|call| f.call == call));
    // Of equal changes, the first counts.
    let finding = deciding.reduce(|a, b| if size(&b) > size(&a) { b } else { a }).copied()?;
    let of = |a: &&Assessment| {
        a.workload == w.name && a.metric == finding.metric && a.kernel == c.kernels[kernel].name && a.has_runs()
    };
    let sure = assessments.iter().find(of).map_or_else(Sure::default, Sure::new);
    let comparable = w.different_work(kernel).is_none();
    Some(Standing {
        kernel,
        call,
        finding: finding.clone(),
        measurements: own.len(),
        gain: gain(c, w, kernel),
        sure,
        costs: if comparable { costs(c, w, kernel) } else { Vec::new() },
    })
}

/// Mean over the measurements of the logarithm of how many times better the kernel is than the baseline.
fn gain(c: &Comparison, w: &Workload, kernel: usize) -> f64 {
    let one = |m: &&Metric| {
        let (base, mean) = (m.mean_of(c.baseline)?, m.mean_of(kernel)?);
        let log = (mean / base).ln();
        log.is_finite().then_some(if m.better == Better::Higher { log } else { -log })
    };
    let all: Vec<f64> = measurements(w).iter().filter_map(one).collect();
    if all.is_empty() {
        0.0
    } else {
        all.iter().sum::<f64>() / all.len() as f64
    }
}

/// What to take on a workload. A bound is no kernel that anyone can take, unless nothing else is compared.
fn choose(c: &Comparison, w: &Workload, standings: &[Standing]) -> Choice {
    let only_bounds = standings.iter().all(|s| c.kernels[s.kernel].is_bound);
    let real = move |s: &&Standing| only_bounds || !c.kernels[s.kernel].is_bound;
    let with = |call: Option<Call>| standings.iter().filter(real).filter(move |s| s.call == call);
    let better: Vec<&Standing> = with(Some(Call::Better)).collect();
    let best = better.iter().copied().reduce(|a, b| if b.gain > a.gain { b } else { a });
    if let Some(best) = best {
        let tests = better.len().saturating_sub(1);
        let tied = |s: &&&Standing| s.kernel == best.kernel || !differ(c, w, best.kernel, s.kernel, tests);
        return Choice::Take(better.iter().filter(tied).map(|s| s.kernel).collect());
    }
    let count = |call: Option<Call>| with(call).count();
    match (count(Some(Call::Worse)), count(Some(Call::Even)), count(None)) {
        (0, 0, 0) => Choice::CannotTell,
        (0, _, 0) => Choice::Even,
        (0, _, _) => Choice::Mixed,
        // The baseline stays, and whatever no test tells from it.
        _ => {
            let mut take: Vec<usize> = with(Some(Call::Even)).map(|s| s.kernel).collect();
            take.push(c.baseline);
            take.sort_unstable();
            Choice::Take(take)
        }
    }
}

/// Whether two kernels clearly differ in any measurement of a workload, by Welch's test corrected for `tests` tests.
fn differ(c: &Comparison, w: &Workload, a: usize, b: usize, tests: usize) -> bool {
    let measured = measurements(w);
    let told = |m: &Metric| !trust::of_comparison(c, m, a).is_some_and(|e| e.hides(m.change_percent(a, b)));
    let corrections = (tests * measured.len()).max(1) as f64;
    measured.iter().any(|m| {
        let p = welch(m.of(a), m.of(b)).map(|t| t.p);
        p.is_some_and(|p| p * corrections < LEVEL) && m.change_percent(a, b).is_none_or(shows) && told(m)
    })
}
