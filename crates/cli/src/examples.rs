//! Examples below the help of every command.

/// Commands by their names, with lines that can be typed. A word that stands for something is in capitals.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "numalab run first-steps",
            "numalab run --machine milan-2s-nps1 --workload numa02 --kernel off,6.12 --iterations 3",
            "numalab run --machine 4x1x2x1 --workload first-touch --kernel 6.12 --ab scan.scan_size_mb=64,1024",
            "numalab run --workload numa02 --machine 2x1x4x1 --kernel debian-6.12 --backend vm",
        ],
    ),
    (
        "advise",
        &[
            "numalab advise --machine milan-2s-nps1 --like postgres --memory 64GiB",
            "numalab advise -- ./PROGRAM --its-option",
            "numalab advise --machine milan-2s-nps1 -- ./PROGRAM --its-option",
            "numalab advise --machine milan-2s-nps1 --in guest --with cat -- ./SCRIPT",
            "numalab advise --pid 4711 --metric-url http://127.0.0.1:9187/metrics --metric xact_commit",
        ],
    ),
    ("fit", &["numalab fit out/record > mine.toml"]),
    ("repeat", &["numalab repeat out/first-steps --kernel 6.12 --seed 2"]),
    (
        "compare",
        &[
            "numalab compare out/first-steps --full",
            "numalab compare out/first-steps --style markdown --metric elapsed,system",
            "numalab compare out/first-steps --fail-if 'elapsed > +3%' --fail-if 'system > 2 s'",
        ],
    ),
    ("report", &["numalab report out/first-steps"]),
    ("counters", &["numalab counters numa_hint_faults", "numalab counters numa_hint"]),
    ("explain", &["numalab explain out/first-steps --vma --kernel 6.12", "numalab explain out/first-steps --page"]),
    ("explain diff", &["numalab explain diff out/a out/b"]),
    ("explain ladder", &["numalab explain ladder --machine milan-2s-nps1 --kernel 5.0"]),
    ("trace", &["numalab trace out/first-steps --kernel 6.12 --out run.pftrace"]),
    ("list", &["numalab list workloads", "numalab list machines --search epyc"]),
    ("show", &["numalab show numa02", "numalab show kernels 6.12", "numalab show tunables scan"]),
    (
        "machine import",
        &["numalab machine import --host > mine.toml", "numalab machine import lscpu.txt --name server > server.toml"],
    ),
    ("machine show", &["numalab machine show host", "numalab machine show milan-2s-nps1 --domains --kernel 6.12"]),
    (
        "kernel build",
        &[
            "numalab kernel build debian-6.12",
            "numalab kernel build source:6.12+patch:fix.patch",
            "numalab kernel build series:linux",
        ],
    ),
    (
        "kernel try",
        &[
            "numalab kernel try --tree ~/linux --workload numa02",
            "numalab kernel try --series linux --knob vma_filter=rfc_v3 --sim --workload first-touch --iterations 3",
            "numalab kernel try --tree linux --good v6.11 --bad HEAD --fail-if 'elapsed > +5%' --workload numa02",
        ],
    ),
    ("kernel sides", &["numalab kernel sides out/try-vm-modelled"]),
    ("kernel show", &["numalab kernel show 6.12"]),
    ("kernel diff", &["numalab kernel diff 6.1 6.12"]),
    ("doctor", &["numalab doctor"]),
    (
        "reproduce",
        &[
            "numalab reproduce disjoint-vma-2023 --dry-run",
            "numalab reproduce disjoint-vma-2023 --iterations 1",
            "numalab reproduce imb-numa-nr-2021 --group STREAM",
        ],
    ),
    ("validate", &["numalab validate --image debian-6.12"]),
    ("watch", &["numalab watch", "numalab watch --once --top 5"]),
    ("record", &["numalab record -- ./PROGRAM --its-option", "numalab record --pid 4711 --for 30s"]),
    ("balance", &["numalab balance --pid 4711 --dry-run", "numalab balance --cgroup system.slice/postgresql.service"]),
    ("sweep", &["numalab sweep grid.toml --workers 4"]),
    ("tune", &["numalab tune --machine 4x1x2x1 --workload numa02 --knob scan.scan_size_mb=64..1024 --budget 20"]),
    ("completions", &["numalab completions bash > ~/.local/share/bash-completion/completions/numalab"]),
    ("man", &["numalab man run | man -l -", "numalab man kernel try"]),
];

/// The command line with the examples below the help of its commands.
pub fn with_examples(command: clap::Command) -> clap::Command {
    below(command, "")
}

fn below(command: clap::Command, of: &str) -> clap::Command {
    command.mut_subcommands(|inner| {
        let name = format!("{of} {}", inner.get_name()).trim().to_string();
        let inner = below(inner, &name);
        match EXAMPLES.iter().find(|e| e.0 == name) {
            Some((_, lines)) => {
                let lines: String = lines.iter().map(|l| format!("\n  {l}")).collect();
                inner.after_help(format!("Examples:{lines}"))
            }
            None => inner,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::numalab;

    /// The names of the commands that can be given, as `kernel try`.
    fn names(command: &clap::Command, of: &str, out: &mut Vec<String>) {
        for inner in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
            let name = format!("{of} {}", inner.get_name()).trim().to_string();
            names(inner, &name, out);
            if !inner.is_subcommand_required_set() {
                out.push(name);
            }
        }
    }

    #[test]
    fn every_command_has_examples_and_they_parse() {
        let mut all = Vec::new();
        names(&numalab(), "", &mut all);
        assert!(all.len() > 25, "{all:?}");
        for name in &all {
            let (_, lines) = EXAMPLES.iter().find(|e| e.0 == name).unwrap_or_else(|| panic!("{name} has no example"));
            assert!(!lines.is_empty(), "{name}");
            for line in *lines {
                assert!(line.starts_with(&format!("numalab {name}")) && line.chars().count() <= 110, "{line}");
                let words = shlex::split(line).unwrap();
                let own = words.iter().take_while(|w| !["|", ">"].contains(&w.as_str()));
                let parsed = numalab().try_get_matches_from(own);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
            let help =
                numalab().try_get_matches_from(format!("numalab {name} --help").split(' ')).unwrap_err().to_string();
            assert!(
                help.contains(&format!("Examples:\n  {}", lines[0].split(' ').take(2).collect::<Vec<_>>().join(" ")))
            );
        }
        let unknown: Vec<_> = EXAMPLES.iter().filter(|e| !all.iter().any(|n| n == e.0)).map(|e| e.0).collect();
        assert_eq!(unknown, Vec::<&str>::new(), "examples of no command");
    }
}
