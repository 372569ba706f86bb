//! A decision as JSON.

use super::call::Call;
use super::choice::{Choice, Decision, Standing};
use super::decision::decide;
use crate::data::Comparison;
use serde_json::{json, Value};

impl Call {
    /// Word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Call::Better => "better",
            Call::Worse => "worse",
            Call::Even => "even",
            Call::CannotTell => "cannot_tell",
        }
    }
}

impl Choice {
    /// Word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Choice::Take(_) => "take",
            Choice::Even => "even",
            Choice::Mixed => "mixed",
            Choice::CannotTell => "cannot_tell",
        }
    }
}

/// The decision of a comparison as JSON (docs/reference/json.md).
pub fn as_json(c: &Comparison) -> Value {
    let Decision { question, answer, how_sure, costs, workloads, agreement } = decide(c);
    let asked = c.origin.as_ref().and_then(|o| o.prediction.as_ref());
    let prediction = agreement.zip(asked).map(|(a, p)| a.json(c, p));
    let name = |k: usize| c.kernels[k].name.as_str();
    let taken = |choice: &Choice| match choice {
        Choice::Take(list) => list.iter().map(|k| name(*k)).collect(),
        _ => Vec::new(),
    };
    let workload = |w: &super::WorkloadDecision| {
        json!({
            "workload": c.workloads[w.workload].name, "choice": w.choice.word(), "take": taken(&w.choice), "text": w.text,
            "kernels": w.standings.iter().map(|s| standing(name(s.kernel), s)).collect::<Vec<_>>(),
        })
    };
    json!({
        "question": question, "answer": answer, "how_sure": how_sure, "costs": costs,
        "workloads": workloads.iter().map(workload).collect::<Vec<_>>(),
        "prediction": prediction,
    })
}

fn standing(kernel: &str, s: &Standing) -> Value {
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    let costs: Vec<Value> = s
        .costs
        .iter()
        .map(
            |c| json!({"metric": c.metric, "unit": c.unit, "baseline": finite(c.baseline), "kernel": finite(c.kernel)}),
        )
        .collect();
    json!({
        "kernel": kernel, "call": s.call.map_or("mixed", Call::word), "metric": s.finding.metric,
        "change_percent": finite(s.finding.change_percent), "p": finite(s.sure.p),
        "model_error": s.finding.model_error.map(|e| json!({
            "figure": e.kind.word(), "half": e.half, "four_fifths": finite(Some(e.four_fifths)),
            "hides_change": e.hides(s.finding.change_percent),
        })),
        "text": s.finding.text, "costs": costs,
    })
}
