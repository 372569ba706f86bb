//! The attempts of a huge-page fault, carried out.

use crate::mm::alloc::fast::AllocSite;
use crate::mm::alloc::request::{AllocatedPage, Request};
use crate::mm::kernel_work::Work;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::reclaim::anon_reclaim::AnonReclaim;
use crate::mm::thp::locality::parts::FaultContext;
use crate::mm::thp::locality::Locality;

/// The page that an attempt of a huge-page fault allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugeFaultPage {
    /// Whether it is a huge page; a ladder may prefer a base page.
    pub huge: bool,
    /// The allocated page.
    pub got: AllocatedPage,
    /// Number of the attempt, from 0.
    pub attempt: u8,
}

impl PhysicalMemory {
    /// Makes the attempts of a rule in order until one succeeds, and counts `thp_fault_alloc` or `thp_fault_fallback`.
    /// If it returns `None`, the caller allocates a base page.
    pub fn alloc_thp<A: AnonReclaim>(
        &mut self,
        rule: Locality,
        ctx: &FaultContext,
        anon: &mut A,
        work: &mut Work,
    ) -> Option<HugeFaultPage> {
        let mut number = 0;
        while let Some(a) = rule.attempt(ctx, number) {
            let got = if a.free_only {
                let all = self.memory_nodes();
                self.alloc_above_low(&Request::anon(a.gfp, a.huge, ctx.here, &a.policy_nodes, ctx.mems, all))
            } else {
                let site = AllocSite { here: ctx.here, policy_nodes: a.policy_nodes, mems: ctx.mems };
                self.alloc_anon(a.gfp, a.huge, &site, anon, work).ok()
            };
            if let Some(got) = got {
                if a.huge {
                    self.events.thp_fault_alloc += 1;
                } else {
                    self.events.thp_fault_fallback += 1;
                }
                return Some(HugeFaultPage { huge: a.huge, got, attempt: number as u8 });
            }
            number += 1;
        }
        self.events.thp_fault_fallback += 1;
        None
    }
}
