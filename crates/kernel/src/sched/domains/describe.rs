//! The domains of a CPU as text, in the words of debugfs `sched/domains`.

use super::domain::Domain;
use super::flags::Flags;
use super::towers::Domains;
use crate::sched::rules::Form;
use std::fmt::Write;

impl Domains {
    /// The tower of `cpu` as text, one block per domain. The upper lines are the files of `sched/domains/cpuN/domainM`
    /// with their contents right after boot. The kernel shows `span` and `groups` in its log only (`sched_verbose`),
    /// and `imb_numa_nr` nowhere.
    pub fn describe(&self, cpu: u32) -> String {
        let id = self.ids.get(cpu as usize).copied().unwrap_or(cpu);
        let mut out = String::new();
        for (i, d) in self.tower(cpu).iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "cpu{id}/domain{i}");
            for (name, value) in self.files(d).into_iter().chain(self.beyond_files(d)) {
                let _ = writeln!(out, "  {name:<18}{value}");
            }
        }
        out
    }
    /// The debugfs files of a domain with their contents. `groups_flags` exists from 6.6 on.
    pub fn files(&self, d: &Domain) -> Vec<(&'static str, String)> {
        let mut files = vec![
            ("name", d.level.name(self.form).to_string()),
            ("flags", d.flags.text(self.form)),
            ("min_interval", d.interval_ms.to_string()),
            ("max_interval", d.max_interval_ms.to_string()),
            ("busy_factor", d.busy.factor.to_string()),
            ("imbalance_pct", d.imbalance_pct.to_string()),
            ("cache_nice_tries", d.cache_nice_tries.to_string()),
        ];
        if self.form == Form::V612 {
            files.push(("groups_flags", self.own_group_flags(d).text(self.form)));
        }
        files
    }
    fn beyond_files(&self, d: &Domain) -> [(&'static str, String); 3] {
        let groups: Vec<String> = self.group_lists(d).iter().map(|g| format!("{{{g}}}")).collect();
        [
            ("span", format!("{} ({} CPUs)", self.span_list(d), d.weight)),
            ("groups", groups.join(" ")),
            ("imb_numa_nr", d.imb_numa_nr.to_string()),
        ]
    }
    /// Flags of the CPU's own group.
    pub fn own_group_flags(&self, d: &Domain) -> Flags {
        d.groups.first().map_or(Flags(0), |g| self.group(*g).flags)
    }
    /// CPUs of a domain as a list of the machine's CPU numbers.
    pub fn span_list(&self, d: &Domain) -> String {
        d.span.list(&self.ids)
    }
    /// CPUs of each group as lists, in ring order.
    pub fn group_lists(&self, d: &Domain) -> Vec<String> {
        d.groups.iter().map(|g| self.group(*g).span.list(&self.ids)).collect()
    }
    /// Generation of the kernel whose names and rules the towers follow.
    pub fn form(&self) -> Form {
        self.form
    }
}
