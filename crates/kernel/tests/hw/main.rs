//! Tests of the hardware model: the numbered vectors of the machine reference, theory, properties.

mod rng;
