//! System calls by kind, messages and segments between processes, and reads that others of their block cover.

use crate::support::bench;
use numalab_accesses::costs::Costs;
use numalab_accesses::fit::fit;
use numalab_accesses::format::Work;
use numalab_accesses::image::Image;
use numalab_accesses::recorder::Settings;
use std::collections::BTreeSet;

/// A parent asks its child 500 times over TCP; the child computes for a while before it answers.
pub const ANSWERS: &str = r#"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), s;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    char text[1024] = "";
    struct timespec t;
    if (bind(listener, (void *)&at, sizeof at) || listen(listener, 1) || getsockname(listener, (void *)&at, &length))
        return 1;
    pid_t child = fork();
    if (!child) {
        s = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(s, (void *)&at, sizeof at))
            return 2;
        while (recv(s, text, sizeof text, MSG_WAITALL) == sizeof text) {
            for (volatile int i = 0; i < 20000; i++)
                ;
            if (send(s, text, sizeof text, 0) != sizeof text)
                return 3;
        }
        return 0;
    }
    s = accept(listener, 0, 0);
    for (int i = 0; i < 500; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (send(s, text, sizeof text, 0) != sizeof text || recv(s, text, sizeof text, MSG_WAITALL) != sizeof text)
            return 4;
    }
    close(s);
    int status;
    wait(&status);
    return status != 0;
}
"#;

pub fn work(image: &Image) -> Work {
    let mut sum = Work::default();
    for w in image.work.values() {
        sum.others += w.others;
        sum.sent += w.sent;
        sum.received += w.received;
        sum.sent_bytes += w.sent_bytes;
        sum.sleeps += w.sleeps;
        sum.awaited += w.awaited;
    }
    sum
}

#[test]
fn who_waits_for_a_message_of_another_process_waits_as_long_as_that_computes() {
    let Some(bench) = bench() else { return };
    let program = bench.program("answers", ANSWERS);
    let (recorded, record) = bench.record(&[&program], &Settings::default());
    assert_eq!(recorded.manifest.ending, numalab_accesses::record::Ending::Exit(0));
    assert_eq!(record.control.costs, Costs::MEASURED);
    let [parent, child] = [0, 1].map(|n| &record.images[n]);
    let (asks, answers) = (work(parent), work(child));
    assert_eq!((asks.sent, answers.sent), (500, 500));
    assert_eq!(asks.sent_bytes, 500 * 1024);
    assert!((500..502).contains(&asks.received) && (500..502).contains(&answers.received), "{asks:?} {answers:?}");
    // It asks for the time 500 times.
    assert!(asks.others < 500, "the time is no system call: {asks:?}");
    // The child computes 40,000 instructions or more for each answer, and its kernel work comes to it.
    let computed = child.insns() as f64;
    assert!(computed > 500.0 * 40_000.0, "{computed}");
    assert!(asks.sleeps >= 490, "{asks:?}");
    let ratio = asks.awaited as f64 / computed;
    assert!((0.9..1.6).contains(&ratio), "the parent waits while the child computes: {ratio}");
}

/// Copies of 16 bytes: six instructions for each, of which two access memory.
const COPIES: &str = r#"
#include <stdlib.h>
#include <string.h>
int main(void)
{
    long bytes = 16 << 20;
    char *from = malloc(bytes), *to = malloc(bytes), *end = from + bytes;
    memset(from, 1, bytes);
    __asm__ volatile("1: movups (%0), %%xmm0\n movups %%xmm0, (%1)\n add $16, %0\n add $16, %1\n cmp %2, %0\n jb 1b"
                     : "+r"(from), "+r"(to) : "r"(end) : "xmm0", "memory", "cc");
    return 0;
}
"#;

#[test]
fn an_access_of_two_halves_counts_its_block_once() {
    let Some(bench) = bench() else { return };
    let program = bench.program("copies", COPIES);
    let (_, record) = bench.record(&[&program], &Settings::default());
    let image = &record.images[0];
    let copies = 6 * (16 << 20) / 16;
    // Filling the source takes less than an instruction for 4 bytes.
    let more = image.insns() - copies;
    assert!(more < (16 << 20) / 4, "{} instructions, {copies} of them copies", image.insns());
    assert!(image.lines() >= 3 * (16 << 20) / 64, "{}", image.lines());
}

/// Objects of 64 bytes, at 32 bytes into a line: each lies in two lines, and all its words are read.
const OBJECTS: &str = r#"
#include <stdlib.h>
#include <string.h>
int main(void)
{
    long bytes = 16 << 20, step = STEP;
    char *all = aligned_alloc(4096, bytes + 4096), *at = all + 32, *end = all + bytes;
    memset(all, 1, bytes + 4096);
    __asm__ volatile("1: mov (%0), %%rax\n add 8(%0), %%rax\n add 16(%0), %%rax\n add 24(%0), %%rax\n"
                     "mov 56(%0), %%rcx\n add 40(%0), %%rcx\n add %2, %0\n cmp %1, %0\n jb 1b"
                     : "+r"(at) : "r"(end), "r"(step) : "rax", "rcx", "memory", "cc");
    return 0;
}
"#;

#[test]
fn reads_that_are_left_out_lose_no_line() {
    let Some(bench) = bench() else { return };
    // Of a step of 4096 bytes two lines are visited, of one of 64 every line once.
    for (step, lines) in [(4096u64, 2 * (16 << 20) / 4096u64), (64, (16 << 20) / 64)] {
        let program = bench.program(&format!("objects{step}"), &OBJECTS.replace("STEP", &step.to_string()));
        let (_, record) = bench.record(&[&program], &Settings::default());
        let image = &record.images[0];
        // What comes before the program proper visits other memory.
        let chunks: BTreeSet<u32> = image.cells.iter().filter(|c| c.writes > 2000).map(|c| c.chunk).collect();
        let own = image.cells.iter().filter(|c| chunks.contains(&c.chunk));
        let reads: u64 = own.map(|c| u64::from(c.lines - c.writes.min(c.lines))).sum();
        assert!(
            (lines * 9 / 10..lines + 2000).contains(&reads),
            "a step of {step}: {reads} lines read, {lines} are right"
        );
    }
}

/// Two children attach a segment of System V, and each writes its half of 16 MiB four times.
pub const SEGMENT: &str = r#"
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    long half = 8 << 20;
    int id = shmget(IPC_PRIVATE, 2 * half, 0600), failed = id < 0;
    for (int child = 0; child < 2; child++)
        if (!fork()) {
            char *at = shmat(id, 0, 0);
            if (at == (char *)-1)
                _exit(1);
            for (int i = 0; i < 4; i++)
                memset(at + child * half, i, half);
            _exit(0);
        }
    for (int status; wait(&status) > 0;)
        failed |= status;
    shmctl(id, IPC_RMID, 0);
    return failed != 0;
}
"#;

#[test]
fn a_segment_that_processes_attach_is_one_region() {
    let Some(bench) = bench() else { return };
    let program = bench.program("segment", SEGMENT);
    let (recorded, record) = bench.record(&[&program], &Settings::default());
    assert_eq!(recorded.manifest.ending, numalab_accesses::record::Ending::Exit(0));
    let fit = fit(&record).unwrap();
    assert_eq!(fit.shared.len(), 1, "{:?}", fit.shared);
    assert_eq!((fit.shared[0].users, fit.shared[0].bytes()), (2, 16 << 20));
    assert!(fit.shared[0].name.starts_with("shared_segment_"), "{}", fit.shared[0].name);
}

/// A child sweeps memory after its parent has computed.
const LATE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    for (volatile int i = 0; i < 5000000; i++)
        ;
    if (fork()) {
        int status;
        wait(&status);
        return status != 0;
    }
    char *all = malloc(8 << 20);
    for (int i = 0; i < 4; i++)
        memset(all, i, 8 << 20);
    return all[5] != 3;
}
"#;

#[test]
fn a_process_begins_when_its_parent_began_it() {
    let Some(bench) = bench() else { return };
    let program = bench.program("late", LATE);
    let (_, record) = bench.record(&[&program], &Settings::default());
    let fit = fit(&record).unwrap();
    // The parent has no memory to speak of, and computes four to eight instructions a round.
    let [child] = &fit.processes[..] else { panic!("{:?}", fit.processes) };
    assert!((15_000_000..50_000_000).contains(&child.begins), "{}", child.begins);
    let text = fit.to_toml("late");
    assert!(text.contains(&format!("sleep = \"{} * instruction_time\"", child.begins)), "{text}");
}
