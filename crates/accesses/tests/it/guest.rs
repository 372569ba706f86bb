//! Programs recorded in a guest: `make vm` runs these, plain `cargo test` lists them as ignored.

use crate::kernel_work::{work, ANSWERS, SEGMENT};
use crate::support::{bench, Bench};
use crate::unix::{self, UNIX};
use numalab_accesses::fit::fit;
use numalab_accesses::format::Control;
use numalab_accesses::guest_recorder::{record, Guest};
use numalab_accesses::image::Image;
use numalab_accesses::record::{self, AccessRecord, Ending};
use numalab_accesses::recorder::{Look, Recorded, Settings};
use numalab_lab::cache::Cache;
use numalab_lab::image::{self, ImageSpec, PackageVersion};
use numalab_lab::program::{Given, Program};
use std::time::Duration;

/// Two threads read halves of 32 MiB three times, which the initial thread has written. Then a child of a fork writes
/// 16 MiB, and a program that it executes ends by a signal.
const SWEEP: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static long n = 4 << 20, *a;
static char block[1 << 21];
static void *reads(void *x)
{
    long i = (long)x, sum = 0;
    for (int p = 0; p < 3; p++)
        for (long k = i * n / 2; k < (i + 1) * n / 2; k++)
            sum += a[k];
    return (void *)sum;
}
int main(int argc, char **argv)
{
    pthread_t t[2];
    if (argc > 1)
        raise(SIGTERM);
    a = malloc(n * 8);
    memset(a, 1, n * 8);
    for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, reads, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    if (!fork()) {
        char *b = malloc(16 << 20);
        memset(b, 2, 16 << 20);
        memset(block, 3, sizeof block);
        execl(argv[0], argv[0], "again", (char *)0);
    }
    wait(0);
    return 3;
}
"#;

/// A guest with two CPUs on the kernel that `NUMALAB_TEST_KERNEL` names, or else the packaged one.
fn guest() -> Guest {
    let name = std::env::var("NUMALAB_TEST_KERNEL").unwrap_or_else(|_| "debian-6.12".into());
    let (cache, spec) = (Cache::open().unwrap(), ImageSpec::parse(&name).unwrap());
    let image = image::resolve(&spec, PackageVersion::Kept, &cache, &mut |what| eprintln!("{what}")).unwrap();
    let qemu = numalab_lab::qemu::default_program();
    Guest { qemu, name, kernel: image.path, cpus: 2, memory_bytes: 1 << 30, boot: Duration::from_secs(300) }
}

fn recorded(
    bench: &Bench,
    command: &[&str],
    settings: &Settings,
    look: &mut dyn FnMut(&Control) -> Look,
) -> (Recorded, AccessRecord) {
    let command: Vec<String> = command.iter().map(|c| c.to_string()).collect();
    let given = Given { command: &command, limit_ns: 3_600_000_000_000, ..Given::default() };
    let program = Program::for_guests(&given).unwrap();
    let dir = bench.path("rec");
    let recorded = record(&dir, &program, &guest(), settings, look).unwrap();
    (recorded, record::read(&dir).unwrap())
}

fn sums(image: &Image, thread: u16) -> [u64; 5] {
    let mut out = [0; 5];
    for c in image.cells.iter().filter(|c| c.thread == thread) {
        let far = u64::from(c.far_reads) + u64::from(c.far_writes);
        let counts = [c.lines.into(), c.writes.into(), far, c.forward.into(), c.first.into()];
        for (sum, more) in out.iter_mut().zip(counts) {
            *sum += more;
        }
    }
    out
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn threads_and_forks_have_the_lines_that_they_visit() {
    let Some(bench) = bench() else { return };
    let program = bench.program("sweep", SWEEP);
    let (recorded, record) = recorded(&bench, &[&program], &Settings::default(), &mut |_| Look::GoOn);
    assert_eq!(recorded.manifest.ending, Ending::Exit(3));
    assert_eq!(record.images.len(), 3, "the program, the child of its fork, and what that executes");
    let main = &record.images[0];
    assert_eq!((main.name(), main.threads.len()), ("sweep", 3));
    let lines = 3 * (32 << 20) / 2 / 64;
    for thread in 1..=2u16 {
        let [all, writes, far, forward, first] = sums(main, thread);
        assert!((lines..lines * 101 / 100).contains(&far), "{lines} lines reach memory: {far}");
        assert!(all < lines * 102 / 100 && writes < lines / 100, "{all} lines, {writes} written");
        assert!(forward > lines * 98 / 100, "in order: {forward}");
        assert!(first < 100, "the initial thread touched the memory first: {first}");
        assert!(main.threads[&thread].creator == 0 && main.threads[&thread].begin_clock > 0);
    }
    assert!(sums(main, 0)[1] >= 32 << 14 && sums(main, 0)[4] >= 32 << 8, "{:?}", sums(main, 0));
    let child = &record.images[1];
    assert_eq!((child.head.parent, child.threads.len()), (main.head.pid, 1));
    assert!(child.head.begin_clock >= main.threads[&0].insns / 2, "the fork comes after the sweep");
    let [all, writes, .., first] = sums(child, 0);
    assert!((18 << 14..(18 << 14) * 105 / 100).contains(&all) && writes >= 18 << 14, "{all} {writes}");
    assert!((17 << 8..20 << 8).contains(&first), "what the parent has touched is not touched first: {first}");
    let last = &record.images[2];
    assert_eq!((last.head.pid, last.name()), (child.head.pid, "sweep"));
    assert!(last.was_killed() && !main.was_killed() && !child.was_killed());
    // The heap and libraries are known by system calls, the program by its head, variables by their names.
    assert!(main.mappings.iter().any(|(m, _)| m.call == 9 && m.length > 32 << 20));
    assert!(main.mappings.iter().any(|(_, name)| name.as_deref().is_some_and(|n| n.contains("libc.so"))));
    assert!(record.sites.iter().any(|s| s.variable == "block" && s.bytes == 1 << 21), "{:?}", record.sites);
    assert!(main.edges.iter().any(|e| !e.wakes), "the initial thread waited for the others");
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn what_was_recorded_until_the_end_is_asked_for_is_kept() {
    let Some(bench) = bench() else { return };
    // Nobody reads what is written, so without `volatile` a compiler may leave out the stores.
    let text = "#include <stdlib.h>\nint main(void) { volatile char *p = malloc(8 << 20); \
                for (;;) for (long i = 0; i < 8 << 20; i += 8) p[i] = 1; }";
    let program = bench.program("endless", text);
    let settings = Settings { limit_bytes: 1 << 20, ..Settings::default() };
    let much = 100 << 14;
    let mut look = |now: &Control| if now.lines > much || now.insns > 1 << 32 { Look::Stop } else { Look::GoOn };
    let (recorded, record) = recorded(&bench, &[&program], &settings, &mut look);
    assert_eq!(recorded.manifest.ending, Ending::Interrupted);
    assert!(record.images[0].lines() + record.images[0].head.lost_lines > much, "{:?}", record.images[0].head);
    assert!(record.control.used_bytes <= 1 << 20 && record.control.insns > 0, "{:?}", record.control);
}

/// Both programs of the tests of user mode, one after the other.
fn messages_and_segment() -> String {
    let answers = ANSWERS.replace("int main(void)", "static int answers(void)");
    let segment = SEGMENT.replace("int main(void)", "static int segment(void)");
    format!(
        "{answers}{segment}int main(void)\n{{\n pid_t own = getpid();\n int failed = answers();\n \
         if (getpid() != own) _exit(failed);\n return failed || segment();\n}}\n"
    )
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn messages_and_segments_between_processes_are_seen() {
    let Some(bench) = bench() else { return };
    let program = bench.program("both", &messages_and_segment());
    let (recorded, record) = recorded(&bench, &[&program], &Settings::default(), &mut |_| Look::GoOn);
    assert_eq!(recorded.manifest.ending, Ending::Exit(0));
    let [parent, child, writers @ ..] = &record.images[..] else { panic!("{} images", record.images.len()) };
    let (asks, answers) = (work(parent), work(child));
    assert_eq!((asks.sent, answers.sent), (500, 500));
    // As under user mode: who asks waits for as long as the other computes.
    let computed = child.insns() as f64;
    assert!(computed > 500.0 * 40_000.0, "{computed}");
    assert!(asks.sleeps >= 450, "{asks:?}");
    let ratio = asks.awaited as f64 / computed;
    assert!((0.8..1.6).contains(&ratio), "the parent waits while the child computes: {ratio}");
    // The children that write the segment begin when that is over, and the parent sees both end.
    assert_eq!((writers.len(), parent.reaped.len()), (2, 3), "{:?}", parent.reaped);
    assert!(writers.iter().all(|w| w.head.begin_clock > child.insns() && w.ended_at.is_some()));
    let fit = fit(&record).unwrap();
    assert_eq!(fit.shared.len(), 1, "{:?}", fit.shared);
    assert_eq!((fit.shared[0].users, fit.shared[0].bytes()), (2, 16 << 20));
    assert!(fit.shared[0].name.starts_with("shared_segment_"), "{}", fit.shared[0].name);
}

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn messages_through_sockets_of_unix_are_seen() {
    let Some(bench) = bench() else { return };
    for way in ["pair", "path", "anew"] {
        let program = bench.program(way, &UNIX.replace("WAY", &format!("\"{way}\"")));
        let (recorded, record) = recorded(&bench, &[&program], &Settings::default(), &mut |_| Look::GoOn);
        assert_eq!(recorded.manifest.ending, Ending::Exit(0), "{way}");
        unix::check(&record);
    }
}

/// A parent that handles the signal of a child's end, as shells do, and waits for two children one after the other.
const HANDLES_ENDS: &str = r#"
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ends;
static volatile uint64_t sum;

static void on_end(int number) { ends += number == SIGCHLD; }

int main(void)
{
    struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, 0);
    for (int n = 0; n < 2; n++) {
        int child = fork();
        if (!child) {
            for (int i = 0; i < 4000000; i++)
                sum += i;
            _exit(0);
        }
        if (waitpid(child, 0, 0) != child)
            return 1;
    }
    return ends == 2 ? 0 : 2;
}
"#;

#[test]
#[ignore = "needs a guest: scripts/vm-tests.sh runs it"]
fn a_wait_that_a_signal_cuts_still_waits() {
    let Some(bench) = bench() else { return };
    let program = bench.program("waits", HANDLES_ENDS);
    let (recorded, record) = recorded(&bench, &[&program], &Settings::default(), &mut |_| Look::GoOn);
    assert_eq!((recorded.manifest.ending, record.images.len()), (Ending::Exit(0), 3));
    let [main, first, second] = [0, 1, 2].map(|n| &record.images[n]);
    let reaped: Vec<u32> = main.reaped.iter().map(|r| r.0).collect();
    assert_eq!(reaped, [first.head.pid, second.head.pid], "both waits are known");
    let end = first.threads[&0].end_clock;
    assert!(end > 12_000_000 && second.head.begin_clock >= end, "{end} {}", second.head.begin_clock);
}
