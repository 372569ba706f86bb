//! `numalab-worker run JOB`: carries out a job on this machine and prints its outcome as JSON.
//! As process 1 it is the init of a guest. `process …` is for its own use.

use numalab_worker::job::Job;
use numalab_worker::{init, process, run, say};
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
    let job = std::fs::read(path).map_err(|e| format!("{path}: {e}"));
    let job = job.and_then(|bytes| Job::from_bytes(&bytes).map_err(|e| format!("{path}: {e}")));
    let outcome = job.and_then(|job| {
        run::run(&job, &mut |elapsed_ns| say(&format!("beat {elapsed_ns}"))).map_err(|e| format!("{path}: {e}"))
    });
    let json = outcome.and_then(|o| serde_json::to_vec(&o).map_err(|e| e.to_string()));
    match json.and_then(|j| std::io::stdout().write_all(&j).map_err(|e| e.to_string())) {
        Ok(()) => 0,
        Err(reason) => {
            say(&format!("numalab-worker: {reason}"));
            1
        }
    }
}
