//! Tests of the hardware model: the numbered vectors of the machine reference, theory, properties.

mod contention;
mod contention_properties;
mod machines;
mod rng;
