//! Tests of the hardware model: the numbered vectors of the machine reference, theory, properties.

mod cache;
mod contention;
mod contention_properties;
mod cost;
mod flows;
mod machines;
mod tlb;
