//! What mechanisms want to happen later: wake-ups, timers of kernel threads, new ends of slices.
//!
//! A mechanism notes an effect here instead of reaching for the event queue. The engine carries all of them out in the
//! order in which they were noted, as soon as the mechanism returns.

use crate::state::cpu::Pending;
use crate::state::event_queue::Event;

/// One effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An event at an instant, ns.
    At(u64, Event),
    /// The slice of a CPU now ends at `at_ns`, for this reason.
    Plan {
        /// CPU.
        cpu: usize,
        /// End of the slice, ns.
        at_ns: u64,
        /// What the CPU does then.
        pending: Pending,
    },
}

/// Effects that the engine has not carried out yet, in order.
#[derive(Clone, Debug, Default)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// An event happens at `at_ns`.
    pub fn at(&mut self, at_ns: u64, event: Event) {
        self.0.push(Effect::At(at_ns, event));
    }
    /// The slice of `cpu` ends at `at_ns`, for the reason `pending`.
    pub fn plan(&mut self, cpu: usize, at_ns: u64, pending: Pending) {
        self.0.push(Effect::Plan { cpu, at_ns, pending });
    }
    /// Exchanges the list with an empty one, which keeps its allocation.
    pub fn swap(&mut self, list: &mut Vec<Effect>) {
        debug_assert!(list.is_empty());
        std::mem::swap(&mut self.0, list);
    }
}
