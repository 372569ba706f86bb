//! A woken task that preempts gets the CPU at the moment of the wake-up, and what the running one had planned is
//! counted once. That every task was charged for the CPU time it had, and for no more, is one of the engine's own
//! checks, which every run here makes.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

/// Kernels with CFS and with EEVDF.
const KERNELS: [&str; 3] = ["3.8", "6.1", "6.12"];

const ROUNDS: &str = r#"
[[score]]
name = "rounds"
unit = "1/s"
better = "higher"
per_second = true
"#;

/// Computes for two seconds.
const HOG: &str = r#"
[[process]]
name = "hog"
[[process.phase]]
count = 400
compute = "5ms"
"#;

/// Sleeps 5 ms and computes for 50 us, 200 times.
const SLEEPER: &str = r#"
[[process]]
name = "sleeper"
[[process.phase]]
timed = "rounds"
count = 200
steps = [{ sleep = "5ms" }, { compute = "50us" }, { score = "rounds" }]
"#;

fn outcome(machine_name: &str, kernel_name: &str, parts: &[&str]) -> Outcome {
    let m = machine(machine_name);
    run(&m, &inline(&parts.concat(), &m, 1, &[]), &kernel(kernel_name), 1)
}

/// The sleeper beside a workload with scores of its own.
fn without_score() -> String {
    SLEEPER.replace("timed = \"rounds\"\n", "").replace(", { score = \"rounds\" }", "")
}

/// CPU time of all tasks, s.
fn cpu_time(o: &Outcome) -> f64 {
    scalar(o, "user_s") + scalar(o, "system_s")
}

/// Rounds per second under a kernel with CFS of old and one of new are in `range`.
fn assert_rounds(machine: &str, parts: &[&str], range: std::ops::Range<f64>) {
    for k in ["3.8", "6.1"] {
        let rounds = scalar(&outcome(machine, k, parts), "rounds");
        assert!(range.contains(&rounds), "{k}: {rounds} rounds a second");
    }
}

/// A CPU that is never idle gives all its time to its tasks.
fn assert_never_idle(o: &Outcome) {
    let (elapsed, used) = (scalar(o, "elapsed_s"), cpu_time(o));
    assert!((elapsed - used).abs() < 1e-8, "{used} s of CPU time in {elapsed} s");
}

#[test]
fn a_sleeper_gets_a_busy_cpu_when_its_timer_fires() {
    for k in KERNELS {
        let o = outcome("1x1x1x1", k, &[ROUNDS, HOG, SLEEPER]);
        // A round takes 5.05 ms; at the ticks, which come every 4 ms, it would take 8.
        let rounds = scalar(&o, "rounds");
        assert!((190.0..198.0).contains(&rounds), "{k}: {rounds} rounds a second");
        assert!((scalar(&o, "user_s") - 2.01).abs() < 1e-6, "{k}: both have done their work once");
        assert_never_idle(&o);
    }
}

#[test]
fn a_message_takes_a_busy_cpu_at_once() {
    // The server shares its CPU with the hog; its client is on the other one.
    let pair = r#"
[[channel]]
name = "request"
[[channel]]
name = "reply"
[[process]]
name = "server"
affinity = { cpus = [0] }
[[process.phase]]
count = 200
steps = [{ wait = "request" }, { compute = "20us" }, { signal = "reply" }]
[[process]]
name = "client"
affinity = { cpus = [1] }
[[process.phase]]
timed = "rounds"
count = 200
steps = [{ compute = "3ms" }, { signal = "request" }, { wait = "reply" }, { score = "rounds" }]
"#;
    let hog = HOG.replace("[[process.phase]]", "affinity = { cpus = [0] }\n[[process.phase]]");
    // 3.02 ms and what messages and switches cost; up to a tick more without preemption.
    assert_rounds("1x1x2x1", &[ROUNDS, &hog, pair], 320.0..331.2);
}

#[test]
fn what_was_planned_comes_later_by_the_time_that_was_lost() {
    // The short one keeps waking in the middle of the other's 3 ms of computing, whose sleep must then begin later and
    // still last 2 ms.
    let text = r#"
[[process]]
name = "worker"
[[process.phase]]
timed = "rounds"
count = 100
steps = [{ compute = "3ms" }, { sleep = "2ms" }, { score = "rounds" }]
[[process]]
name = "short"
[[process.phase]]
count = 300
steps = [{ sleep = "700us" }, { compute = "300us" }]
"#;
    // 200 a second if its sleeps ended when they were planned to.
    assert_rounds("1x1x1x1", &[ROUNDS, text], 150.0..190.0);
}

#[test]
fn sweeps_faults_and_scores_are_counted_once() {
    let sweeper = r#"
[[process]]
name = "sweeper"
[[process.region]]
name = "buffer"
size = "64MiB"
[[process.phase]]
count = 300
steps = [{ access = "buffer", write = 1, counts = "rounds", unit_bytes = "1MiB" }]
"#;
    let rounds = ROUNDS.replace("per_second = true", "");
    for k in KERNELS {
        let alone = outcome("1x1x1x1", k, &[&rounds, sweeper]);
        let o = outcome("1x1x1x1", k, &[&rounds, sweeper, &without_score()]);
        assert_eq!(scalar(&o, "rounds"), 300.0 * 64.0, "{k}");
        let more = scalar(&o, "user_s") - scalar(&alone, "user_s");
        assert!(
            (more - 0.01).abs() < 1e-3,
            "{k}: {more} s more than the sweeper alone; the sleeper computes for 10 ms"
        );
        assert_never_idle(&o);
    }
}

#[test]
fn busy_waiting_passes_with_the_cpu_only() {
    let text = r#"
[[barrier]]
name = "step"
spin = true
[[process]]
name = "team"
threads = 2
[[process.phase]]
count = 300
steps = [{ compute = "3ms + thread * 4ms" }, { barrier = "step" }]
"#;
    for k in KERNELS {
        let o = outcome("1x1x1x1", k, &[text, &without_score()]);
        assert_never_idle(&o);
    }
}

#[test]
fn owed_time_goes_with_a_task_that_is_moved() {
    // Nine that compute and eight that sleep on four CPUs: the balancer moves tasks that owe time.
    let hogs = HOG.replace("name = \"hog\"", "name = \"hog\"\ncount = 9");
    let sleepers = SLEEPER.replace("name = \"sleeper\"", "name = \"sleeper\"\ncount = 8");
    for k in KERNELS {
        let o = outcome("2x1x2x1", k, &[ROUNDS, &hogs, &sleepers]);
        assert!(cpu_time(&o) <= 4.0 * scalar(&o, "elapsed_s"), "{k}");
        assert_eq!(outcome("2x1x2x1", k, &[ROUNDS, &hogs, &sleepers]), o, "{k}: the same again");
    }
}

#[test]
fn whoever_busy_waits_goes_on_once_the_barrier_is_open() {
    // Thread 1 takes the CPU from the waiting one, opens the barrier and sleeps; 3 ms of computing fit into its sleep.
    let text = r#"
[[barrier]]
name = "step"
spin = true
[[process]]
name = "team"
threads = 2
[[process.phase]]
when = "thread == 0"
count = 200
steps = [{ compute = "3ms" }, { barrier = "step" }]
[[process.phase]]
when = "thread == 1"
timed = "rounds"
count = 200
steps = [{ sleep = "5ms" }, { compute = "50us" }, { barrier = "step" }, { score = "rounds" }]
"#;
    assert_rounds("1x1x1x1", &[ROUNDS, text], 190.0..198.0);
}

#[test]
fn a_message_is_not_sent_before_its_sender_gets_there() {
    // The first message wakes the server, which takes the sender's CPU for 5 ms and says when it is done; the second
    // message comes after that, so its receiver finds the server done.
    let text = r#"
[[channel]]
name = "first"
[[channel]]
name = "second"
[[channel]]
name = "done"
[[process]]
name = "server"
affinity = { cpus = [0] }
[[process.phase]]
steps = [{ wait = "first" }, { compute = "5ms" }, { signal = "done" }]
[[process]]
name = "receiver"
affinity = { cpus = [1] }
[[process.phase]]
wait = "second"
[[process.phase]]
timed = "rounds"
steps = [{ wait = "done" }, { compute = "1ms" }, { score = "rounds" }]
[[process]]
name = "sender"
affinity = { cpus = [0] }
[[process.phase]]
steps = [{ compute = "9ms" }, { signal = "first" }, { compute = "1ms" }, { signal = "second" }]
"#;
    for k in ["3.8", "6.1"] {
        let ms = 1000.0 / scalar(&outcome("1x1x2x1", k, &[ROUNDS, text]), "rounds");
        assert!(ms < 1.0, "{k}: {ms} ms");
    }
}

/// Seconds that `threads` take for 200 rounds with a barrier to which the first comes last.
fn rounds_with_a_last(threads: u32) -> f64 {
    let text = format!(
        r#"
[[barrier]]
name = "step"
[[process]]
name = "team"
threads = {threads}
[[process.phase]]
when = "thread == 0"
count = 200
steps = [{{ compute = "1ms" }}, {{ barrier = "step" }}]
[[process.phase]]
when = "thread > 0"
count = 200
barrier = "step"
"#
    );
    scalar(&outcome("1x1x32x1", "6.1", &[&text]), "elapsed_s")
}

#[test]
fn whoever_opens_a_barrier_wakes_the_sleepers_one_after_the_other() {
    let wakes_ns = 1e9 * (rounds_with_a_last(17) - rounds_with_a_last(2)) / 200.0 / 15.0;
    let switch_ns = machine("1x1x32x1").costs.switch_same_ns;
    assert!(
        (wakes_ns / switch_ns - 1.0).abs() < 0.2,
        "{wakes_ns} ns for each further sleeper, a switch is {switch_ns}"
    );
}

/// Server and client on CPUs of two nodes that may not leave them, 20,000 rounds; or free to go anywhere.
fn rounds_by(kind: &str, affinity: [&str; 2]) -> f64 {
    let text = format!(
        r#"
[[channel]]
name = "request"
kind = "{kind}"
[[channel]]
name = "reply"
kind = "{kind}"
[[process]]
name = "server"
{}
[[process.phase]]
count = 20000
steps = [{{ wait = "request" }}, {{ compute = "4us" }}, {{ signal = "reply" }}]
[[process]]
name = "client"
{}
[[process.phase]]
timed = "rounds"
count = 20000
steps = [{{ compute = "4us" }}, {{ signal = "request" }}, {{ wait = "reply" }}, {{ score = "rounds" }}]
"#,
        affinity[0], affinity[1]
    );
    scalar(&outcome("2x1x4x1", "6.1", &[ROUNDS, &text]), "rounds")
}

#[test]
fn a_futex_carries_nothing_and_draws_nobody() {
    // Apart, messages cross the nodes in a dozen lines and wake-ups alone do not.
    let apart = ["affinity = { cpus = [0] }", "affinity = { cpus = [4] }"];
    let lines_ns = 1e9 / rounds_by("pipe", apart) - 1e9 / rounds_by("futex", apart);
    let remote_ns = machine("2x1x4x1").latency_ns[0][1];
    assert!((16.0..40.0).contains(&(lines_ns / remote_ns)), "{lines_ns} ns a round, a line takes {remote_ns}");
    // In one cache both cost the same.
    let beside = ["affinity = { cpus = [0] }", "affinity = { cpus = [1] }"];
    let ratio = rounds_by("pipe", beside) / rounds_by("futex", beside);
    assert!((ratio - 1.0).abs() < 0.001, "{ratio}");
}
