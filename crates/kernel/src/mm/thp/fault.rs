//! Carrying out the attempts of a huge-page fault.

use crate::mm::alloc::fast::AllocSite;
use crate::mm::alloc::request::{Got, Request};
use crate::mm::physical_memory::NodeMemory;
use crate::mm::reclaim::anon_reclaim::Owners;
use crate::mm::thp::locality::attempt::FaultContext;
use crate::mm::thp::locality::rule::Locality;
use crate::mm::work::Work;

/// Where an attempt of a huge-page fault succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landed {
    /// A huge page; else a ladder preferred a base page.
    pub huge: bool,
    /// The page.
    pub got: Got,
    /// Number of the attempt, from 0.
    pub attempt: u8,
}

impl NodeMemory {
    /// Makes the attempts of a rule in order until one succeeds, and counts `thp_fault_alloc` or
    /// `thp_fault_fallback`. With `None` the fault goes on as a fault for a base page.
    pub fn huge_fault<O: Owners>(
        &mut self,
        rule: Locality,
        ctx: &FaultContext,
        env: &mut O,
        work: &mut Work,
    ) -> Option<Landed> {
        let mut number = 0;
        while let Some(a) = rule.attempt(ctx, number) {
            let got = if a.free_only {
                let all = self.memory_nodes();
                self.alloc_free(&Request::anon(a.gfp, a.huge, ctx.here, &a.place, ctx.mems, all))
            } else {
                let site = AllocSite { here: ctx.here, place: a.place, mems: ctx.mems };
                self.alloc_placed(a.gfp, a.huge, &site, env, work).ok()
            };
            if let Some(got) = got {
                if a.huge {
                    self.events.thp_fault_alloc += 1;
                } else {
                    self.events.thp_fault_fallback += 1;
                }
                return Some(Landed { huge: a.huge, got, attempt: number as u8 });
            }
            number += 1;
        }
        self.events.thp_fault_fallback += 1;
        None
    }
}
