//! The engine: the event loop, the slices of CPUs, preemption, and what threads wait for.
//!
//! It alone knows the event queue. Mechanisms in the folders below change the
//! [simulated machine](crate::state::simulation), return the time they took, and note in
//! [`effects`](crate::state::effects) what is to happen later.

pub(crate) mod carry_out;
pub(crate) mod deferred_clone;
pub(crate) mod dispatch;
pub(crate) mod event_loop;
pub(crate) mod going_quiet;
pub(crate) mod next_tick;
pub(crate) mod preempt;
pub(crate) mod sched_reports;
pub(crate) mod score_request;
pub(crate) mod settle;
pub(crate) mod stages;
pub(crate) mod standstill;
pub(crate) mod step;
pub(crate) mod sync;
pub(crate) mod tick_event;
pub(crate) mod wait_objects;
