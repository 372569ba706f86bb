//! `numalab doctor`: what this host can run, and the commands that install what is missing.

use crate::failure::{Done, Exit, Failure};
use crate::terminal;
use numalab_lab::doctor::{self, Finding, Verdict};
use numalab_lab::qemu;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// QEMU program to check [default: qemu-system-x86_64]
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<PathBuf>,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// `doctor --json`.
#[derive(Serialize)]
struct Report<'a> {
    can_run: bool,
    findings: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    verdict: &'a str,
    found: &'a str,
    purpose: &'a str,
    command: &'a str,
}

/// Prints every finding. The exit code is 3 if guests cannot be run here.
///
/// # Errors
/// Never in practice.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let program = args.qemu.clone().unwrap_or_else(qemu::default_program);
    let findings = doctor::examine(&program);
    let can_run = doctor::can_run(&findings);
    let text = if args.json {
        let findings = findings.iter().map(line).collect();
        Done::json(&Report { can_run, findings })?.text
    } else {
        text(&findings, can_run, terminal::width())
    };
    Ok(Done { text, exit: if can_run { Exit::OK } else { Exit::ENVIRONMENT } })
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Partly => "partly",
        Verdict::Missing => "missing",
    }
}

fn line(f: &Finding) -> Line<'_> {
    Line { name: f.name, verdict: word(f.verdict), found: &f.found, purpose: f.purpose, command: &f.remedy }
}

fn text(findings: &[Finding], can_run: bool, width: usize) -> String {
    let names = findings.iter().map(|f| f.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for f in findings {
        let head = format!("{:<8} {:<names$}  ", word(f.verdict), f.name);
        out += &terminal::hanging(&head, &format!("{}  (for {})", f.found, f.purpose), width);
        if !f.remedy.is_empty() {
            // A command is not wrapped: it is copied whole.
            out += &format!("{:<8} {:<names$}  -> {}\n", "", "", f.remedy);
        }
    }
    let end = match can_run {
        true => "\nGuests can be run: numalab run --backend vm …\n",
        false => {
            "\nGuests cannot be run until what is missing is there; \
             the commands above supply it (docs/reference/vm.md).\n"
        }
    };
    out + &terminal::fit(end, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_fit_the_terminal_but_for_commands() {
        let findings = doctor::examine(std::path::Path::new("/no/such/qemu"));
        for width in [60, 80, 120] {
            let text = text(&findings, false, width);
            // A path may be longer than the terminal.
            let path = |l: &&str| l.split_whitespace().any(|word| word.starts_with('/') && word.len() > 30);
            let long = text.lines().filter(|l| !l.contains("->") && !path(l) && l.chars().count() > width);
            assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new(), "{width}");
        }
    }

    #[test]
    fn a_host_without_qemu_gets_the_command_and_exit_code_3() {
        let args = |json| Args { qemu: Some("/no/such/qemu".into()), json };
        let done = run(&args(false)).unwrap();
        assert_eq!(done.exit, Exit::ENVIRONMENT);
        assert!(done.text.contains("-> apt-get install --no-install-recommends qemu-system-x86\n"), "{}", done.text);
        let json: serde_json::Value = serde_json::from_str(&run(&args(true)).unwrap().text).unwrap();
        assert_eq!(json["can_run"], false);
        assert_eq!(json["findings"][0]["verdict"], "missing");
    }
}
