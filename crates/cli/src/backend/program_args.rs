//! The user's own program in place of a workload: `run … -- PROGRAM ARGUMENTS`.

use crate::failure::Failure;
use crate::options::{time_option, variable};
use numalab_lab::program::{name_of, Given, Program, ProgramError};
use std::time::Duration;

/// Heading of these options in `--help`.
const HEADING: &str = "Programs (-- PROGRAM)";
/// Longest time of a program, if none is given.
const LONGEST: Duration = Duration::from_secs(3600);

/// A program and what it is given.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ProgramArgs {
    /// Program to run in place of a workload, after `--`, with its arguments, for --backend vm or host
    /// (docs/how-to/run-a-program-in-guests.md)
    #[arg(last = true, value_name = "PROGRAM", group = "what")]
    command: Vec<String>,
    /// File, directory or program that the guest is to have beside the program and its libraries. May be repeated
    #[arg(help_heading = HEADING, long, value_name = "PATH", requires = "command")]
    with: Vec<String>,
    /// Variable of the program's environment. May be repeated
    #[arg(help_heading = HEADING, long, value_name = "NAME=VALUE", value_parser = variable, requires = "command")]
    env: Vec<(String, String)>,
    /// Longest time of the program, on the clock of the machine it runs on [default: 1h]
    #[arg(help_heading = HEADING, long = "for", value_name = "TIME", value_parser = time_option, requires = "command")]
    longest: Option<Duration>,
}

impl From<ProgramError> for Failure {
    fn from(e: ProgramError) -> Self {
        Self::usage(e.to_string())
    }
}

impl ProgramArgs {
    /// These, if a program was given.
    pub fn given(&self) -> Option<&Self> {
        (!self.command.is_empty()).then_some(self)
    }

    /// Refuses options of a program without one. (clap takes a workload for the program, since they are of one group.)
    ///
    /// # Errors
    /// The first such option.
    pub fn check(&self) -> Result<(), Failure> {
        let options =
            [("--with", !self.with.is_empty()), ("--env", !self.env.is_empty()), ("--for", self.longest.is_some())];
        match options.into_iter().find(|(_, is_given)| *is_given && self.command.is_empty()) {
            Some((option, _)) => {
                let what = format!("command line: `{option}` is for a program");
                Err(Failure::usage(format!("{what}; expected the program and its arguments behind `--`")))
            }
            None => Ok(()),
        }
    }

    /// What the program is called in reports.
    pub fn name(&self) -> String {
        name_of(self.command.first().map(String::as_str).unwrap_or_default())
    }

    fn arguments(&self) -> Given<'_> {
        let longest = self.longest.unwrap_or(LONGEST);
        let limit_ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        Given { command: &self.command, with: &self.with, environment: &self.env, limit_ns }
    }

    /// The program with what it needs in a guest.
    ///
    /// # Errors
    /// It, a library or a named file is missing.
    pub fn for_guests(&self) -> Result<Program, Failure> {
        Ok(Program::for_guests(&self.arguments())?)
    }

    /// The program as it runs on this machine.
    ///
    /// # Errors
    /// It is missing; or files are named, which are here anyway.
    pub fn for_host(&self) -> Result<Program, Failure> {
        if let Some(path) = self.with.first() {
            let what = "has no effect with --backend host, where all files are";
            return Err(Failure::usage(format!("--with {path}: {what}; expected --backend vm")));
        }
        Ok(Program::for_host(&self.arguments())?)
    }

    /// The error for a program that is to be simulated.
    pub fn not_simulated(&self) -> Failure {
        let name = &self.command.join(" ");
        Failure::usage(format!(
            "-- {name}: the simulator runs workloads, not programs; expected --backend vm or host, or \
             `numalab advise --machine M -- {name}`, which records it and simulates what it does with memory"
        ))
    }
}
