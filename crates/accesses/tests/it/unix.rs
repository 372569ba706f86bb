//! Messages between processes through sockets of Unix.

use crate::kernel_work::work;
use crate::support::bench;
use numalab_accesses::fit::fit;
use numalab_accesses::record::{AccessRecord, Ending};
use numalab_accesses::recorder::Settings;

/// A parent asks its child ROUNDS times. The child reads 3 MiB before it answers, and the parent 2 MiB of its own
/// before it asks again. WAY says how they are connected.
pub const UNIX: &str = r#"
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
enum { ROUNDS = 100, OWN = 1 << 18, ITS = 3 << 17 };
static volatile long sum;
static void reads(long *all, long words)
{
    for (long i = 0; i < words; i++)
        sum += all[i];
}
static int answer(int s, long *all)
{
    char text[256];
    ssize_t n = read(s, text, sizeof text);
    if (n <= 0)
        return n < 0 ? 5 : 0;
    reads(all, ITS);
    return write(s, text, sizeof text) == sizeof text ? -1 : 6;
}
static int answers(int s)
{
    long *all = calloc(ITS, 8);
    int how;
    while ((how = answer(s, all)) < 0)
        ;
    return how;
}
static int asks(int s, long *all)
{
    char text[256] = "";
    reads(all, OWN);
    return write(s, text, sizeof text) != sizeof text || read(s, text, sizeof text) != sizeof text;
}
/* Sends a descriptor by a socket, or with -1 takes the one that comes. */
static int handed(int by, int descriptor)
{
    union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } with = {0};
    char one = 0;
    struct iovec data = {&one, 1};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with};
    if (descriptor < 0)
        return recvmsg(by, &m, 0) == 1 ? *(int *)CMSG_DATA(&with.head) : -1;
    with.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    *(int *)CMSG_DATA(&with.head) = descriptor;
    return sendmsg(by, &m, 0) == 1 ? 0 : -1;
}
int main(int argc, char **argv)
{
    const char *way = WAY;
    int by[2], ends[2] = {-1, -1}, is_sent = !strcmp(way, "sent");
    int kind = strcmp(way, "datagrams") ? SOCK_STREAM : SOCK_DGRAM;
    int is_pair = !strcmp(way, "pair") || !strcmp(way, "executed") || kind == SOCK_DGRAM, anew = !strcmp(way, "anew");
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    /* An abstract name begins with a zero. */
    snprintf(at.sun_path + !strcmp(way, "abstract"), 100, "%s.%d", argv[0], (int)getpid());
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at.sun_path + 1);
    if (argc > 1)
        return answers(atoi(argv[1]));
    int listener = socket(AF_UNIX, kind, 0);
    if (is_sent   ? socketpair(AF_UNIX, kind, 0, by)
        : is_pair ? socketpair(AF_UNIX, kind, 0, ends)
                  : bind(listener, (void *)&at, length) || listen(listener, 8))
        return 1;
    pid_t child = fork();
    if (!child && anew) {
        long *all = calloc(ITS, 8);
        for (int i = 0; i < ROUNDS; i++) {
            int s = accept(listener, 0, 0);
            if (answer(s, all) >= 0)
                return 2;
            close(s);
        }
        return 0;
    }
    if (!child && is_sent)
        return close(by[0]) || answers(handed(by[1], -1));
    if (is_sent && (socketpair(AF_UNIX, kind, 0, ends) || handed(by[0], ends[1]) || close(ends[1])))
        return 7;
    if (!child && is_pair) {
        close(ends[0]);
        char number[16];
        snprintf(number, sizeof number, "%d", dup(ends[1]));
        close(ends[1]);
        if (!strcmp(way, "executed"))
            execl(argv[0], argv[0], number, (char *)0);
        return answers(atoi(number));
    }
    if (!child) {
        int s = socket(AF_UNIX, kind, 0);
        return connect(s, (void *)&at, length) ? 3 : answers(s);
    }
    long *all = calloc(OWN, 8);
    int s = is_pair || is_sent ? ends[0] : anew ? -1 : accept(listener, 0, 0), failed = 0;
    if (is_pair)
        close(ends[1]);
    for (int i = 0; i < ROUNDS; i++) {
        if (anew) {
            s = socket(AF_UNIX, kind, 0);
            failed |= connect(s, (void *)&at, length);
        }
        failed |= asks(s, all);
        if (anew)
            close(s);
    }
    /* Who is asked by datagrams is told to end by an empty one. */
    failed |= kind == SOCK_DGRAM && send(s, "", 0, 0);
    close(s);
    unlink(at.sun_path);
    int status;
    wait(&status);
    return failed || status;
}
"#;

/// Who asks waits for as long as the other computes, and the other for as long as it takes to ask again.
pub fn check(record: &AccessRecord) {
    let parent = &record.images[0];
    let child = record.images.iter().max_by_key(|i| (i.number != parent.number, i.lines())).unwrap();
    let (asks, answers) = (work(parent), work(child));
    assert_eq!((asks.sent, answers.sent), (0, 0), "they are no messages of the network");
    assert!([asks, answers].iter().all(|w| (25_600..25_602).contains(&w.sent_bytes)), "{asks:?} {answers:?}");
    for (who, ready, other) in [(&asks, parent, child), (&answers, child, parent)] {
        assert!((200..204).contains(&who.received), "a read and a write for each: {who:?} of {}", ready.number);
        assert!((90..=110).contains(&who.sleeps), "{who:?} of {}", ready.number);
        let ratio = who.awaited as f64 / other.insns() as f64;
        assert!((0.8..1.6).contains(&ratio), "{} waits while the other computes: {ratio}", ready.number);
    }
    let fit = fit(record).unwrap();
    let [one, two] = &fit.processes[..] else { panic!("{:?}", fit.processes) };
    for p in [one, two] {
        let phases = || p.classes.iter().flat_map(|c| &c.phases);
        let (awaited, insns) = phases().fold((0.0, 0.0), |sum, p| (sum.0 + p.awaited, sum.1 + p.all_insns()));
        assert!((0.5..2.0).contains(&(awaited / insns)), "each works half of the time: {awaited} of {insns}");
    }
    let text = fit.to_toml("test");
    assert!(text.matches("* instruction_time\" }").count() >= 2, "{text}");
}

fn seen(way: &str) {
    let Some(bench) = bench() else { return };
    let program = bench.program(way, &UNIX.replace("WAY", &format!("\"{way}\"")));
    let (recorded, record) = bench.record(&[&program], &Settings { stretch_insns: 0, ..Settings::default() });
    assert_eq!(recorded.manifest.ending, Ending::Exit(0));
    check(&record);
}

#[test]
fn messages_of_a_pair_that_a_child_inherits() {
    seen("pair");
}

/// The child's program knows the socket by its number alone.
#[test]
fn messages_of_a_pair_that_an_executed_program_inherits() {
    seen("executed");
}

/// The pair is made when the child is there already.
#[test]
fn messages_of_an_end_that_is_sent_to_another_process() {
    seen("sent");
}

#[test]
fn messages_through_a_name_in_the_file_system() {
    seen("path");
}

#[test]
fn messages_through_an_abstract_name() {
    seen("abstract");
}

/// The end that answered is closed before the answer is read.
#[test]
fn messages_of_connections_that_last_for_one_answer() {
    seen("anew");
}

#[test]
fn datagrams_of_a_pair() {
    seen("datagrams");
}
