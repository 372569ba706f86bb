//! Real accesses to memory: one file per walk.
//!
//! Access patterns describe themselves in terms of walks ([`numalab_nouns::access`]), and the simulator carries out the
//! same walks; no pattern has a name here. Every walk accesses one 8-byte word of each 64-byte line that it visits. An
//! integer accumulator spreads writes evenly over the accesses; a pass that writes at all writes at least once to each
//! page. Work is done in batches. After each batch the thread computes for the time of its lines and adds to the score,
//! so that samples show a smooth rate.

pub mod blocks;
mod draw;
mod loops;
mod plan;
pub mod random;
mod range;
pub mod stride;
pub mod sweep;
#[cfg(test)]
mod test_buffer;
mod walk;
mod write_turn;

pub use draw::{Draw, OpenBlock};
pub use loops::{cost_ps, loop_of, LOOPS};
pub use numalab_nouns::access::LINE_BYTES;
pub use plan::{run, Plan, Tally};
pub use range::Range;
pub use walk::{Lines, Walk};
pub use write_turn::WriteTurn;
