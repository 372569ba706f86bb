/* Which stretches of a long run are recorded with their accesses, under QEMU's user mode.

   Problem: a call for each access makes a program take two to four times the time that QEMU needs alone.
   Approach: a stretch that shows nothing new is recorded until the second half of it repeats the first: no thread has
   come to memory that is new to it. Then `SPARED` times as many instructions are only counted, by block, and the next
   stretch is recorded. QEMU translates all code anew at each change, since it has calls in the code itself. What lies
   between is filled in by who reads the record (unseen.rs).
   Recording goes on at once when threads or processes are created, when memory is mapped, and when the kernel gives the
   process pages: who touches memory first is always recorded.
   A change that another thread has begun would be lost in the child of a fork, where that thread is not, and QEMU would
   take no further one. So who forks waits for a change to end, and keeps others from one until it has forked.
   Bounds: decisions are made when a slice of a thread ends, so they come a slice late. */
#define _GNU_SOURCE
#include "recorder.h"

#include <sched.h>
#include <sys/resource.h>

enum { SPARED = 8, MOST_FAULTS = 4, MOST_FRESH_PAGES = 8 };

/* The plugin a second time: it alone has the callbacks for code, so they can be replaced. */
static plugin_id translator;
static bool has_translator, is_changing;
/* Whether it is this host thread that keeps others from a change; so in the child of its fork. */
static __thread bool is_keeping;
static bool is_sparing;
static uint32_t stretches;
/* In instructions of all threads: all that were recorded, where the stretch began, and where something new was seen. */
static uint64_t total, begun, fresh_at;
/* Instructions of the first stretch, and those that are still spared. */
static uint64_t first_stretch, spared;

bool sampling_is_sparing(void) { return __atomic_load_n(&is_sparing, __ATOMIC_RELAXED); }

static void on_spared_block(unsigned vcpu, void *data)
{
    struct thread *t = threads[vcpu & (MAX_VCPUS - 1)];
    t->insns += (uintptr_t)data;
    if (__builtin_expect(t->insns >= t->slice_end, 0) && !t->is_nobody)
        slice_change(t);
}

static void on_ignored_memory(unsigned vcpu, mem_info info, uint64_t address, void *data)
{
    (void)vcpu, (void)info, (void)address, (void)data;
}

/* Whether QEMU may carry an instruction out in a function of its own. Up to 7.2 such a function calls what the last
   instruction of its kind has asked for, also after that one's code was thrown away. So each asks for a call. */
static bool is_in_function(const struct qemu_plugin_insn *insn)
{
    const uint8_t *bytes = qemu_plugin_insn_data(insn);
    size_t length = qemu_plugin_insn_size(insn);
    struct operand o = decode_operand(bytes, length);
    bool is_known = o.changes != 0xffff && !o.exchanges;
    return !is_known && !decode_is_stack(bytes, length);
}

static void on_spared_translation(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        if (is_in_function(insn))
            qemu_plugin_register_vcpu_mem_cb(insn, on_ignored_memory, NO_REGISTERS, READ_AND_WRITE, NULL);
    }
    struct qemu_plugin_insn *first = n ? qemu_plugin_tb_get_insn(block, 0) : NULL;
    if (n && !(n == 1 && decode_is_repeated(qemu_plugin_insn_data(first), qemu_plugin_insn_size(first))))
        qemu_plugin_register_vcpu_tb_exec_cb(block, on_spared_block, NO_REGISTERS, (void *)n);
}

/* QEMU has stopped all threads, and thrown the code away. Each thread begins a slice of the new sort. */
static void on_thrown_away(plugin_id id)
{
    bool spares = !is_sparing;
    __atomic_store_n(&is_sparing, spares, __ATOMIC_RELAXED);
    qemu_plugin_register_vcpu_tb_trans_cb(id, spares ? on_spared_translation : sampling_translate);
    if (!spares) {
        begun = fresh_at = total;
        stretches++;
    }
    for (unsigned v = 0; v < MAX_VCPUS; v++)
        if (!threads[v]->is_nobody)
            __atomic_store_n(&threads[v]->slice_end, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&is_changing, false, __ATOMIC_RELEASE);
}

static void change(void)
{
    if (!__atomic_exchange_n(&is_changing, true, __ATOMIC_ACQUIRE))
        qemu_plugin_reset(translator, on_thrown_away);
}

/* Called in a system call, where QEMU throws code away without waiting for the thread. */
void sampling_keep(void)
{
    if (!has_translator || is_keeping)
        return;
    while (__atomic_exchange_n(&is_changing, true, __ATOMIC_ACQUIRE))
        sched_yield();
    is_keeping = true;
}

void sampling_release(void)
{
    if (is_keeping)
        __atomic_store_n(&is_changing, false, __ATOMIC_RELEASE);
    is_keeping = false;
}

static uint64_t faults_of_thread(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_minflt;
}

/* Whether each thread that computes has repeated itself: on a busy host one may hardly have begun when others are long
   through. Those that wait in the kernel do not count. */
static bool has_each_repeated(void)
{
    bool found = true;
    for (unsigned v = 0; v < MAX_VCPUS && found; v++) {
        const struct thread *t = threads[v];
        bool computes = !t->is_nobody && !__atomic_load_n(&t->is_in_call, __ATOMIC_RELAXED);
        found = !computes || (t->stretch == stretches && t->stretch_insns && t->repeated_insns >= t->stretch_insns / 2);
    }
    return found;
}

static void count_stretch(struct thread *t, uint64_t insns, bool is_fresh)
{
    if (t->stretch != stretches)
        t->stretch_insns = t->repeated_insns = 0;
    t->stretch = stretches;
    t->stretch_insns += insns;
    t->repeated_insns = is_fresh ? 0 : t->repeated_insns + insns;
}

/* A slice has ended whose accesses were recorded. */
static void recorded(struct thread *t, uint64_t insns)
{
    bool is_fresh = t->fresh_chunks || t->fresh_pages > MOST_FRESH_PAGES;
    count_stretch(t, insns, is_fresh);
    uint64_t now = __atomic_add_fetch(&total, insns, __ATOMIC_RELAXED);
    if (is_fresh)
        __atomic_store_n(&fresh_at, now, __ATOMIC_RELAXED);
    uint64_t length = now - begun, least = first_stretch ? first_stretch : conf.stretch;
    if (length < least || now - __atomic_load_n(&fresh_at, __ATOMIC_RELAXED) < length / 2)
        return;
    if (!has_each_repeated())
        return;
    first_stretch = first_stretch ? first_stretch : length;
    __atomic_store_n(&spared, SPARED * length, __ATOMIC_RELAXED);
    change();
}

/* A slice has ended whose accesses were not. */
static void was_spared(struct thread *t, uint64_t insns)
{
    uint64_t left = __atomic_load_n(&spared, __ATOMIC_RELAXED);
    __atomic_store_n(&spared, left > insns ? left - insns : 0, __ATOMIC_RELAXED);
    if (left <= insns || faults_of_thread() - t->faults > MOST_FAULTS)
        change();
}

/* A thread's slice has ended. Called in code of the program, where QEMU can be asked to throw it away. */
void sampling_slice(struct thread *t, bool was_recorded, uint64_t insns)
{
    if (!has_translator || !conf.stretch || t->is_nobody)
        return;
    if (was_recorded && !sampling_is_sparing())
        recorded(t, insns);
    else if (!was_recorded && sampling_is_sparing())
        was_spared(t, insns);
    if (sampling_is_sparing())
        t->faults = faults_of_thread();
    t->fresh_chunks = t->fresh_pages = 0;
}

/* The program is about to change what it does: recording goes on with the next block. */
void sampling_disturb(struct thread *t)
{
    if (!has_translator)
        return;
    if (sampling_is_sparing()) {
        __atomic_store_n(&spared, 0, __ATOMIC_RELAXED);
        t->slice_end = 0;
    } else {
        __atomic_store_n(&fresh_at, __atomic_load_n(&total, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    }
}

/* In the child of a fork, which begins with a stretch of its own. */
void sampling_forked(struct thread *t)
{
    total = begun = fresh_at = first_stretch = spared = 0;
    if (sampling_is_sparing())
        t->slice_end = 0;
}

/* Whether a thread comes to a chunk that is new to it, as far as a table without collisions tells. */
void sampling_chunk(struct thread *t, uint32_t chunk)
{
    uint32_t at = chunk * 2654435761u >> (32 - KNOWN_BITS);
    uint64_t bit = 1ull << (at & 63);
    t->fresh_chunks += !(t->known[at >> 6] & bit);
    t->known[at >> 6] |= bit;
}

void sampling_install(plugin_id id)
{
    translator = id;
    has_translator = true;
    qemu_plugin_register_vcpu_tb_trans_cb(id, sampling_translate);
}
