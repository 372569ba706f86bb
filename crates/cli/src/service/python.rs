//! Verbs that the Python package carries out: their options are read here, and handed on as JSON.

use crate::failure::{Done, Failure};
use serde::Serialize;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The interpreter that has the package. The command of the package names its own.
const INTERPRETER: &str = "NUMALAB_PYTHON";

/// Option of Python that keeps the current folder, which may be anybody's, from being a place of modules.
const SAFE_PATH: &str = "-P";

/// Becomes the Python program of `verb`.
///
/// # Errors
/// There is no Python, or it lacks the package. The message says what to install.
pub fn become_verb(verb: &str, extra: &str, options: &impl Serialize) -> Result<Done, Failure> {
    let python = std::env::var_os(INTERPRETER).unwrap_or_else(|| "python3".into());
    let shown = python.to_string_lossy().into_owned();
    let wheel = format!("`pip install \"$(echo numalab-*.whl)[{extra}]\"`, with the wheel that `make dist` makes");
    let install = format!("{wheel}, or {INTERPRETER} to name the interpreter that has it");
    let mut probe = Command::new(&python);
    probe
        .args([SAFE_PATH, "-c", "import numalab.verbs"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match probe.status() {
        Ok(status) if status.success() => {}
        Ok(_) => {
            let what =
                format!("{verb}: {shown} has no package numalab, which carries out this verb, or is older than 3.11");
            return Err(Failure::environment(format!("{what}; expected {install}")));
        }
        Err(e) => {
            let what = format!("{verb}: {shown}: {e}; this verb needs Python 3.11 with the package numalab");
            return Err(Failure::environment(format!("{what}; expected {install}")));
        }
    }
    let options = serde_json::to_string(options)?;
    // Returns only if the program could not be started.
    let e = Command::new(&python).args([SAFE_PATH, "-m", "numalab.verbs", verb, &options]).exec();
    Err(Failure::environment(format!("{verb}: {shown}: {e}")))
}
