//! `/proc/vmstat`: event counters and their growth during a run.

use numalab_nouns::record::ALWAYS_RECORDED;

/// The counters at one time, in the kernel's order, without gauges (`nr_…`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    values: Vec<(String, u64)>,
}

impl Vmstat {
    /// Reads the running system's counters.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read() -> std::io::Result<Self> {
        Ok(Self::parse(&std::fs::read_to_string("/proc/vmstat")?))
    }

    /// Parses the file's text. Lines of another form are skipped.
    pub fn parse(text: &str) -> Self {
        let counter = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            let gauge = name.starts_with("nr_") && !name.contains("dirtied") && !name.contains("written");
            (!gauge).then_some((name.to_string(), value.trim().parse().ok()?))
        };
        Self { values: text.lines().filter_map(counter).collect() }
    }

    /// Value of a counter.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.iter().find(|v| v.0 == name).map(|v| v.1)
    }

    /// Growth since `start`: [`ALWAYS_RECORDED`] first (those this kernel has), then every other one that grew.
    pub fn since(&self, start: &Vmstat) -> Vec<(String, u64)> {
        let growth = |name: &str, now: u64| now.saturating_sub(start.get(name).unwrap_or(0));
        let first = ALWAYS_RECORDED.iter().filter_map(|n| self.get(n).map(|v| (n.to_string(), growth(n, v))));
        let others = self.values.iter().filter(|v| !ALWAYS_RECORDED.contains(&v.0.as_str()));
        let others = others.map(|(n, v)| (n.clone(), growth(n, *v))).filter(|v| v.1 > 0);
        first.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_has_the_balancing_counters_first_and_no_gauges() {
        let a = Vmstat::parse("nr_free_pages 10\nnuma_hit 5\nnuma_hint_faults 7\npgfault 1\nbogus\n");
        let b = Vmstat::parse("nr_free_pages 90\nnuma_hit 9\nnuma_hint_faults 7\npgfault 4\noom_kill 0\n");
        let want = [("numa_hint_faults", 0), ("pgfault", 3), ("numa_hit", 4)];
        assert_eq!(b.since(&a), want.map(|(n, v)| (n.to_string(), v)).to_vec());
    }
}
