//! Private memory that children of forks use: of forks of forks, after an exec, and while threads run.

use crate::support::bench;
use numalab_accesses::fit::{fit, Fit, FittedProcess, Visit};
use numalab_accesses::record::Ending;
use numalab_accesses::recorder::Settings;

/// A parent writes 8 MiB. Its child writes 16 MiB of its own, and the child of that reads both. Another child of the
/// parent executes the program again, which writes 24 MiB. A last one, when all have ended, reads the 8 MiB.
const FORKS: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static long sum;
static void *filled(long bytes)
{
    void *all = malloc(bytes);
    memset(all, 1, bytes);
    return all;
}
static void read_all(const long *all, long bytes, int times)
{
    for (int t = 0; t < times; t++)
        for (long i = 0; i < bytes / 8; i++)
            sum += all[i];
}
static int all_end(void)
{
    int failed = 0;
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed;
}
int main(int argc, char **argv)
{
    if (argc > 1) {
        char *all = filled(24 << 20);
        for (int i = 0; i < 3; i++)
            memset(all, i, 24 << 20);
        return 0;
    }
    long *own = filled(8 << 20);
    if (!fork()) {
        long *more = filled(16 << 20);
        read_all(own, 8 << 20, 2);
        if (!fork()) {
            read_all(own, 8 << 20, 3);
            read_all(more, 16 << 20, 3);
            _exit(0);
        }
        _exit(all_end());
    }
    if (!fork()) {
        execl(argv[0], argv[0], "again", (char *)0);
        _exit(1);
    }
    int failed = all_end();
    if (!fork()) {
        read_all(own, 8 << 20, 9);
        _exit(0);
    }
    return failed | all_end() | (sum == 1);
}
"#;

fn of(command: &str, text: &str) -> Option<Fit> {
    let bench = bench()?;
    let program = bench.program(command, text);
    let (recorded, record) = bench.record(&[&program], &Settings::default());
    assert_eq!(recorded.manifest.ending, Ending::Exit(0));
    let fit = fit(&record).unwrap();
    let text = fit.to_toml("forks");
    let spec = numalab_model::workload::parse("test", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let machine = numalab_model::machine::load("2x1x2x1", &|_| None, &[]).unwrap();
    spec.resolve(&machine, 1, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Some(fit)
}

/// Its regions: who they are inherited from, and MiB.
fn regions(p: &FittedProcess) -> Vec<(Option<usize>, u64)> {
    let mut out: Vec<_> = p.regions.iter().map(|r| (r.inherited, (r.bytes + (1 << 19)) >> 20)).collect();
    out.sort_unstable();
    out
}

#[test]
fn a_child_of_a_child_has_the_memory_of_both_and_a_program_that_is_executed_has_none() {
    let Some(fit) = of("forks", FORKS) else { return };
    let all: Vec<_> = fit.processes.iter().map(|p| (p.parent, regions(p))).collect();
    assert_eq!(all.len(), 5, "{all:?}");
    // Whether the program is executed or the grandchild forked first is a matter of chance, and so is their order.
    let number = |regions: &[(Option<usize>, u64)]| all.iter().position(|(_, r)| r == regions).expect("such a process");
    let child_at = number(&[(None, 16), (Some(0), 8)]);
    let grandchild_at = number(&[(Some(0), 8), (Some(child_at), 16)]);
    let at = |n: usize| &fit.processes[n];
    let (parent, child, grandchild) = (at(0), at(child_at), at(grandchild_at));
    let (executed, last) = (at(number(&[(None, 24)])), at(number(&[(Some(0), 8)])));
    assert_eq!((parent.parent, regions(parent)), (None, vec![(None, 8)]));
    assert_eq!((child.parent, grandchild.parent, last.parent), (Some(0), Some(child_at), Some(0)));
    assert_eq!(executed.parent, None, "after an exec nothing is left of the parent's memory");
    // What was touched before a fork is there at it.
    for p in [parent, child] {
        let mut visits = p.prologue.iter().flat_map(|p| &p.visits);
        let fills = |v: &Visit| v.write_share > 0.9 && p.regions[v.region].inherited.is_none();
        assert!(visits.any(fills), "{:?}", p.prologue);
        assert!(p.waits_after.is_some(), "it waits for the others");
    }
    let reads = grandchild.classes[0].phases.iter().flat_map(|p| &p.visits);
    assert!(reads.clone().count() >= 2 && reads.into_iter().all(|v| v.write_share < 0.01));
    // The last one begins when the others have ended.
    let insns = |p: &FittedProcess| p.classes[0].phases.iter().map(|p| p.all_insns()).sum::<f64>() as u64;
    assert!(
        last.begins > insns(grandchild) && executed.begins < insns(grandchild),
        "{} {}",
        last.begins,
        executed.begins
    );
}

/// Two threads write halves of 16 MiB and go on computing. A child that is forked meanwhile reads all of it.
const THREADS: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static long n = 2 << 20, *all;
static pthread_barrier_t ready;
static volatile int is_over;
static void *works(void *x)
{
    memset(all + (long)x * n / 2, 1, n * 4);
    pthread_barrier_wait(&ready);
    while (!is_over)
        all[(long)x * n / 2]++;
    return 0;
}
int main(void)
{
    pthread_t t[2];
    all = malloc(n * 8);
    pthread_barrier_init(&ready, 0, 3);
    for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, works, (void *)i);
    pthread_barrier_wait(&ready);
    if (!fork()) {
        long sum = 0;
        for (int p = 0; p < 8; p++)
            for (long i = 0; i < n; i++)
                sum += all[i];
        _exit(sum == 1);
    }
    int status;
    wait(&status);
    is_over = 1;
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return status != 0;
}
"#;

#[test]
fn memory_that_threads_touch_before_a_fork_is_there_at_it() {
    let Some(fit) = of("threads", THREADS) else { return };
    let child = fit.processes.iter().find(|p| p.parent.is_some()).expect("a child that has memory of its parent");
    let parent = &fit.processes[child.parent.unwrap()];
    assert_eq!(regions(child), [(child.parent, 16)]);
    let region = parent.regions.iter().position(|r| r.name == child.regions[0].name).unwrap();
    let touches = || parent.prologue.iter().flat_map(|p| &p.visits).filter(|v| v.region == region);
    let lines: f64 = touches().map(|v| v.lines).sum();
    assert!((lines / f64::from(16 << 14) - 1.0).abs() < 0.05 && touches().all(|v| v.write_share > 0.9), "{lines}");
    assert!(fit.assumed.iter().any(|a| a.contains("touch before a fork")), "{:?}", fit.assumed);
}
