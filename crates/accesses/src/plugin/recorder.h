/* Types shared by the files of the recorder, a plugin for QEMU's user mode and for guests.

   Problem: what a program does with memory must be known by thread, place and time, for a bounded price in time and
   disk, and whatever way the program ends.
   Approach: every process has a file of units of 64 bytes, mapped shared, in which figures grow in place (file.c). What
   a killed process has counted is thereby in its file. A line that a thread visits passes two modelled caches
   (caches.c) and is counted in the thread's cell for 2 MiB and a slice of time (cells.c). System calls tell of mappings,
   waits, forks and execs (calls.c, exec.c). user.c is QEMU's user mode, guest.c is a guest.
   Units: bytes, lines of 64 bytes, model instructions. crates/accesses/src/format.rs reads the file; the layouts of both
   are compared by a test. */
#ifndef NUMALAB_RECORDER_H
#define NUMALAB_RECORDER_H

#include "api.h"

#include <pthread.h>

/* Nothing here is seen by QEMU, so calls and variables need no table of symbols. */
#pragma GCC visibility push(hidden)

enum { LINE_SHIFT = 6, PAGE_SHIFT = 12, CHUNK_SHIFT = 21 };
enum { FRONT = 64, RECENT = 64, MAX_VCPUS = 1 << 16 };

/* Settings, from the arguments of the plugin. */
struct config {
    char dir[3800];          /* directory of the record */
    char qemu[3800];         /* QEMU, and this library: for programs that the program executes */
    char library[3800];
    uint64_t slice_insns;    /* length of a first slice */
    uint64_t near_bytes, far_bytes;
    uint64_t clock;          /* model instructions when the process began */
    uint32_t parent;         /* process that began it; 0 = none */
    uint64_t memory_bytes;   /* of a guest */
    uint64_t stretch;        /* least instructions of a recorded stretch (sampling.c); 0: all is recorded */
};
extern struct config conf;

/* Head of the file `control`, which all processes of a record map. */
struct control {
    uint64_t magic;
    uint64_t limit_bytes, used_bytes;   /* of all files of the record */
    uint64_t most_images, images;       /* program images: after a fork and after an exec begins another */
    uint64_t unrecorded_images;         /* beyond `most_images`, or without room */
    uint64_t insns, lines;              /* of all images, for the line of progress */
    uint64_t full;                      /* 1: `limit_bytes` is used up; 2: the disk is */
    uint64_t foreign_execs;             /* executed programs that QEMU cannot follow */
    /* What the kernel needs for a system call of a kind, and for a page or 1024 bytes, in instructions. */
    struct costs {
        uint64_t call, file, change, sent, received, poll, futex, sleep, page, copied_kib, sent_kib;
    } costs;
    uint64_t told[256];                 /* model time at which somebody last sent, by the hash of the connection */
    uint64_t ended[128];                /* model time at which a process ended, by the hash of its number */
};
enum { CONTROL_BYTES = 4096 };
_Static_assert(sizeof(struct control) <= CONTROL_BYTES, "control");

enum kind { EMPTY, HEAD, CELL, SLICE, THREAD, MAPPING, EDGE, TEXT, WRITER, WORK, SPARED_SLICE };
enum ended { RUNNING, EXITED, EXECUTED };

/* First unit of a file. */
struct head {
    uint16_t kind, version;
    uint32_t pid, parent;
    uint32_t ended;
    uint64_t magic;
    uint64_t begin_clock;
    uint64_t start_code, end_code;
    uint32_t threads;
    uint32_t unknown_call;  /* the last system call that QEMU does not have, plus 1 */
    uint64_t lost_lines;    /* visited while there was no room */
};
/* What a thread did in 2 MiB during a slice. Counts are of lines visited: a line counts again once 64 others could have
   taken its place in the core. */
struct cell {
    uint16_t kind, thread;
    uint32_t slice;
    uint32_t chunk;                 /* address >> 21 */
    uint32_t lines, writes;         /* visited, and those of them that were written */
    uint32_t near_reads, near_writes;  /* beyond the private cache */
    uint32_t far_reads, far_writes;    /* beyond the share of the last-level cache */
    uint32_t forward, strided, runs;   /* the next line; the last distance again; anything else */
    int32_t stride;                 /* the last distance, lines */
    uint32_t foreign;               /* last written by another thread */
    uint16_t pages, first;          /* distinct pages of 4 KiB; those that no thread had touched before */
    uint16_t low, high;             /* first and last of them, 0 to 511 */
};
/* A stretch of a thread's time. Of a SPARED_SLICE there are no cells. */
struct slice {
    uint16_t kind, thread;
    uint32_t slice;
    uint64_t begin_clock, end_clock;
    uint64_t insns;
    uint64_t waited;                /* model instructions that others ran while it waited */
    uint64_t slept_ns;
    uint32_t waits, wakes, sleeps, io;  /* system calls */
};
struct born {
    uint16_t kind, thread;
    uint32_t creator;               /* number of the thread that created it; its own number: none */
    uint64_t begin_clock, end_clock;
    uint64_t insns;
    uint64_t exited_ns;             /* since the process began, on the recording machine; 0: not before its process */
    uint8_t spare[24];
};
/* A change of the address space; a child whose end was waited for (wait4), its number as the address; or the end of the
   process (exit_group), with the time of the recording machine, ns, as the address, and since its begin as the length. */
struct mapping {
    uint16_t kind, thread;
    uint32_t call;                  /* number of the system call */
    uint64_t clock, address, length;
    uint64_t from, from_length;     /* what mremap replaces */
    uint32_t protection, flags;     /* of mmap; of madvise and mbind the advice and the mode */
    uint32_t text;                  /* unit with the name of the file; 0 = none */
    uint32_t spare;
};
/* How often a thread waited on, or woke others through, an address. */
struct edge {
    uint16_t kind, thread;
    uint32_t wakes;                 /* 0: it waited; 1: it woke others */
    uint64_t address, count;
    uint8_t spare[40];
};
struct text {
    uint16_t kind, length;
    char bytes[60];
};
/* What a thread writes of a line that several write by turns. */
struct writer {
    uint16_t kind, thread;
    uint32_t spare;
    uint64_t line;                  /* address >> 6 */
    uint64_t bytes;                 /* which of its 64 bytes, lowest first */
    uint64_t writes;                /* since the line was known to be such a one */
    uint8_t spares[32];
};
/* What the kernel does for a thread during a slice. Futexes and sleeps are in the slice. */
struct work {
    uint16_t kind, thread;
    uint32_t slice;
    uint32_t others;                /* system calls of no other kind */
    uint32_t files;                 /* reads and writes of files and pipes */
    uint32_t changes;               /* of what is polled (epoll_ctl) */
    uint32_t sent, received;        /* messages of the network; all of sockets of Unix count as received */
    uint32_t polls;
    uint64_t copied_bytes;          /* of files, pipes and received messages */
    uint64_t sent_bytes;
    uint32_t populated;             /* pages (madvise) */
    uint32_t sleeps;                /* for messages that were not there yet, by model time */
    uint64_t awaited;               /* model instructions that others ran until they were sent */
};
enum { UNIT = 64 };
_Static_assert(sizeof(struct head) == UNIT && sizeof(struct cell) == UNIT && sizeof(struct slice) == UNIT, "units");
_Static_assert(sizeof(struct born) == UNIT && sizeof(struct mapping) == UNIT && sizeof(struct edge) == UNIT, "units");
_Static_assert(sizeof(struct text) == UNIT && sizeof(struct writer) == UNIT && sizeof(struct work) == UNIT, "units");

/* A line that was visited, and from where: the next one at this distance goes on with it. */
struct stream {
    uint64_t line;
    int64_t distance;
    unsigned flags;                 /* of the line in the front filter */
    bool goes_on;                   /* the line has followed another one */
};
enum { STREAMS = 4 };
/* A thread's cell of the running slice, with what is needed to count in it. */
struct open_cell {
    uint32_t chunk, slice;          /* free unless `slice` is the running one */
    struct cell *cell;
    struct stream streams[STREAMS]; /* that go on by turns, the last one first */
    uint64_t pages[8];
};
struct cache {
    uint32_t *tags;                 /* sets × 8, most recently used first; 0 = empty */
    uint32_t set_bits;
};
enum { EDGES = 64, KNOWN_BITS = 16 };
struct thread {
    /* Lines that the core holds itself: line << 3 | FRONT_* flags. */
    uint64_t front[FRONT];
    uint64_t insns;
    uint64_t slice_end;             /* in instructions of the thread */
    uint64_t ahead;                 /* its clock minus its instructions */
    struct open_cell *recent[RECENT];
    uint32_t slice, number;
    uint64_t slice_insns, slice_waited, slice_slept_ns;  /* at the begin of the slice */
    uint64_t waited, slept_ns;
    uint64_t told_insns, told_lines;   /* already in `control` */
    uint64_t lines;
    struct slice *now;
    struct work *work;              /* of the slice; NULL until there is any */
    struct born *born;
    struct open_cell *cells;
    uint32_t space, used;
    struct cache near_cache, far_cache;
    void *units, *units_end;        /* its part of the file */
    uint64_t call_a1, call_a2, call_a3, call_a4, call_a5;
    uint64_t exit_address;          /* who waits for its end waits here; 0 = nobody */
    struct edge *edges[EDGES];
    struct cell scrap;              /* counts what finds no room */
    struct slice scrap_slice;
    struct work scrap_work;
    struct born scrap_born;
    struct thread *next_spare;      /* of those that have ended */
    struct image *image;
    uint32_t fresh_chunks, fresh_pages;  /* of the slice: chunks new to the thread, pages that nobody had touched */
    uint64_t faults;                /* page faults of the thread at the begin of a spared slice */
    uint64_t known[1 << (KNOWN_BITS - 6)];  /* chunks that it has visited, a bit for each, by hash */
    uint32_t stretch;               /* the last recorded stretch in which it ran, with its instructions there */
    uint64_t stretch_insns, repeated_insns;  /* of them those since it last saw something new */
    bool is_in_call;                /* in the kernel, under user mode */
    bool is_nobody;                 /* stands for no thread of the recorded program */
    struct guest_task *task;        /* in a guest */
};
/* Of each virtual CPU. */
extern struct thread *threads[MAX_VCPUS];
extern struct control *control;
#define CLOCK(t) ((t)->insns + (t)->ahead)

enum { OWNER_BITS = 19, TOUCHED_LEAF_BITS = 13, TOUCHED_TOP = 1 << (47 - CHUNK_SHIFT - TOUCHED_LEAF_BITS) };
enum { SHARED_SETS = 256, SHARED_WAYS = 4, SHARED_WRITERS = 8, PLACES = 4096 };
/* A bit for each page of 2 MiB. */
typedef uint64_t pages[8];
struct shared_line {
    uint64_t line;                  /* plus 1; 0 = free */
    uint32_t count;                 /* threads that have a unit */
    struct writer *writers[SHARED_WRITERS];
};
/* A program image: an address space, its threads and its file. QEMU's user mode has one of them in a process; of a
   guest's, each process has one. All zeros is an image without a file. Large parts are zeros until they are used. */
struct image {
    struct head *head;
    bool is_recording;
    struct head nowhere;            /* the head of an image without a file */
    bool has_file;
    int file;
    char *base;
    uint64_t allocated, used;
    pthread_mutex_t growing;
    uint64_t end_of_heap;
    uint64_t began_ns;              /* when it began, on the machine that records */
    uint32_t reaped;                /* children whose end was waited for */
    bool is_sharing;                /* the lock of `shared` */
    bool has_shared;                /* whether there is a line in it */
    /* Threads by their number, of which 16 bits count. */
    struct thread *numbered[1 << 16];
    uint64_t owners[1 << OWNER_BITS];
    pages **touched[TOUCHED_TOP];
    struct shared_line shared[SHARED_SETS][SHARED_WAYS];
    uint64_t woken[PLACES];
};

/* file.c */
bool file_attach(void);
uint64_t time_ns(void);
void file_begin(struct image *image, uint32_t pid, uint32_t parent, uint64_t clock);
void file_end(struct image *image);
void *file_unit(struct thread *t, enum kind kind);
uint32_t file_number(const struct thread *t, const void *unit);

/* caches.c */
enum { NEAR_MISS = 1, FAR_MISS = 2 };
void caches_make(struct thread *t);
unsigned caches_miss(struct thread *t, uint64_t line);
bool caches_foreign(struct thread *t, uint64_t line, bool writes);
bool caches_owned(struct thread *t, uint64_t line);

/* shared.c */
struct shared_line *shared_find(struct image *image, uint64_t line);
void shared_add(struct image *image, uint64_t line);
void shared_count(struct shared_line *s, struct thread *t, uint64_t address, unsigned size);
void shared_forget(struct image *image);

/* cells.c */
struct thread *thread_begin(struct image *image, uint32_t creator, uint64_t clock);
struct thread *thread_nobody(struct image *image);
void thread_end(struct thread *t);
void thread_forked(struct thread *t);
void slice_begin(struct thread *t);
void slice_change(struct thread *t);
void slice_tell(struct thread *t);
void visit(struct thread *t, uint64_t line, bool writes);
void visit_written(struct thread *t, uint64_t line);
void touched_forget(struct image *image, uint64_t address, uint64_t length);
void touched_copy(const struct image *from, struct image *to);
void touched_free(struct image *image);
enum { WRITTEN = 1, WAS_NEAR_MISS = 2, WAS_FAR_MISS = 4, FRONT_FLAGS = 3 };

/* calls.c */
void calls_begin(struct thread *t, int64_t number, const uint64_t arguments[6]);
void calls_end(struct thread *t, int64_t number, int64_t result);
void calls_wake(struct thread *t, uint64_t address);
struct mapping *calls_map(struct thread *t, uint64_t address, uint64_t length, const char *path);
void calls_over(struct thread *t);

/* work.c */
void work_begin(struct thread *t, int64_t number);
void work_end(struct thread *t, int64_t number, int64_t result);
void work_over(const struct thread *t);
uint64_t work_over_at(uint32_t pid);

/* access.c */
void access_translate(struct qemu_plugin_tb *block);
/* Called for a thread whose `is_nobody` is set, in place of counting; true if another thread stands there now. */
extern bool (*access_of_nobody)(unsigned vcpu, mem_info info, uint64_t address);

/* What a descriptor leads to. */
struct peer {
    enum { PLAIN_FILE, PIPE, UNIX_SOCKET, NETWORK } kind;
    uint64_t connection;            /* equal for a sender and its receiver; 0 = not known */
};

/* What differs between QEMU's user mode (user.c, exec.c) and a guest (guest.c). */
struct mode {
    /* Copies memory of the program; false if it is not there. */
    bool (*read)(struct thread *t, uint64_t address, void *to, size_t length);
    /* The path of an open file; false if it has none. */
    bool (*path_of)(struct thread *t, int descriptor, char *path, size_t space);
    /* What a descriptor leads to, on which the system call sends, or receives. */
    struct peer (*peer_of)(struct thread *t, int64_t number, int descriptor, bool sends);
    /* Bytes of a segment of System V; 0 if not known. */
    uint64_t (*segment_bytes)(int segment);
};
extern const struct mode *mode;
extern const struct mode user_mode, guest_mode;
bool user_install(plugin_id id);
bool guest_install(plugin_id id, unsigned cpus);

/* sampling.c */
void sampling_install(plugin_id id);
bool sampling_is_sparing(void);
void sampling_slice(struct thread *t, bool was_recorded, uint64_t insns);
void sampling_disturb(struct thread *t);
void sampling_keep(void);
void sampling_release(void);
void sampling_forked(struct thread *t);
void sampling_chunk(struct thread *t, uint32_t chunk);
void sampling_translate(plugin_id id, struct qemu_plugin_tb *block);

/* exec.c */
extern uint64_t guest_base;
void exec_under_qemu(struct thread *t, uint64_t path, uint64_t arguments, uint64_t environment);
bool user_read(struct thread *t, uint64_t address, void *to, size_t length);

/* unix.c */
uint64_t unix_connection(int descriptor, bool sends);
void unix_made(struct thread *t, int64_t number, int64_t result);

/* decode.c */
bool decode_is_stack(const uint8_t *bytes, size_t n);
bool decode_is_repeated(const uint8_t *bytes, size_t n);
bool decode_is_single(const uint8_t *bytes, size_t n);

/* operand.c */
/* base + index × 2^scale + offset; 255 is no register. */
struct operand {
    bool is_memory, writes, exchanges;
    uint8_t base, index, scale;
    int32_t offset;
    uint16_t changes;               /* registers that the instruction changes, a bit for each */
};
struct operand decode_operand(const uint8_t *bytes, size_t n);

#pragma GCC visibility pop
#endif
