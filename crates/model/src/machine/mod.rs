//! From files and other tools' descriptions to a [`Machine`], and its drawing.
//!
//! A machine comes from a catalog name, a path or a shorthand ([`load`]), from a file ([`from_toml_with`]),
//! from another tool's description ([`import`]), or from its CPUs alone ([`Machine::bare`]). [`show`] draws it.
//!
//! | section of a file | module |
//! |---|---|
//! | `extends` | `layers` |
//! | `[layout]`, `[[node]]`, `[[llc]]`, `cores`, `[memory]` | `layout`, `index` |
//! | `[distance]`, `[hop]`, `[latency]` | `matrix` |
//! | `[[link]]`, `routing` | `links`, `routes` |
//! | `class`, `ipc`, `[costs]`, `[tlb]` | `class`, `load` |
//! | `[clock]`, `[cache]`, `[stream]` | `load` |
//! | `[background]` | `background` |

mod background;
mod by_name;
mod check;
mod class;
pub mod cpulist;
mod distance;
pub mod import;
mod index;
mod layers;
mod layout;
mod limits;
mod links;
mod load;
mod matrix;
mod routes;
mod shorthand;
mod show;
pub mod size;
mod text;
mod warning;

pub use by_name::load;
pub use layers::{file_name, Find};
pub use limits::{MAX_CPUS, MAX_MEMORY, MAX_NODES};
pub use load::{check_name, from_toml, from_toml_with};
pub use numalab_nouns::machine::*;
pub use shorthand::from_shorthand;
pub use show::{show, summary};
pub use text::{read_text, MAX_FILE_BYTES};
pub use warning::DOUBT;
