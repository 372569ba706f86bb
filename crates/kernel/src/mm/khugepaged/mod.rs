//! khugepaged: collapsing base pages into huge ones in the background (thp-and-allocation.md section 9).
//!
//! * [`slot`] may a 2 MiB range be collapsed, and onto which node;
//! * [`pace`] how much it looks at, and when it sleeps.
//!
//! The collapse itself changes address spaces: `daemons.rs` of the simulator.

pub mod pace;
pub mod slot;
pub(in crate::mm) mod tunables;

pub use pace::{Pace, Pause};
pub use slot::{scan_slot, target_node, SlotFacts, SlotVerdict, Target};
pub use tunables::KhugepagedTunables;
