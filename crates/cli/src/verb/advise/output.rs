//! The advice as text and as JSON.

use super::decide::Advice;
use super::likes::{Like, Size};
use super::places::Place;
use crate::failure::{is_quiet, Done, Failure};
use crate::terminal;
use numalab_model::experiment::Simulated;
use numalab_model::machine::size;
use numalab_report::data::Comparison;
use numalab_report::text::answer::{layout, predicted, Line};
use numalab_report::verdict::{as_json, Call, Cell, Decision};
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
    /// The size that was asked about.
    pub asked: Size,
    /// Whether it may be cut down.
    pub quick: bool,
    /// Name of the kernel as asked.
    pub kernel: &'a str,
    /// Name of the machine.
    pub machine: &'a str,
    /// The machine as asked.
    pub machine_asked: &'a str,
    /// Whether no way binds the program to a node.
    pub bind_left_out: bool,
    /// Directory of the records.
    pub dir: &'a Path,
    /// Runs of each way in each size and time.
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
    simulated: serde_json::Value,
    runs: u32,
    assumes: Vec<String>,
    how_sure: &'a str,
    costs: &'a [String],
    commands: Vec<String>,
    undo: Vec<String>,
    places: Vec<Place>,
    full_size: Option<String>,
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
    let hint = "A prediction for a machine with several: numalab advise --machine NAME --like PROGRAM (numalab list \
                machines has names)."
        .to_string();
    Ok(Done::text(layout(&[("Advice", text), ("", hint)], terminal::width(), &terminal::strong)))
}

impl Given<'_> {
    /// The advice in JSON.
    ///
    /// # Errors
    /// A figure has no JSON form.
    pub fn json(&self) -> Result<String, Failure> {
        let (commands, undo) = self.advice.commands();
        let mut decision = as_json(self.comparison);
        let json = Json {
            advice: self.advice.word(),
            text: self.advice.text(self.decision),
            prediction: true,
            machine: self.machine,
            kernel: self.kernel,
            like: &self.like.name,
            workload: &self.like.workload,
            memory_bytes: self.asked.memory_bytes,
            threads: self.asked.threads,
            quick: self.quick,
            simulated: decision["prediction"].take(),
            runs: self.runs,
            assumes: self.assumes(),
            how_sure: &self.decision.how_sure,
            costs: &self.decision.costs,
            commands,
            undo,
            places: self.advice.places(),
            full_size: self.full_size(),
            check: self.check(),
            directory: self.dir.display().to_string(),
            decision,
        };
        Ok(Done::json(&json)?.text)
    }

    /// The advice for people. With `--quiet`, only its sentences.
    pub fn text(&self) -> String {
        let advice = self.advice.text(self.decision);
        if is_quiet() {
            return format!("{advice}\n");
        }
        let until_then =
            self.advice.until_then(self.comparison, self.decision).map_or(String::new(), |t| format!(" {t}"));
        let said = format!("{advice}{until_then} A prediction of the simulator, no measurement.");
        // What was cut stands right below, so that nobody takes the advice for more than it is.
        let mut lines: Vec<Line> = vec![("Advice", said)];
        lines.extend(predicted(self.comparison));
        push(&mut lines, "How much", self.table());
        lines.push(("How sure", self.decision.how_sure.clone()));
        push(&mut lines, "Cost", self.decision.costs.clone());
        push(&mut lines, "Assumed", self.assumes());
        let mut out = layout(&lines, terminal::width(), &terminal::strong);
        let (commands, undo) = self.advice.commands();
        let full_size: Vec<String> = self.full_size().into_iter().collect();
        // Commands are not wrapped, so that they can be copied.
        for (head, commands) in [
            ("Do it", commands),
            ("Undo it", undo),
            ("Simulate what was asked", full_size),
            ("Check it on the machine", self.check()),
        ] {
            if !commands.is_empty() {
                out.push_str(&format!("{}\n", terminal::strong(head)));
                commands.iter().for_each(|c| out.push_str(&format!("  {c}\n")));
            }
        }
        for place in self.advice.places() {
            out.push_str(&format!("{}\n", terminal::strong(&format!("The same for {}", place.name))));
            place.commands.iter().for_each(|c| out.push_str(&format!("  {c}\n")));
            out.push_str(&format!("  undo: {}\n", place.undo.join("; ")));
        }
        let (dir, page) = (self.dir.display(), self.dir.join("report.html"));
        let page = format!("{} (tables: numalab compare {dir} --full)", page.display());
        out + &layout(&[("Page", page)], terminal::width(), &terminal::strong)
    }

    /// How much better each way is than balancing on: a row for each size and time, below a head of names. Empty if the
    /// runs are no prediction.
    fn table(&self) -> Vec<String> {
        let origin = self.comparison.origin.as_ref();
        let Some((agreement, p)) = self.decision.agreement.as_ref().zip(origin.and_then(|o| o.prediction.as_ref()))
        else {
            return Vec::new();
        };
        // A single size stands in the line above.
        let one_size = p.simulated.windows(2).all(|w| w[0].has_size_of(&w[1]));
        let head = if one_size { Simulated::time } else { Simulated::text };
        let heads: Vec<String> = p.simulated.iter().map(head).collect();
        let width = heads.iter().map(String::len).max().unwrap_or(0);
        let row = |head: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|c| format!("{c:>12}")).collect();
            format!("{head:<width$}{cells}")
        };
        let names = agreement.ways.iter().map(|w| format!("{} ", self.comparison.kernels[w.kernel].name)).collect();
        let cell = |c: &Cell| match (c.gain_percent, c.call) {
            (Some(gain), Call::CannotTell) => format!("({gain:+.1} %)"),
            (Some(gain), _) => format!("{gain:+.1} % "),
            (None, _) => "- ".to_string(),
        };
        let rows =
            heads.iter().enumerate().map(|(i, h)| row(h, agreement.ways.iter().map(|w| cell(&w.cells[i])).collect()));
        let mut what = "Gains over balancing on; in parentheses what is not clear.".to_string();
        if agreement.settled {
            what += " The settled rows decide.";
        } else {
            what += " Not every run settled, so all the other rows count.";
        }
        [row("", names)].into_iter().chain(rows).chain([what]).collect()
    }

    /// The command that simulates all of what was asked, if it was cut.
    fn full_size(&self) -> Option<String> {
        let cut = self.comparison.origin.as_ref()?.prediction.as_ref()?.is_cut();
        let memory = size::exact(self.asked.memory_bytes).replace(' ', "");
        let (like, threads) = (&self.like.name, self.asked.threads);
        let of = format!("--machine {} --kernel {}", self.machine_asked, self.kernel);
        let all = format!("numalab advise {of} --like {like} --memory {memory} --threads {threads}");
        cut.then_some(all)
    }

    /// What the prediction takes for granted.
    fn assumes(&self) -> Vec<String> {
        let like = self.like;
        let mut out = match like.is_file() {
            true => vec![format!("{}: {}.", like.workload, like.assumes)],
            false => vec![format!("{} is like the workload {}: {}.", like.name, like.workload, like.assumes)],
        };
        let cut = self.comparison.origin.as_ref().and_then(|o| o.prediction.as_ref()).is_some_and(|p| p.is_cut());
        if cut {
            let less = "A smaller program moves its memory sooner and fills less of a memory controller";
            out.push(format!("{less}; without --quick, what was asked is simulated."));
        }
        let further = like.further();
        if self.quick && !further.is_empty() {
            out.push(format!("For a quick answer, {further}."));
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
