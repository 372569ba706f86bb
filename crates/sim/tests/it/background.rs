//! What the machine does beside the workload: kernel threads, daemons, late timers.

use crate::common;

use common::{inline, kernel, machine, run, scalar, SimConfig};
use numalab_model::machine::{Background, Machine};
use numalab_model::record::{Outcome, Status};

/// One thread on each of eight CPUs, which computes for ten seconds in all.
const COMPUTES: &str =
    "[[process]]\nname = \"p\"\nthreads = \"cpus\"\n[[process.phase]]\ncount = 10\ncompute = \"1s\"\n";

fn busy() -> SimConfig {
    kernel("6.12").with_machine_background(true)
}

fn eight_cpus() -> Machine {
    machine("2x1x4x1")
}

fn elapsed(m: &Machine, text: &str, cfg: &SimConfig, seed: u64) -> f64 {
    scalar(&run(m, &inline(text, m, seed, &[]), cfg, seed), "elapsed_s")
}

/// The last of eight threads loses at least the mean of what kernel threads and daemons take, and at most all that
/// daemons take: they run anywhere, and like to stay where they were.
#[test]
fn the_background_takes_its_time() {
    let m = eight_cpus();
    let b = &m.background;
    let of_cpu = b.cpu_thread_us / 1e6 / (b.cpu_thread_period_ms / 1e3);
    let of_daemons = f64::from(b.daemons) * b.daemon_us / 1e6 / (b.daemon_period_ms / 1e3) / 8.0;
    let quiet = elapsed(&m, COMPUTES, &kernel("6.12"), 1);
    for seed in 1..4 {
        let lost = elapsed(&m, COMPUTES, &busy(), seed) / quiet - 1.0;
        let (mean, most) = (of_cpu + of_daemons, of_cpu + 8.0 * of_daemons);
        assert!(
            lost > 0.9 * mean && lost < 1.1 * most,
            "seed {seed}: {lost:.5} where {mean:.5} to {most:.5} are taken"
        );
    }
}

/// Seeds of a program that computes differ by what daemons happen to do, and by next to nothing on a quiet machine.
#[test]
fn seeds_scatter() {
    let m = eight_cpus();
    let spread = |cfg: &SimConfig| {
        let all: Vec<f64> = (1..6).map(|seed| elapsed(&m, COMPUTES, cfg, seed)).collect();
        let (least, most) = all.iter().fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        most / least - 1.0
    };
    let (quiet, busy) = (spread(&kernel("6.12")), spread(&busy()));
    assert!(busy > 1e-4 && busy > 4.0 * quiet, "quiet {quiet:.2e}, busy {busy:.2e}");
}

/// A machine file that states no background gives the same run as a quiet machine.
#[test]
fn without_threads_it_is_a_quiet_machine() {
    let mut m = eight_cpus();
    m.background = Background::NONE;
    let w = inline(COMPUTES, &m, 1, &[]);
    assert_eq!(run(&m, &w, &busy(), 1), run(&m, &w, &kernel("6.12"), 1));
}

/// The same seed gives the same run.
#[test]
fn the_background_is_drawn_from_the_seed() {
    let m = eight_cpus();
    let w = inline(COMPUTES, &m, 3, &[]);
    assert_eq!(run(&m, &w, &busy(), 3), run(&m, &w, &busy(), 3));
}

/// Records tell of the workload alone: no series has a thread of the machine, and no fault and no page is theirs.
#[test]
fn records_leave_the_machine_out() {
    let m = eight_cpus();
    let w = inline(COMPUTES, &m, 1, &[]);
    let (with, without) = (run(&m, &w, &busy(), 1), run(&m, &w, &kernel("6.12"), 1));
    let names = |o: &Outcome| o.series.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&with), names(&without));
    let foreign = |c: &&String| c.contains("kworker") || c.contains("daemon");
    assert_eq!(with.series.iter().flat_map(|s| &s.columns).find(foreign), None);
    for counter in ["pgfault", "numa_hit"] {
        assert_eq!(common::counter(&with, counter), common::counter(&without, counter), "{counter}");
    }
    // The threads compute as long as before; only ticks and switches differ.
    let user = scalar(&with, "user_s") / scalar(&without, "user_s") - 1.0;
    assert!(user.abs() < 2e-3, "user time {user:.5} more");
}

/// A timer fires up to 50 us late, 25 us on average.
#[test]
fn timers_of_the_workload_fire_late() {
    let m = eight_cpus();
    let text = "[[process]]\nname = \"p\"\n[[process.phase]]\ncount = 4000\nsleep = \"1ms\"\n";
    let late = (elapsed(&m, text, &busy(), 1) - elapsed(&m, text, &kernel("6.12"), 1)) / 4000.0 * 1e6;
    assert!((24.0..28.0).contains(&late), "{late:.1} us late");
}

/// Threads that wait for each other are found out although the machine's own threads go on.
#[test]
fn a_deadlock_is_found_beside_the_background() {
    let m = eight_cpus();
    let text = "[[channel]]\nname = \"a\"\n[[channel]]\nname = \"b\"\n[[process]]\nname = \"p\"\nthreads = 2\n\
                [[process.phase]]\nwhen = \"thread == 0\"\nsteps = [{ wait = \"a\" }, { signal = \"b\" }]\n\
                [[process.phase]]\nwhen = \"thread == 1\"\nsteps = [{ wait = \"b\" }, { signal = \"a\" }]\n";
    let w = inline(text, &m, 1, &[]);
    for cfg in [kernel("6.12"), busy()] {
        let o = numalab_sim::run(&m, &w, &cfg, 1, false).unwrap();
        let Status::Failed(why) = &o.status else { panic!("{:?}", o.status) };
        assert!(why.contains("deadlocked"), "{why}");
        assert!(scalar(&o, "elapsed_s") < 1.0);
    }
}

/// The machine's own threads have slept for long when the program begins. So they load no CPU then, and forks go where
/// they would on a quiet machine.
#[test]
fn threads_start_where_they_do_on_a_quiet_machine() {
    let m = machine("2x1x2x1");
    let text = "[[process]]\nname = \"main\"\nthreads = 2\ninitial = \"joins\"\n[[process.region]]\nname = \"b\"\nsize = \"64MiB\"\n\
                [[process.prologue]]\naccess = \"b\"\nwrite = 1\n[[process.phase]]\ncount = 50\naccess = \"b\"\nslice = \"thread\"\n";
    for seed in 1..4 {
        let ratio = elapsed(&m, text, &busy(), seed) / elapsed(&m, text, &kernel("6.12"), seed);
        assert!((ratio - 1.0).abs() < 0.03, "seed {seed}: {ratio:.4} of the time on a quiet machine");
    }
}

/// Every design and form of kernel runs beside the machine's own threads, with the checks of the simulator.
#[test]
fn every_kind_of_kernel_has_a_background() {
    let m = machine("2x1x2x1");
    let text = "[[process]]\nname = \"p\"\nthreads = \"cpus\"\n[[process.region]]\nname = \"b\"\nsize = \"64MiB\"\n\
                [[process.phase]]\ncount = 60\nsteps = [{ access = \"b\", write = 0.5 }, { sleep = \"20ms\" }]\n";
    for name in
        ["off", "oracle", "3.7-autonuma-v27", "3.7-schednuma-v1r3", "3.8", "4.15", "5.11", "7.2", "userspace-balance"]
    {
        let cfg = kernel(name).with_machine_background(true);
        let o = run(&m, &inline(text, &m, 1, &[]), &cfg, 1);
        assert!(scalar(&o, "elapsed_s") > 1.2, "{name}");
    }
}
