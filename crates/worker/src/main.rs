//! `numalab-worker run JOB`: carries out a job on this machine and prints the outcome as JSON.
//! As process 1 it is the init of a guest. The coordinator starts `numalab-worker process …` itself.

use numalab_worker::job::Job;
use numalab_worker::run::{self, RunError};
use numalab_worker::setting::{EXIT_SETTING, SETTING_LINE};
use numalab_worker::{init, process, say, sys};
use std::io::Write;

const USAGE: &str = "usage: numalab-worker run JOB.json   (prints the outcome as JSON)\n";

fn main() {
    if std::process::id() == 1 {
        init::main();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let status = match words[..] {
        ["run", path] => run_job(path),
        ["process", index, control, job] => match (index.parse(), control.parse(), job.parse()) {
            (Ok(index), Ok(control), Ok(job)) => process::main(index, control, job),
            _ => 2,
        },
        _ => {
            eprint!("{USAGE}");
            2
        }
    };
    std::process::exit(status);
}

fn run_job(path: &str) -> i32 {
    let fail = |reason: &dyn std::fmt::Display| {
        say(&format!("numalab-worker: {path}: {reason}"));
        1
    };
    let job = match std::fs::read(path) {
        Ok(bytes) => Job::from_bytes(&bytes),
        Err(e) => return fail(&e),
    };
    let job = match job {
        Ok(job) => job,
        Err(e) => return fail(&e),
    };
    let outcome = match run::run(&job, &mut |elapsed_ns| say(&format!("beat {elapsed_ns}"))) {
        Ok(outcome) => outcome,
        Err(RunError::Setting(e)) => {
            say(&format!("{SETTING_LINE}{}", serde_json::to_string(&e).unwrap_or_default()));
            return EXIT_SETTING;
        }
        Err(e) => {
            let status = fail(&e);
            if let RunError::Stopped(signal) = e {
                sys::die_of(signal);
            }
            return status;
        }
    };
    let written = serde_json::to_vec(&outcome).map_err(|e| e.to_string());
    match written.and_then(|json| std::io::stdout().write_all(&json).map_err(|e| e.to_string())) {
        Ok(()) => 0,
        Err(e) => fail(&e),
    }
}
