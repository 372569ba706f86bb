//! A CPU's tower as text, in the words of debugfs `sched/domains`.

use super::{Domains, Flags};
use std::fmt::Write;

impl Domains {
    /// The tower of `cpu`, one block per domain: name, flags, span, groups, intervals, threshold.
    pub fn describe(&self, cpu: u32) -> String {
        let mut out = String::new();
        for (i, d) in self.tower(cpu).iter().enumerate() {
            let id = self.ids.get(cpu as usize).copied().unwrap_or(cpu);
            let list = |g: &u32| format!("{{{}}}", self.group(*g).span.list(&self.ids));
            let groups: Vec<String> = d.groups.iter().map(list).collect();
            let own = d.groups.first().map_or(Flags(0), |g| self.group(*g).flags);
            // Writing to a String cannot fail.
            let _ = write!(
                out,
                "cpu{id}/domain{i}\n  name              {}\n  span              {} ({} CPUs)\n  flags             {}\n  \
                 groups_flags      {}\n  groups            {}\n  min_interval      {} ms\n  max_interval      {} ms\n  \
                 busy_factor       16\n  imbalance_pct     {}\n  cache_nice_tries  {}\n  imb_numa_nr       {}\n",
                d.level.name(self.form),
                d.span.list(&self.ids),
                d.weight,
                d.flags.text(self.form),
                own.text(self.form),
                groups.join(" "),
                d.interval_ms,
                2 * d.interval_ms,
                d.imbalance_pct,
                d.cache_nice_tries,
                d.imb_numa_nr,
            );
        }
        out
    }
}
