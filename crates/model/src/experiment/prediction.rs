//! What a quick prediction simulates of the program that was asked about.

use crate::machine::size;
use serde::{Deserialize, Serialize};

/// The program that `numalab advise --like` was asked about, and the smaller or shorter ones that stand for it. It is
/// kept with the list of runs, so that nobody takes the runs for those of the program itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Memory of the program that was asked about, bytes.
    pub memory_bytes: u64,
    /// Its busy threads.
    pub threads: u32,
    /// What is simulated: every size over every time.
    pub simulated: Vec<Simulated>,
    /// Time that the program will run, if it was asked about, ms. Else what counts is the settled state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon_ms: Option<u64>,
}

/// A size and a time that are simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// Name of the workload in the experiment.
    pub workload: String,
    /// Memory of the simulated program, bytes.
    pub memory_bytes: u64,
    /// Its busy threads.
    pub threads: u32,
    /// Time over which it works, ms of the model's time.
    pub time_ms: u64,
    /// For an entry that tells what the runs settled at: when the last way had settled, ms. No file has it.
    #[serde(skip)]
    pub settled_after_ms: Option<u64>,
    /// For an entry that tells the way there: the time until the last way had settled. No file has it.
    #[serde(skip)]
    pub until_settled: bool,
}

impl Simulated {
    /// The size and the time in words: "1 GiB, 16 threads, 6 s".
    pub fn text(&self) -> String {
        format!("{}, {}, {}", size::short(self.memory_bytes), threads(self.threads), self.time())
    }

    /// The time alone: "6 s", "first 14 s", "settled by 14 s".
    pub fn time(&self) -> String {
        let whole = |ms: u64| seconds(ms.div_ceil(1000) * 1000);
        match self.settled_after_ms {
            None if self.until_settled => format!("first {}", whole(self.time_ms)),
            None => seconds(self.time_ms),
            Some(ms) => format!("settled by {}", whole(ms)),
        }
    }

    /// Whether another entry is about the same size.
    pub fn has_size_of(&self, other: &Self) -> bool {
        (self.memory_bytes, self.threads) == (other.memory_bytes, other.threads)
    }

    /// A time in words: "6 s", "5 min".
    pub fn time_text(ms: u64) -> String {
        if ms >= 120_000 && ms.is_multiple_of(60_000) {
            format!("{} min", ms / 60_000)
        } else {
            seconds(ms)
        }
    }
}

impl Prediction {
    /// Whether no simulated size is the one that was asked about.
    pub fn is_cut(&self) -> bool {
        !self.simulated.iter().any(|s| self.is_asked(s))
    }

    /// What was simulated and what was asked, as a sentence.
    pub fn text(&self) -> String {
        let size = |s: &Simulated| {
            let asked = if self.is_asked(s) { ", as asked" } else { "" };
            format!("at {} and {}{asked}", size::short(s.memory_bytes), threads(s.threads))
        };
        let sizes = join(self.simulated.iter().map(size));
        let run = || self.simulated.iter().filter(|s| s.settled_after_ms.is_none() && !s.until_settled);
        let times = join(run().map(|s| format!("over {}", seconds(s.time_ms))));
        let several = self.simulated.windows(2).any(|w| size(&w[0]) != size(&w[1]));
        let each = if several { " each" } else { "" };
        let cut = format!("; asked: {} and {}", size::short(self.memory_bytes), threads(self.threads));
        format!("Predicted {sizes}, {times}{each}{}.", if self.is_cut() { cut } else { String::new() })
    }

    fn is_asked(&self, s: &Simulated) -> bool {
        (s.memory_bytes, s.threads) == (self.memory_bytes, self.threads)
    }
}

fn threads(n: u32) -> String {
    format!("{n} {}", if n == 1 { "thread" } else { "threads" })
}

/// A time in seconds: "6 s", "0.5 s".
fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1000.0)
}

/// Parts of a sentence, each once: "at a and at b".
fn join(parts: impl Iterator<Item = String>) -> String {
    let mut out: Vec<String> = Vec::new();
    for part in parts {
        if !out.contains(&part) {
            out.push(part);
        }
    }
    out.join(", and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(sizes: &[(u64, u32)]) -> Prediction {
        let one = |&(gib, threads): &(u64, u32), time_ms| Simulated {
            until_settled: false,
            workload: format!("w-{gib}-{threads}-{time_ms}"),
            memory_bytes: gib << 30,
            threads,
            time_ms,
            settled_after_ms: None,
        };
        let simulated = sizes.iter().flat_map(|s| [one(s, 6_000), one(s, 40_000)]).collect();
        Prediction { memory_bytes: 64 << 30, threads: 64, simulated, horizon_ms: None }
    }

    #[test]
    fn a_cut_is_named_with_what_was_asked() {
        let both = prediction(&[(1, 16), (4, 64)]);
        assert!(both.is_cut());
        let want = "Predicted at 1 GiB and 16 threads, and at 4 GiB and 64 threads, over 6 s, and over 40 s each; \
                    asked: 64 GiB and 64 threads.";
        assert_eq!(both.text(), want);
        assert_eq!(both.simulated[0].text(), "1 GiB, 16 threads, 6 s");
    }

    #[test]
    fn without_a_cut_none_is_claimed() {
        let asked = prediction(&[(64, 64)]);
        assert!(!asked.is_cut());
        assert_eq!(asked.text(), "Predicted at 64 GiB and 64 threads, as asked, over 6 s, and over 40 s.");
        let larger = prediction(&[(1, 16), (64, 64)]);
        assert!(!larger.is_cut() && larger.text().contains("64 threads, as asked, over"), "{}", larger.text());
    }
}
