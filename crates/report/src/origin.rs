//! What was run, for the heading of a report.

use numalab_model::experiment::Prediction;

/// Machines, kernels, workloads and runs behind a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Name and title of the experiment; empty if the experiment was given on the command line.
    pub title: String,
    /// Names of the machines, in order.
    pub machines: Vec<String>,
    /// Names of the workloads, in order.
    pub workloads: Vec<String>,
    /// Number of runs of every combination of machine, workload and kernel, if all have the same number.
    pub runs_each: Option<usize>,
    /// Number of runs that have a record.
    pub recorded: usize,
    /// Number of runs of the experiment.
    pub asked: usize,
    /// Seeds, ascending, each once.
    pub seeds: Vec<u64>,
    /// Backends, with the timing mode where there are several: `sim`, `vm-modelled`, `host`.
    pub backends: Vec<String>,
    /// What made the records, in words ([`made_by`]).
    pub versions: Vec<String>,
    /// What a prediction was asked, and what was simulated of it; `None` of other experiments.
    pub prediction: Option<Prediction>,
}

/// The version of a record in words. For `vm` it is that of the protocol with the guest (docs/reference/vm.md), which
/// several releases of numalab share; for other backends it is the release of numalab. Other versions follow it.
pub fn made_by(backend: &str, version: &str) -> String {
    let what = if backend == "vm" { "guest protocol" } else { "numalab" };
    format!("{what} {version}")
}

impl Origin {
    /// Two to four lines for the top of a report; `kernels` are its columns, the baseline first. A prediction begins
    /// with what was simulated.
    pub fn lines(&self, kernels: &[&str]) -> Vec<String> {
        let mut out: Vec<String> = self.prediction.iter().map(Prediction::text).collect();
        out.extend((!self.title.is_empty()).then(|| self.title.clone()));
        let list = |noun: &str, names: &[&str]| {
            format!("{noun}{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
        };
        let named = |names: &[String], noun: &str| list(noun, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let (machines, workloads) = (named(&self.machines, "machine"), named(&self.workloads, "workload"));
        out.push(format!("{machines}; {}; {workloads}", list("kernel", kernels)));
        // Backends and versions are known from records only.
        let by = if self.nothing_ran() {
            "nothing was run yet".to_string()
        } else {
            format!("{}; {}", named(&self.backends, "backend"), self.versions.join(", "))
        };
        out.push(format!("{}, {}; {by}", self.runs(), self.seeds_text()));
        out
    }

    /// Whether no run has a record.
    pub fn nothing_ran(&self) -> bool {
        self.recorded == 0
    }

    fn runs(&self) -> String {
        let of = |n: usize| if n == 1 { "run" } else { "runs" };
        match self.runs_each {
            _ if self.recorded < self.asked => format!("{} of {} runs", self.recorded, self.asked),
            Some(n) => format!("{n} {} each", of(n)),
            None => format!("{} {}", self.recorded, of(self.recorded)),
        }
    }

    /// "seed 1", "seeds 1 to 3", "seeds 1, 5".
    fn seeds_text(&self) -> String {
        format!("seed{} {}", if self.seeds.len() == 1 { "" } else { "s" }, self.seed_list())
    }

    /// "1", "1 to 3", "1, 5".
    pub fn seed_list(&self) -> String {
        match self.seeds.as_slice() {
            [first, .., last] if last - first == self.seeds.len() as u64 - 1 => format!("{first} to {last}"),
            some => some.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        let one = |name: &str| vec![name.to_string()];
        Origin {
            title: "mine: a question".into(),
            machines: one("2x1x4x1"),
            workloads: vec!["numa01".into(), "numa02".into()],
            runs_each: Some(3),
            recorded: 12,
            asked: 12,
            seeds: vec![1, 2, 3],
            backends: one("sim"),
            versions: vec![made_by("sim", "0.8.0")],
            prediction: None,
        }
    }

    #[test]
    fn what_guests_are_asked_is_not_taken_for_the_release() {
        assert_eq!(made_by("vm", "0.5.0 modelled tcg"), "guest protocol 0.5.0 modelled tcg");
        assert_eq!(made_by("host", "0.13.0 6.1.0"), "numalab 0.13.0 6.1.0");
    }

    #[test]
    fn three_lines_say_what_was_run() {
        let want = [
            "mine: a question",
            "machine 2x1x4x1; kernels off, 6.12; workloads numa01, numa02",
            "3 runs each, seeds 1 to 3; backend sim; numalab 0.8.0",
        ];
        assert_eq!(origin().lines(&["off", "6.12"]), want);
    }

    #[test]
    fn without_a_title_two_and_missing_runs_are_counted() {
        let o = Origin { title: String::new(), recorded: 1, asked: 2, seeds: vec![7], ..origin() };
        let got = o.lines(&["off"]);
        assert_eq!(got[0], "machine 2x1x4x1; kernel off; workloads numa01, numa02");
        assert_eq!(got[1], "1 of 2 runs, seed 7; backend sim; numalab 0.8.0");
        let o = Origin { recorded: 0, backends: vec![], versions: vec![], ..origin() };
        assert_eq!(o.lines(&["off"])[2], "0 of 12 runs, seeds 1 to 3; nothing was run yet");
        let o = Origin { runs_each: None, seeds: vec![1, 5], ..origin() };
        assert!(o.lines(&[])[2].starts_with("12 runs, seeds 1, 5; "));
        let o = Origin { runs_each: Some(1), seeds: vec![4], ..origin() };
        assert!(o.lines(&[])[2].starts_with("1 run each, seed 4; "));
    }
}
