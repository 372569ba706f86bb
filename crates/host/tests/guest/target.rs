//! A program whose memory is balanced, and which checks all the while that every word of it is right.
//!
//! `target MIB TOUCH RUN THREADS [keep|bind|fork|exec|burst|hot]`: touches its memory on node TOUCH, lets its threads
//! begin on node RUN (`-`: wherever they are), and then may run anywhere, unless it has to `keep` to that node. With
//! `bind` its memory policy is node TOUCH. With `fork` a child shares the memory copy-on-write. With `burst` it forks,
//! executes itself and ends after a short time. With `hot` it leaves its memory alone until the end, and instead writes
//! a small region that is bound to the node after TOUCH.

use numalab_host::procfs::{node, Roots};
use numalab_host::sys::set_affinity;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Exit code of a program whose memory was not what it wrote.
pub const WRONG: i32 = 99;
const WORDS_PER_PAGE: usize = 512;
/// Memory that a `hot` target writes, MiB.
pub const HOT_MIB: u64 = 4;

fn word(index: usize) -> u64 {
    (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995
}

/// Reads one word in 64 bytes of every page, and ends the program if any is wrong.
fn check(memory: &[u64]) {
    for (i, value) in memory.iter().enumerate().step_by(8) {
        if *value != word(i) {
            println!("WRONG MEMORY at word {i} of process {}", std::process::id());
            std::process::exit(WRONG);
        }
    }
}

fn cpus_of(id: u32) -> Vec<u32> {
    node::all(&Roots::default()).into_iter().find(|n| n.id == id).map(|n| n.cpus).unwrap()
}

fn all_cpus() -> Vec<u32> {
    node::all(&Roots::default()).into_iter().flat_map(|n| n.cpus).collect()
}

/// Memory that is on a node and must stay there.
fn bound_to(node: u32) -> Vec<AtomicU64> {
    let mut all: Vec<AtomicU64> = Vec::with_capacity(HOT_MIB as usize * 256 * WORDS_PER_PAGE);
    let range = (all.as_ptr() as usize).next_multiple_of(4096);
    let nodes = 1u64 << node;
    // SAFETY: the policy of whole pages inside the vector changes where they are, not what they hold.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            range,
            all.capacity() * 8 / 4096 * 4096 - 4096,
            libc::MPOL_BIND,
            &nodes as *const u64,
            64usize,
            0,
        )
    };
    assert_eq!(result, 0, "mbind: {}", std::io::Error::last_os_error());
    all.extend((0..all.capacity()).map(|_| AtomicU64::new(0)));
    all
}

/// Writes a word of every cache line, and ends the program if any does not hold what was written before.
fn write_and_check(hot: &[AtomicU64], round: &mut u64) {
    *round += 1;
    for value in hot.iter().step_by(8) {
        if value.swap(*round, Ordering::Relaxed) != *round - 1 {
            println!("WRONG MEMORY in round {round} of process {}", std::process::id());
            std::process::exit(WRONG);
        }
    }
}

/// Runs a target until SIGTERM, and ends with 0 if its memory was right to the end.
pub fn main(args: &[String]) -> ! {
    let number = |i: usize| args[i].parse::<u32>().unwrap();
    let (mib, touch, threads) = (number(0) as usize, number(1), number(3) as usize);
    let run: Option<u32> = args[2].parse().ok();
    let how = args.get(4).map_or("", String::as_str);
    set_affinity(0, &cpus_of(touch)).unwrap();
    if how == "bind" {
        let policy = numalab_worker::sys::RawPolicy { mode: libc::MPOL_BIND, nodes: 1 << touch };
        numalab_worker::sys::set_mempolicy(policy).unwrap();
    }
    let mut memory = vec![0u64; mib * 256 * WORDS_PER_PAGE];
    memory.iter_mut().enumerate().for_each(|(i, w)| *w = word(i));
    let memory: &'static [u64] = memory.leak();
    let hot: Option<&'static [AtomicU64]> = (how == "hot").then(|| bound_to(touch + 1).leak() as &[AtomicU64]);
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(libc::SIGTERM, Arc::clone(&stop)).unwrap();
    let mut child = 0;
    if how == "fork" || how == "burst" {
        // SAFETY: this process has one thread, as signal handlers need none.
        child = unsafe { numalab_worker::sys::fork() }.unwrap();
    }
    let all = all_cpus();
    let begin = match run {
        Some(node) => cpus_of((node + u32::from(how == "fork" && child == 0)) % 4),
        None => all.clone(),
    };
    if how == "burst" {
        set_affinity(0, &all).unwrap();
        burst(memory, child, args);
    }
    let workers: Vec<_> = (0..threads)
        .map(|t| {
            let (stop, begin, all) = (Arc::clone(&stop), begin.clone(), all.clone());
            let keep = how == "keep";
            std::thread::spawn(move || {
                // Spread over the nodes, one after the other, if there is no node to begin on.
                let first = if begin.len() == all.len() { vec![all[t * 2 % all.len()]] } else { begin };
                set_affinity(0, &first).unwrap();
                std::thread::yield_now();
                if !keep {
                    set_affinity(0, &all).unwrap();
                }
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    match hot {
                        Some(hot) => write_and_check(hot, &mut round),
                        None => check(memory),
                    }
                }
            })
        })
        .collect();
    if how != "keep" {
        set_affinity(0, &all).unwrap();
    }
    // The scenario waits for this.
    std::fs::write(format!("/tmp/ready-{}", std::process::id()), "").unwrap();
    workers.into_iter().for_each(|w| w.join().unwrap());
    check(memory);
    if child > 0 {
        numalab_host::sys::terminate(child as u32);
        let mut status = 0;
        // SAFETY: the call writes nothing but `status`.
        unsafe { libc::waitpid(child, &mut status, 0) };
        std::process::exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 98 });
    }
    std::process::exit(0)
}

/// Checks the memory for a while; the parent then executes this program anew for the rest, and the child ends.
fn burst(memory: &[u64], child: i32, args: &[String]) -> ! {
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_millis(1500) {
        check(memory);
    }
    if child == 0 {
        std::process::exit(0);
    }
    let mut status = 0;
    // SAFETY: the call writes nothing but `status`.
    unsafe { libc::waitpid(child, &mut status, 0) };
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        std::process::exit(98);
    }
    // Rounds are counted down in the number of threads, so that it ends at last.
    let rounds: u32 = args[3].parse().unwrap();
    if rounds == 0 {
        std::process::exit(0);
    }
    let next = (rounds - 1).to_string();
    let error = std::os::unix::process::CommandExt::exec(
        std::process::Command::new("/proc/self/exe").args(["target", &args[0], &args[1], &args[2], &next, "burst"]),
    );
    println!("exec: {error}");
    std::process::exit(97)
}
