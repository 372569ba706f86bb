//! The advice as text and as JSON.

use super::decide::Advice;
use super::likes::{Like, Size};
use crate::failure::{is_quiet, Done, Failure};
use crate::terminal;
use numalab_model::machine::size;
use numalab_report::data::Comparison;
use numalab_report::text::answer::{layout, Line};
use numalab_report::verdict::{as_json, Call, Decision};
use serde::Serialize;
use std::path::Path;

/// An advice with all that is said about it.
pub struct Given<'a> {
    /// The advice.
    pub advice: Advice,
    /// The runs.
    pub comparison: &'a Comparison,
    /// The decision of the runs.
    pub decision: &'a Decision,
    /// The kind of program.
    pub like: &'a Like,
    /// Its size.
    pub size: Size,
    /// Name of the kernel as asked.
    pub kernel: &'a str,
    /// Name of the machine.
    pub machine: &'a str,
    /// Whether no way binds the program to a node.
    pub bind_left_out: bool,
    /// Directory of the records.
    pub dir: &'a Path,
    /// Runs of each way.
    pub runs: u32,
}

/// `advise --json` (docs/reference/json.md).
#[derive(Serialize)]
struct Json<'a> {
    advice: &'a str,
    text: String,
    prediction: bool,
    machine: &'a str,
    kernel: &'a str,
    like: &'a str,
    workload: &'a str,
    memory_bytes: u64,
    threads: u32,
    quick: bool,
    runs: u32,
    assumes: Vec<String>,
    how_sure: &'a str,
    costs: &'a [String],
    commands: Vec<String>,
    undo: Vec<String>,
    check: Vec<String>,
    directory: String,
    decision: serde_json::Value,
}

/// What `advise --json` prints for a machine with one memory node.
#[derive(Serialize)]
struct Nothing<'a> {
    advice: &'a str,
    text: String,
    machine: &'a str,
}

/// The advice for a machine with one memory node.
///
/// # Errors
/// The text has no JSON form.
pub fn nothing_to_balance(machine: &str, json: bool) -> Result<Done, Failure> {
    let text = format!(
        "Nothing to balance: {machine} has one memory node, so all of its memory is equally near to every CPU. The \
         kernel does not scan there, whatever kernel.numa_balancing says."
    );
    if json {
        return Done::json(&Nothing { advice: "nothing_to_balance", text, machine });
    }
    Ok(Done::text(layout(&[("Advice", text)], terminal::width(), &terminal::strong)))
}

impl Given<'_> {
    /// The advice in JSON.
    ///
    /// # Errors
    /// A figure has no JSON form.
    pub fn json(&self) -> Result<String, Failure> {
        let (commands, undo) = self.advice.commands();
        let json = Json {
            advice: self.advice.word(),
            text: self.advice.text(self.runs),
            prediction: true,
            machine: self.machine,
            kernel: self.kernel,
            like: &self.like.name,
            workload: &self.like.workload,
            memory_bytes: self.size.memory_bytes,
            threads: self.size.threads,
            quick: self.size.quick,
            runs: self.runs,
            assumes: self.assumes(),
            how_sure: &self.decision.how_sure,
            costs: &self.decision.costs,
            commands,
            undo,
            check: self.check(),
            directory: self.dir.display().to_string(),
            decision: as_json(self.comparison),
        };
        Ok(Done::json(&json)?.text)
    }

    /// The advice for people. With `--quiet`, one sentence.
    pub fn text(&self) -> String {
        let advice = self.advice.text(self.runs);
        if is_quiet() {
            return format!("{advice}\n");
        }
        let mut lines: Vec<Line> = vec![("Advice", format!("{advice} A prediction of the simulator, no measurement."))];
        push(&mut lines, "How much", self.alternatives());
        lines.push(("How sure", self.decision.how_sure.clone()));
        push(&mut lines, "Cost", self.decision.costs.clone());
        push(&mut lines, "Assumed", self.assumes());
        let mut out = layout(&lines, terminal::width(), &terminal::strong);
        let (commands, undo) = self.advice.commands();
        // Commands are not wrapped, so that they can be copied.
        for (head, commands) in [("Do it", commands), ("Undo it", undo), ("Check it on the machine", self.check())] {
            if !commands.is_empty() {
                out.push_str(&format!("{}\n", terminal::strong(head)));
                commands.iter().for_each(|c| out.push_str(&format!("  {c}\n")));
            }
        }
        let (dir, page) = (self.dir.display(), self.dir.join("report.html"));
        let page = format!("{} (tables: numalab compare {dir} --full)", page.display());
        out + &layout(&[("Page", page)], terminal::width(), &terminal::strong)
    }

    /// One sentence for each way but the present one.
    fn alternatives(&self) -> Vec<String> {
        let Some(workload) = self.decision.workloads.first() else { return Vec::new() };
        let one = |s: &numalab_report::verdict::Standing| {
            let name = &self.comparison.kernels[s.kernel].name;
            let metric = &s.finding.metric;
            let than = s.finding.change_percent.map_or_else(String::new, |p| {
                let way = if p < 0.0 { "lower" } else { "higher" };
                format!(": {metric} {:.1} % {way} than with balancing on", p.abs())
            });
            let call = match s.call {
                Some(Call::Better) => "better",
                Some(Call::Worse) => "worse",
                Some(Call::Even) => "no clear difference",
                Some(Call::CannotTell) => "cannot tell",
                None => "better in some figures and worse in others",
            };
            format!("{name}: {call}{than}.")
        };
        workload.standings.iter().map(one).collect()
    }

    /// What the prediction takes for granted.
    fn assumes(&self) -> Vec<String> {
        let like = self.like;
        let mut out = vec![format!("{} is like the workload {}: {}.", like.name, like.workload, like.assumes)];
        if self.size.quick {
            let memory = size::short(self.size.memory_bytes);
            out.push(format!(
                "{memory} and {} threads are cut down to at most {}, and the time to seconds. A smaller program moves its \
                 memory sooner and fills no memory controller, and in a short run balancing has little time to pay back; \
                 --full-size simulates all of it.",
                self.size.threads,
                like.limits()
            ));
        }
        if self.bind_left_out {
            let why = if like.bind.is_some() { "it does not fit on node 0" } else { "its model has no such choice" };
            out.push(format!("Binding the program to a node is not compared: {why}."));
        }
        let kernel = |text: &String| text.contains(self.kernel) && !text.starts_with("assumed: ");
        let warnings = self.comparison.workloads.iter().flat_map(|w| &w.warnings).filter(|t| kernel(t));
        out.extend(warnings.take(1).cloned());
        out
    }

    /// Commands that check the prediction on the real machine.
    fn check(&self) -> Vec<String> {
        let run = format!(
            "sudo numalab run --backend host --kernel host,off --workload {} --iterations 5",
            self.like.workload
        );
        // The program itself is the best check; the model's workload is the next best.
        vec!["sudo numalab advise -- PROGRAM".to_string(), run]
    }
}

/// Adds sentences under one label.
fn push(out: &mut Vec<Line>, label: &'static str, sentences: Vec<String>) {
    out.extend(sentences.into_iter().enumerate().map(|(i, text)| (if i == 0 { label } else { "" }, text)));
}
