//! `run … -- PROGRAM`: a program of the user in guests and on this machine. Tests that need a guest are ignored by
//! `cargo test`; `make vm` runs them.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};
use numalab_model::record::Outcome;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Writes a script that can be executed.
fn script(lab: &Lab, name: &str, text: &str) {
    lab.write(name, text);
    fs::set_permissions(lab.path(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_cannot_be_run_is_refused_with_the_next_step() {
    let lab = Lab::new();
    let vm = "run --backend vm --machine 2x1x1x1 --kernel debian-6.12";
    lab.refused(
        "run --machine 2x1x1x1 --kernel 6.12 -- true",
        &["simulator runs workloads", "numalab advise --machine"],
    );
    lab.refused(&format!("{vm} -- no-such-program"), &["no-such-program: no such program", "command -v"]);
    lab.refused(&format!("{vm} --with /no/such/file -- true"), &["--with /no/such/file: no such file"]);
    lab.refused(
        "run --backend host --kernel host --with /etc -- true",
        &["--with /etc: has no effect", "--backend vm"],
    );
    lab.refused(&format!("{vm} --env WORD -- true"), &["--env", "NAME=VALUE"]);
    lab.refused(&format!("{vm} --workload numa02 -- true"), &["--workload", "together with"]);
    lab.refused(&format!("{vm} --with /etc --workload numa02"), &["--with"]);
    script(&lab, "lost", "#!/no/such/interpreter\n");
    lab.refused(&format!("{vm} -- ./lost"), &["its interpreter /no/such/interpreter is not there"]);
    if lab
        .shell(
            "echo 'int f(void); int main(void) { return f(); }' > m.c && echo 'int f(void) { return 0; }' > f.c && \
                  cc -shared -o libgone.so f.c && cc -o m m.c -L. -lgone && rm libgone.so",
        )
        .code
        == 0
    {
        lab.refused(&format!("{vm} -- ./m"), &["/m needs the library libgone.so, which is not found"]);
    } else {
        eprintln!("not tested: no cc here (crates/lab/setup.sh test installs it)");
    }
}

#[test]
fn a_program_is_a_job_on_this_machine_and_a_column_of_its_own_name() {
    let lab = Lab::new();
    let outcome = serde_json::to_string(&Outcome::default()).unwrap();
    script(&lab, "worker", &format!("#!/bin/sh\ncat \"$2\" >> jobs\necho '{outcome}'\n"));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
        command.args(["run", "--backend", "host", "--kernel", "host", "--out", "d", "--json", "--env", "A=b c"]);
        command.args(arguments).current_dir(lab.path(".")).env("NUMALAB_WORKER", lab.path("worker"));
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        json(&String::from_utf8(done.stdout).unwrap())
    };
    let first = run(&["--for", "7s", "--", "sh", "-c", "echo it's"]);
    let job = json(&fs::read_to_string(lab.path("jobs")).unwrap());
    assert_eq!(job["invocation"]["argv"], serde_json::json!(["sh", "-c", "echo it's"]));
    assert_eq!(job["invocation"]["environment"], serde_json::json!([["A", "b c"]]));
    assert_eq!(job["workload"]["limit_ns"], 7_000_000_000u64);
    assert_eq!(first["runs"][0]["workload"], "sh");
    let record = lab.path("d").join(first["runs"][0]["record"].as_str().unwrap());
    let kept = fs::read_to_string(record.join("sources/programs/sh.toml")).unwrap();
    assert!(kept.contains("argv = [\"sh\", \"-c\", \"echo it's\"]") && kept.contains("sha256 = "), "{kept}");
    let manifest = json(&fs::read_to_string(record.join("manifest.json")).unwrap());
    let params = manifest["plan"]["workload"]["params"].to_string();
    assert!(params.contains(r"sh -c 'echo it'\\''s'"), "{params}");
    // Other arguments are another plan; the same ones have their record.
    let other = run(&["--for", "7s", "--", "sh", "-c", "echo"]);
    assert_ne!(other["runs"][0]["record"], first["runs"][0]["record"]);
    let jobs = fs::read_to_string(lab.path("jobs")).unwrap().len();
    run(&["--for", "7s", "--", "sh", "-c", "echo it's"]);
    assert_eq!(fs::read_to_string(lab.path("jobs")).unwrap().len(), jobs, "nothing is run twice");
}

/// Those with guests.
mod vm {
    use super::*;

    /// The line of a run in a guest of two nodes.
    const GUEST: &str = "run --backend vm --no-kvm --machine 2x1x1x1";

    #[test]
    #[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
    fn a_dynamic_program_a_static_one_and_a_script_run_in_a_guest() {
        let lab = Lab::new();
        // Touches 32 MiB, talks to itself over the loopback network, and writes to /tmp and to shared memory.
        lab.write(
            "p.c",
            "#include <arpa/inet.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
             #include <sys/mman.h>\n#include <sys/socket.h>\n#include <unistd.h>\n\
             #define OK(x) if ((long)(x) < 0) { perror(#x); return 9; }\n\
             int main(int c, char **v) { char *m = malloc(32 << 20); memset(m, 1, 32 << 20);\n\
             struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(7777),\n\
             .sin_addr.s_addr = inet_addr(\"127.0.0.1\")};\n\
             int s = socket(AF_INET, SOCK_STREAM, 0), t = socket(AF_INET, SOCK_STREAM, 0);\n\
             OK(bind(s, (void *)&a, sizeof a)); OK(listen(s, 1)); OK(connect(t, (void *)&a, sizeof a));\n\
             OK(open(\"/tmp/written\", O_CREAT | O_WRONLY, 0600)); OK(shm_open(\"/x\", O_CREAT | O_RDWR, 0600));\n\
             sleep(3); puts(getenv(\"WORD\")); return c > 1 ? atoi(v[1]) : 0; }\n",
        );
        let built = lab.shell("cc -O1 -o dynamic p.c && cc -O1 -static -o static p.c");
        assert_eq!(built.code, 0, "{built:?}");
        script(&lab, "both", "#!/bin/sh\n./static 0 & ./dynamic 0 && wait\ntest \"$(cat data/deep/file)\" = content\n");
        lab.write("data/deep/file", "content\n");
        let ended = lab.ok(&format!(
            "{GUEST} --kernel debian-6.12,off --jobs 1 --sample-ms 200 --env WORD=w --out d --json -- ./dynamic"
        ));
        let runs = json(&ended.out)["runs"].as_array().unwrap().clone();
        assert_eq!(runs.len(), 2, "{ended:?}");
        let compared = json(&lab.ok("compare d --json").out);
        assert_eq!(compared["workloads"][0]["name"], "dynamic");
        let names: Vec<String> = compared["workloads"][0]["metrics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["name"].as_str().unwrap().to_string())
            .collect();
        for wanted in ["elapsed", "numa_hit", "numa_hint_faults"] {
            assert!(names.iter().any(|n| n == wanted), "{wanted}: {names:?}");
        }
        lab.ok("report d");
        assert!(lab.path("d/report.html").exists());
        lab.ok(&format!("{GUEST} --kernel debian-6.12 --env WORD=w --out s -- ./static"));
        let with = "--with ./static --with ./dynamic --with cat --with data";
        lab.ok(&format!("{GUEST} --kernel debian-6.12 --env WORD=w {with} --out b -- ./both"));
    }

    #[test]
    #[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
    fn a_program_that_fails_or_never_ends_in_a_guest_says_so() {
        let lab = Lab::new();
        let run = |more: &str, argument: &str| {
            let line = format!("{GUEST} --kernel debian-6.12 {more} --out d -- sh -c");
            lab.args(&line.split_whitespace().chain([argument]).collect::<Vec<_>>())
        };
        let ended = run("", "echo 'a last word'; exit 3");
        assert!(ended.code == 1 && ended.err.contains("sh exited with 3; it printed last: a last word"), "{ended:?}");
        let ended = run("", "missing-there");
        assert!(ended.code == 1 && ended.err.contains("--with names what is to be there"), "{ended:?}");
        assert_eq!(run("--for 1s", "while :; do :; done").code, 5);
    }
}
