//! Newly-idle balancing: a CPU that runs dry searches before it idles (kernel-scheduler.md §4.7).
//!
//! The search has a modelled cost per CPU looked at, so that CPUs with short idle periods skip the wide domains. Up to
//! 5.15 a CPU whose idle periods are shorter than a migration is worth does not search at all ([`Newidle`]).

use super::super::config::{Form, Newidle};
use super::super::domains::{DomId, Flags};
use super::super::event::{Event, Why};
use super::super::numa::NumaView;
use super::super::scheduler::Scheduler;
use super::Idle;

impl Scheduler {
    /// Searches for work for `cpu`, which has none; returns whether it has some now.
    pub(in crate::sched) fn newidle_balance<V: NumaView>(&mut self, cpu: u32, view: &V) -> bool {
        self.rqs[cpu as usize].idle_stamp = self.now.max(1);
        let mut next = self.jiffy + self.p.hz;
        let domains = self.topo.ids(cpu);
        let avg_idle = self.rqs[cpu as usize].avg_idle_ns;
        let lowest = domains.clone().next();
        let rule = self.p.newidle;
        let too_short = match rule {
            Newidle::V516 => lowest.is_some_and(|d| avg_idle < self.dom[d as usize].max_newidle_cost_ns),
            _ => (avg_idle as i64) < self.p.migration_cost_ns,
        };
        let pointless = rule >= Newidle::V317 && !self.overload;
        if pointless || too_short {
            self.counters.newidle_skipped += 1;
            if rule >= Newidle::V317 {
                if let Some(d) = lowest {
                    next = next.min(self.idle_due(d));
                }
                let rq = &mut self.rqs[cpu as usize];
                rq.next_balance = rq.next_balance.min(next);
            }
            return false;
        }
        let mut cost = 0;
        let mut work = (0, 0, 0);
        for d in domains {
            next = next.min(self.idle_due(d));
            if rule >= Newidle::V313 && avg_idle < cost + self.dom[d as usize].max_newidle_cost_ns {
                break;
            }
            if !self.topo.domain(d).flags.has(Flags::NEWIDLE) {
                continue;
            }
            let Some(weight) = self.draw_lot(d) else { continue };
            let pass = self.balance_pass(cpu, d, Idle::Newly, Why::Newidle, view);
            self.settle_lot(d, weight, pass.moved > 0);
            let cpus = self.topo.domain(d).weight;
            let spent = self.p.balance_cpu_ps * u64::from(cpus) / 1000;
            work = (work.0 + 1, work.1 + cpus, work.2.max(cpus));
            cost += spent;
            if rule >= Newidle::V313 {
                self.remember_cost(d, spent);
            }
            let stop = match self.p.form {
                Form::V61 => !self.rqs[cpu as usize].list.is_empty(),
                Form::V612 => !pass.go_on,
            };
            if pass.moved > 0 || stop {
                break;
            }
        }
        if work.0 > 0 {
            let (passes, cpus, stretch) = work;
            self.events.push(Event::Balanced { cpu, why: Why::Newidle, passes, cpus, stretch });
        }
        let rq = &mut self.rqs[cpu as usize];
        let found = !rq.list.is_empty();
        if rule >= Newidle::V313 {
            rq.max_idle_cost_ns = rq.max_idle_cost_ns.max(cost);
        }
        if rule >= Newidle::V317 {
            rq.next_balance = rq.next_balance.min(next);
        } else if found || self.jiffy > rq.next_balance {
            rq.next_balance = next;
        }
        if found {
            rq.idle_stamp = 0;
        }
        found
    }
    /// When the domain is due for an idle CPU, jiffies.
    fn idle_due(&self, dom: DomId) -> u64 {
        self.dom[dom as usize].last_balance + self.interval_jiffies(dom, false)
    }
    /// Keeps the largest cost of a newly-idle pass; from 5.16 on one that costs no more lets the memory of it fade
    /// (e60b56e46b38), before only the tick does.
    pub(in crate::sched) fn remember_cost(&mut self, dom: DomId, cost_ns: u64) {
        let state = &mut self.dom[dom as usize];
        if cost_ns > state.max_newidle_cost_ns {
            state.max_newidle_cost_ns = cost_ns;
            if self.p.newidle == Newidle::V516 {
                state.last_decay = self.jiffy;
            }
        } else if self.p.newidle == Newidle::V516 {
            self.decay_newidle_cost(dom);
        }
    }
    /// NI_RANDOM: `None` to skip the domain this time, else the weight of a success.
    fn draw_lot(&mut self, dom: DomId) -> Option<u32> {
        if !self.p.ni_random {
            return Some(1);
        }
        // xorshift64*: any generator will do, it must only be our own and frozen.
        self.lots ^= self.lots >> 12;
        self.lots ^= self.lots << 25;
        self.lots ^= self.lots >> 27;
        let draw = (self.lots.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 54) as u32;
        let weight = 1 + self.dom[dom as usize].newidle_ratio;
        if draw > weight {
            self.count_newidle(dom, 0);
            return None;
        }
        Some(weight)
    }
    fn settle_lot(&mut self, dom: DomId, weight: u32, pulled: bool) {
        if self.p.ni_random {
            self.count_newidle(dom, if pulled { (1024 + weight / 2) / weight } else { 0 });
        }
    }
    fn count_newidle(&mut self, dom: DomId, success: u32) {
        let state = &mut self.dom[dom as usize];
        state.newidle_call += 1;
        state.newidle_success += success;
        if state.newidle_call >= 1024 {
            state.newidle_ratio = state.newidle_success;
            state.newidle_call /= 2;
            state.newidle_success /= 2;
        }
    }
}
