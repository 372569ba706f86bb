//! Progress where standard error is no terminal: a line each ten seconds, so that a log shows that the command is alive
//! and when it ends.

use crate::failure::{note, Failure};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Environment variable with the time between two lines, s; 0 for none.
const VARIABLE: &str = "NUMALAB_PROGRESS";
/// The time between two lines where nothing says it.
const USUAL: Duration = Duration::from_secs(10);

/// Time between two lines; `None` if there are to be none.
///
/// # Errors
/// [`VARIABLE`] is no number of seconds from 0 to 86,400.
pub(super) fn interval() -> Result<Option<Duration>, Failure> {
    match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => of(&text).map_err(|e| Failure::usage(format!("{VARIABLE}={text:?}: {e}"))),
        _ => Ok(Some(USUAL)),
    }
}

/// The time that a text says.
fn of(text: &str) -> Result<Option<Duration>, String> {
    let seconds = text.trim().parse::<f64>().ok().filter(|s| (0.0..=86_400.0).contains(s));
    let seconds = seconds.ok_or("expected seconds between two lines of progress, from 0 (none) to 86400")?;
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds.max(0.01))))
}

/// Prints `what` and how far it is, each time that `every` has passed, until the result is dropped.
pub(super) fn tell(
    what: String,
    how_far: impl Fn() -> String + Send + 'static,
    every: Duration,
) -> (Sender<()>, Option<JoinHandle<()>>) {
    let (stop, stopped) = channel::<()>();
    // If the thread cannot be started, nothing is said; the runs do not need it.
    let thread = std::thread::Builder::new().spawn(move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            note(&format!("{what}: {}", how_far()));
        }
    });
    (stop, thread.ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_lines_is_seconds() {
        assert_eq!((of("0"), of("2.5")), (Ok(None), Ok(Some(Duration::from_millis(2500)))));
        for bad in ["ten", "-1", "1e9", "NaN", "10s"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
