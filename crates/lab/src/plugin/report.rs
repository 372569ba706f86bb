//! The plugin's log: counts of every CPU at every mark.

use numalab_model::record::Series;

/// Counts of one guest CPU since the guest's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCounts {
    /// Memory accesses of programs.
    pub accesses: u64,
    /// Hits in the last-level cache.
    pub llc_hits: u64,
    /// Misses served by the CPU's own node.
    pub local: u64,
    /// Misses served by another node.
    pub remote: u64,
}

/// A counter in a record: its name, and its value of one CPU.
type Counter = (&'static str, fn(&CpuCounts) -> u64);

/// The counters that a record gets from the plugin. The counters dictionary explains them.
pub const COUNTERS: [Counter; 3] =
    [("local_misses", |c| c.local), ("remote_misses", |c| c.remote), ("llc_hits", |c| c.llc_hits)];

/// Kinds of marks, as the worker makes them (`numalab_worker::mark::Mark`).
const BEGIN: u32 = 0;
const SAMPLE: u32 = 1;
const END: u32 = 2;

/// One mark.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    kind: u32,
    cpus: Vec<CpuCounts>,
}

/// A parsed log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginReport {
    /// State of the charging: `off`, `decrementer at …` or `refused: …`.
    pub charge: String,
    marks: Vec<Mark>,
}

impl PluginReport {
    /// Parses a log of a guest with `cpus` CPUs.
    ///
    /// # Errors
    /// What is missing or malformed.
    pub fn parse(text: &str, cpus: usize) -> Result<Self, String> {
        let mut lines = text.lines();
        let charge = lines.next().and_then(|l| l.strip_prefix("charge ")).ok_or("plugin log without state")?;
        let mut marks = Vec::new();
        let mut complete = false;
        for line in lines {
            if line == "end" {
                complete = true;
                break;
            }
            let rest = line.strip_prefix("mark ").ok_or_else(|| format!("plugin log: `{line}`"))?;
            let numbers: Vec<u64> = rest.split(' ').map_while(|w| w.parse().ok()).collect();
            if numbers.len() != 2 + 4 * cpus {
                return Err(format!("plugin log: a mark with {} numbers for {cpus} CPUs", numbers.len()));
            }
            let count = |c: &[u64]| CpuCounts { accesses: c[0], llc_hits: c[1], local: c[2], remote: c[3] };
            marks.push(Mark { kind: numbers[0] as u32, cpus: numbers[2..].chunks_exact(4).map(count).collect() });
        }
        if complete {
            Ok(Self { charge: charge.into(), marks })
        } else {
            Err("plugin log without end".into())
        }
    }

    /// Why the plugin did not charge, if it was to.
    pub fn refusal(&self) -> Option<&str> {
        self.charge.strip_prefix("refused: ").or((self.charge == "searching").then_some("no decrementer found yet"))
    }

    /// Counts of each CPU between the beginning and the end of the run.
    ///
    /// # Errors
    /// The log has no mark for the beginning or for the end.
    pub fn totals(&self) -> Result<Vec<CpuCounts>, String> {
        let begin = self.marks.iter().find(|m| m.kind == BEGIN).ok_or("the plugin saw no begin of the run")?;
        let end = self.marks.iter().rev().find(|m| m.kind == END).ok_or("the plugin saw no end of the run")?;
        Ok(begin.cpus.iter().zip(&end.cpus).map(|(a, b)| difference(a, b)).collect())
    }

    /// Number of samples with a mark. The plugin drops marks beyond its limit.
    pub fn samples(&self) -> usize {
        self.marks.iter().filter(|m| m.kind == SAMPLE).count()
    }

    /// Local and remote misses of each dense CPU in each interval between marks. The time axis is that of the worker's
    /// samples (`sample_times`), with the end of the run (`end_ns`) as the last point. Samples without a mark belong to
    /// the last interval.
    pub fn series(&self, cpu_ids: &[u32], sample_times: &[u64], end_ns: u64) -> Vec<Series> {
        let from = self.marks.iter().position(|m| m.kind == BEGIN).unwrap_or(0);
        let marks = &self.marks[from.min(self.marks.len())..];
        let mut times = sample_times.iter().copied();
        let timed = |(a, b)| {
            let mark: &Mark = b;
            let time = if mark.kind == END { Some(end_ns) } else { times.next() };
            time.map(|t| (t, (a, b)))
        };
        let (times, intervals): (Vec<u64>, Vec<(&Mark, &Mark)>) =
            marks.iter().zip(marks.iter().skip(1)).filter_map(timed).unzip();
        let make = |(name, value): Counter| Series {
            name: name.into(),
            unit: "lines".into(),
            columns: (0..cpu_ids.len()).map(|c| format!("cpu{c}")).collect(),
            time_ns: times.clone(),
            values: cpu_ids
                .iter()
                .map(|&id| {
                    let of = |m: &Mark| m.cpus.get(id as usize).map_or(0, value);
                    intervals.iter().map(|(a, b)| of(b).saturating_sub(of(a)) as f64).collect()
                })
                .collect(),
        };
        COUNTERS[..2].iter().copied().map(make).collect()
    }
}

fn difference(a: &CpuCounts, b: &CpuCounts) -> CpuCounts {
    CpuCounts {
        accesses: b.accesses.saturating_sub(a.accesses),
        llc_hits: b.llc_hits.saturating_sub(a.llc_hits),
        local: b.local.saturating_sub(a.local),
        remote: b.remote.saturating_sub(a.remote),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "charge decrementer at -16 (3990 of 4000 blocks)\n\
        mark 0 100 5 0 1 1 7 0 2 2\nmark 1 200 15 1 4 6 9 0 3 2\nmark 2 250 16 1 5 6 30 0 3 12\nend\n";

    #[test]
    fn totals_and_intervals_between_marks() {
        let r = PluginReport::parse(LOG, 2).unwrap();
        assert_eq!(r.refusal(), None);
        assert_eq!(r.totals().unwrap()[0], CpuCounts { accesses: 11, llc_hits: 1, local: 4, remote: 5 });
        // Dense CPU 0 is guest CPU 1.
        let series = r.series(&[1, 0], &[1000], 1500);
        assert_eq!(series[1].time_ns, vec![1000, 1500]);
        assert_eq!(series[1].values, vec![vec![0.0, 10.0], vec![5.0, 0.0]]);
        assert_eq!(series[0].values[1], vec![3.0, 1.0]);
    }

    #[test]
    fn broken_logs_are_errors() {
        assert!(PluginReport::parse("", 1).is_err());
        assert!(PluginReport::parse("charge off\nmark 0 1 2\nend\n", 1).unwrap_err().contains("3 numbers"));
        assert!(PluginReport::parse("charge off\n", 1).unwrap_err().contains("without end"));
        let r = PluginReport::parse("charge refused: no place\nend\n", 1).unwrap();
        assert_eq!(r.refusal(), Some("no place"));
        assert!(r.totals().unwrap_err().contains("no begin"));
    }

    #[test]
    fn a_run_without_its_end_has_no_totals() {
        let cut = LOG.replace("mark 2 ", "mark 1 ");
        let r = PluginReport::parse(&cut, 2).unwrap();
        assert!(r.totals().unwrap_err().contains("no end"));
        assert_eq!(r.samples(), 2);
    }
}
