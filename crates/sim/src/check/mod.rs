//! What must hold of the simulated machine at any instant between two events, as checks that a run makes of itself.
//!
//! One file per part. Each check recounts from scratch what the mechanisms keep up to date, and looks at nothing but
//! the state that those leave behind. [`checks`] lists them and runs them: at the end of a run, and on the way as often
//! as the run is asked to.

pub mod checks;
mod counter_sums;
mod cpu_time;
mod events;
mod fault_lock_queues;
mod frames;
mod lru;
mod page_tables;
mod pending_pages;
mod pipes;
mod reverse_map;
mod run_queues;
mod swap_slots;
#[cfg(test)]
mod tests;
mod view;
