//! `numalab balance` in real kernels: the same program is the test, process 1 of the guest, the daemon and its targets.
//!
//! Problem: what the daemon does to real processes can only be seen on a machine with several nodes.
//! Approach: [`host`] puts this very program, with the libraries that it needs, into an initial RAM disk and boots a
//! packaged kernel with four nodes. In the guest ([`guest`]) it starts targets ([`target`]) and the daemon as
//! processes, waits for what must come out, and prints one line for each scenario. Every target checks the contents of
//! its memory.
//!
//! `cargo test` prints that a guest is needed. `cargo test -p numalab-host --test guest -- --ignored` runs some
//! scenarios on one kernel. With `full` it runs all on two kernels; with names of scenarios, those.
#![allow(clippy::unwrap_used)]

mod guest;
mod host;
mod target;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if std::process::id() == 1 {
        guest::main();
    }
    match args.first().map(String::as_str) {
        Some("target") => target::main(&args[1..]),
        Some("daemon") => guest::daemon(&args[1..]),
        Some("undo") => guest::undo(&args[1..]),
        _ => host::main(&args),
    }
}
