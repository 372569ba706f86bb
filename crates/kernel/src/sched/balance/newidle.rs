//! Newly-idle balancing: a CPU with nothing left to run searches before it idles (kernel-scheduler.md §4.7).
//!
//! A pass takes a modelled time per CPU looked at, so CPUs with short idle periods skip the wide domains. It takes the
//! tasks that it finds at its end. Meanwhile other CPUs run, wake tasks and pull, and the searching CPU is not idle for
//! their searches. Work that arrives on it waits for the end of the pass. Up to 5.15 a CPU whose idle periods are
//! shorter than the cost of a migration does not search ([`Newidle`]).

use super::dice::Dice;
use crate::sched::domains::{DomId, Flags};
use crate::sched::event::{Event, Why};
use crate::sched::numa_view::NumaView;
use crate::sched::rq::newidle_search::NewidleSearch;
use crate::sched::rules::{Form, Newidle};
use crate::sched::state::{CpuIdleType, Scheduler};

/// What a failed pass may cost beyond a migration, ns (155213a2aed4).
const COST_MARGIN_NS: u64 = 200;

/// State of a newly-idle search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) enum Outcome {
    /// The CPU has work.
    Found,
    /// A pass has begun, and takes time.
    Looking,
    /// The search found nothing.
    Nothing,
}

impl Scheduler {
    /// Searches for work for `cpu`, which has none. If a pass of its search is over, the search goes on from there.
    pub(in crate::sched) fn sched_balance_newidle<V: NumaView>(&mut self, cpu: u32, view: &V) -> Outcome {
        let mut search = match self.rqs[cpu as usize].newidle.take() {
            None => match self.begin_search(cpu) {
                None => return Outcome::Nothing,
                Some(search) => search,
            },
            Some(mut search) => {
                if self.end_pass(cpu, &mut search, view) {
                    return self.end_search(cpu, &search);
                }
                search
            }
        };
        while self.find_domain(&mut search) {
            if self.token_busy(cpu, search.at) {
                self.counters.serialized += 1;
                self.finish_balanced(cpu, search.at, CpuIdleType::NewlyIdle, Why::Newidle);
                search.at += 1;
                continue;
            }
            if self.pass_ns(search.at) > 0 {
                if self.topo.domain(search.at).flags.has(Flags::SERIALIZE) {
                    self.searching = Some(cpu);
                }
                search.until_ns = self.now + self.pass_ns(search.at);
                self.rqs[cpu as usize].newidle = Some(search);
                return Outcome::Looking;
            }
            if self.end_pass(cpu, &mut search, view) {
                break;
            }
        }
        self.end_search(cpu, &search)
    }
    fn begin_search(&mut self, cpu: u32) -> Option<NewidleSearch> {
        self.rqs[cpu as usize].idle_stamp = self.now.max(1);
        let next = self.jiffy + self.params.hz;
        let domains = self.topo.ids(cpu);
        let avg_idle_ns = self.rqs[cpu as usize].avg_idle_ns;
        let lowest = domains.clone().next();
        let rule = self.params.newidle;
        let too_short = match rule {
            Newidle::V516 => lowest.is_some_and(|d| avg_idle_ns < self.dom[d as usize].max_newidle_cost_ns),
            _ => (avg_idle_ns as i64) < self.params.migration_cost_ns,
        };
        let pointless = rule >= Newidle::V317 && !self.overload;
        if pointless || too_short {
            self.counters.newidle_skipped += 1;
            self.counters.newidle_too_short += u64::from(!pointless);
            if rule >= Newidle::V317 {
                let next = lowest.map_or(next, |d| next.min(self.idle_due(d)));
                let rq = &mut self.rqs[cpu as usize];
                rq.next_balance = rq.next_balance.min(next);
            }
            return None;
        }
        let (at, end) = (domains.start, domains.end);
        Some(NewidleSearch { at, end, avg_idle_ns, weight: 1, cost_ns: 0, until_ns: 0, next, passes: 0, cpus: 0 })
    }
    /// Advances to the next domain to search; `false` if there is none.
    fn find_domain(&mut self, search: &mut NewidleSearch) -> bool {
        while search.at < search.end {
            let d = search.at;
            search.next = search.next.min(self.idle_due(d));
            let dearest = self.dom[d as usize].max_newidle_cost_ns;
            if self.params.newidle >= Newidle::V313 && search.avg_idle_ns < search.cost_ns + dearest {
                self.counters.newidle_too_dear += 1;
                return false;
            }
            if self.topo.domain(d).flags.has(Flags::NEWIDLE) {
                if let Some(weight) = self.newidle_random(d) {
                    search.weight = weight;
                    return true;
                }
            }
            search.at += 1;
        }
        false
    }
    /// Makes the pass whose time is over. Returns whether it ends the search.
    fn end_pass<V: NumaView>(&mut self, cpu: u32, search: &mut NewidleSearch, view: &V) -> bool {
        let d = search.at;
        let pass = self.sched_balance_rq(cpu, d, CpuIdleType::NewlyIdle, Why::Newidle, view);
        self.count_newidle_random(d, search.weight, pass.moved > 0);
        let (cpus, spent) = (self.topo.domain(d).weight, self.pass_ns(d));
        search.passes += 1;
        search.cpus += cpus;
        self.counters.newidle_passes += 1;
        self.counters.newidle_pulled += u64::from(pass.moved);
        search.cost_ns += spent;
        if self.searching == Some(cpu) {
            self.searching = None;
        }
        if self.params.newidle >= Newidle::V313 {
            let failed = self.params.failed_newidle_costs && pass.moved == 0;
            let bumped = 3 * self.dom[d as usize].max_newidle_cost_ns / 2;
            let most = self.params.migration_cost_ns.max(0) as u64 + COST_MARGIN_NS;
            self.update_newidle_cost(d, if failed { bumped.min(most) } else { spent });
        }
        search.at += 1;
        let stop = match self.params.form {
            Form::V61 => !self.rqs[cpu as usize].list.is_empty(),
            Form::V612 => !pass.go_on,
        };
        pass.moved > 0 || stop
    }
    fn end_search(&mut self, cpu: u32, search: &NewidleSearch) -> Outcome {
        let NewidleSearch { passes, cpus, cost_ns, next, .. } = *search;
        if passes > 0 {
            self.events.push(Event::Balanced { cpu, why: Why::Newidle, passes, cpus, ns: cost_ns, stretch_ns: 0 });
        }
        let rule = self.params.newidle;
        let rq = &mut self.rqs[cpu as usize];
        let found = !rq.list.is_empty();
        if rule >= Newidle::V313 {
            rq.max_idle_cost_ns = rq.max_idle_cost_ns.max(search.cost_ns);
        }
        if rule >= Newidle::V317 {
            rq.next_balance = rq.next_balance.min(next);
        } else if found || self.jiffy > rq.next_balance {
            rq.next_balance = next;
        }
        if !found {
            return Outcome::Nothing;
        }
        rq.idle_stamp = 0;
        Outcome::Found
    }
    /// Jiffy at which the domain is due for an idle CPU.
    fn idle_due(&self, dom: DomId) -> u64 {
        self.dom[dom as usize].last_balance + self.get_sd_balance_interval(dom, false)
    }
    /// Decides at random whether to search the domain (NI_RANDOM): `None` to skip it, else the weight of a success.
    fn newidle_random(&mut self, dom: DomId) -> Option<u32> {
        if !self.params.ni_random || !self.dom[dom as usize].dice.is_thrown(self.params.ni_rate) {
            return Some(1 + if self.params.ni_random { self.dom[dom as usize].dice.ratio } else { 0 });
        }
        // xorshift64*. Any generator will do, as long as its sequence never changes.
        self.random_state ^= self.random_state >> 12;
        self.random_state ^= self.random_state << 25;
        self.random_state ^= self.random_state >> 27;
        let draw = (self.random_state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 54) as u32;
        let searched = self.dom[dom as usize].dice.searches(draw);
        if searched.is_none() {
            self.counters.newidle_dice += 1;
            self.count_newidle(dom, 0);
        }
        searched
    }
    fn count_newidle_random(&mut self, dom: DomId, weight: u32, pulled: bool) {
        if self.params.ni_random {
            self.count_newidle(dom, if pulled { Dice::credit(weight) } else { 0 });
        }
    }
    fn count_newidle(&mut self, dom: DomId, success: u32) {
        self.dom[dom as usize].dice.count(success, self.params.ni_rate, self.now);
    }
}
