//! `docs/reference/exit-codes.md`, from the codes of commands and of failed guests.

use super::{fresh, page};
use crate::failure::Exit;
use numalab_lab::failure::Failure;

const HEAD: &str = "\
Every command ends with one of these. A failure is one line on standard error:
`numalab: FILE:LINE:COLUMN: what is wrong; expected …; did you mean …?`. For the command line, the option stands instead of
the place.

Of several runs the highest code counts. `compare` and `report` count the runs that they show as `run` does.
";

const TAIL: &str = "
Before 130 and 143, `run` and `reproduce` say how many runs have their record. The same command resumes. `reproduce` counts
those of the group that was running. A signal that was ignored when the command started stays ignored.
";

/// Codes of the command itself.
const OWN: [(Exit, &str); 4] = [
    (Exit::OK, "Done."),
    (
        Exit::FINDING,
        "Done, and something was found. A run failed or has no record yet; a bound of `--fail-if` is exceeded or could \
         not be tested; a calibration has no solution; a published table came out worse than recorded; a repeated \
         run differs; a bisection has no single first bad commit.",
    ),
    (
        Exit::USAGE,
        "The command line or a file is wrong, and nothing was run; or the kernel of a run lacks, refuses or changes a \
         setting that was asked for.",
    ),
    (Exit::ENVIRONMENT, "This machine refuses: files, permissions, a missing tool, a damaged record."),
];

/// What a failed run's code says.
fn meaning(failure: Failure) -> &'static str {
    match failure {
        Failure::WorkerKilled => "A signal from elsewhere ended the worker on this host.",
        Failure::Panic => "A guest's kernel panicked.",
        Failure::RunTimeout => "A run reached its limit of time, or a guest its run budget.",
        Failure::Hang => "A guest stopped reporting.",
        Failure::BootTimeout => "A guest did not boot within its budget.",
        Failure::OutOfMemory => "A run ended for want of memory.",
        Failure::Garbage => "A guest's report could not be read.",
        Failure::Setting => "The kernel of a run lacks, refuses or changes a setting that was asked for.",
        Failure::Refused => "The worker could not carry out the job.",
        Failure::QemuFailed => "QEMU could not start, or ended by itself.",
        Failure::QemuKilled => "QEMU was killed.",
    }
}

fn exit_codes() -> String {
    let mut rows: Vec<(u8, &str)> = OWN.map(|(exit, text)| (exit.code(), text)).to_vec();
    let failed = Failure::ALL.into_iter().filter(|f| f.exit_code() > 3);
    rows.extend(failed.map(|f| (f.exit_code(), meaning(f))));
    rows.sort_unstable();
    let signals = [(signal_hook::consts::SIGINT, "Ctrl-C (SIGINT)"), (signal_hook::consts::SIGTERM, "SIGTERM")];
    let mut table = String::from("\n| code | meaning |\n|---|---|\n");
    rows.iter().for_each(|(code, text)| table.push_str(&format!("| {code} | {text} |\n")));
    signals.iter().for_each(|(number, name)| table.push_str(&format!("| {} | Ended by {name}. |\n", 128 + number)));
    page("Exit codes", HEAD, &(table + TAIL))
}

#[test]
fn the_page_of_exit_codes_is_fresh() {
    let text = exit_codes();
    for code in (0..=12).chain([130, 143]) {
        assert_eq!(text.matches(&format!("\n| {code} | ")).count(), 1, "{code}");
    }
    fresh("exit-codes.md", &text);
}
