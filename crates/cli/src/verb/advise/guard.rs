//! The hidden verb that `advise` starts as its guardian: it puts settings back when `advise` ends.

use crate::failure::Done;
use numalab_host::advise::guardian;

/// Name of the verb.
pub const VERB: &str = "guard-settings";

/// Serves until standard input ends, then puts everything back.
pub fn run() -> Done {
    guardian::serve(std::io::stdin().lock(), std::io::stdout().lock());
    Done::text(String::new())
}
