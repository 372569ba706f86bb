//! Tests of the hardware model: the numbered vectors of machines.md, theory, properties.

mod cache;
mod contention;
mod contention_properties;
mod cost;
mod curve;
mod flows;
pub(crate) mod machines;
mod page_walker;
mod tlb;
