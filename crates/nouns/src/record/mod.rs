//! What a run produces, whichever backend ran it.
//!
//! [`Outcome`] is what a backend returns. [`events`] and [`why`] are the logs of a run that was asked for them.

pub mod events;
mod latencies;
mod outcome;
pub mod stalls;
pub mod why;

pub use latencies::{Latencies, FEWEST};
pub use outcome::{
    EffectiveTunable, Outcome, Scalar, Series, Settled, SettledRate, Status, ALWAYS_RECORDED, TIMES, TOO_SHORT,
    WAKE_UPS,
};
