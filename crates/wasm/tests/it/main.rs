//! Runs of a page: the same outcomes as those of the command, in whatever steps, and its words for what is wrong.
#![allow(clippy::unwrap_used)]

mod answers;
mod errors;
mod steps;

use numalab_wasm::asked::Asked;

/// A request.
fn asked(json: &str) -> Asked {
    serde_json::from_str(json).unwrap()
}
