//! A record of accesses from samples of the processor, in place of a program under emulation.
//!
//! Problem: hardware samples say which address an instruction accessed now and then, and nothing of the order of lines;
//! a fit and the pictures read records of every access.
//! Approach: each sample stands for the accesses since the one before, and is counted as so many lines in no order.
//! Instructions are CPU time at the speed that a fit assumes ([`INSTRUCTION_NS`]), so what a fit makes of them takes
//! the CPU time that was measured. The files are those of the plugin.
//! Units: bytes, lines of 64 bytes, ns; model instructions. Invariant: a record takes no more than its limit.

use crate::encode;
use crate::fit::INSTRUCTION_NS_VALUE as INSTRUCTION_NS;
use crate::format::{Born, Cell, Control, Ended, Full, Head, Mapping, Slice, Unit, CHUNK_BYTES, PAGE_BYTES, UNIT};
use crate::record::{Manifest, CONTROL, MANIFEST, UNITS};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Most threads of a process that have numbers of their own.
const MOST_THREADS: usize = 60_000;

/// A sampled access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// What was accessed.
    pub address: u64,
    /// Whether it was a store.
    pub writes: bool,
    /// Whether the private caches did not have it.
    pub is_near_miss: bool,
    /// Whether the last-level cache did not have it either.
    pub is_far_miss: bool,
    /// Accesses that it stands for, at least 1.
    pub lines: u64,
}

/// A mapping as the kernel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// File, or empty.
    pub name: String,
}

#[derive(Default)]
struct Thread {
    number: u16,
    begin_clock: u64,
    cpu_ns: u64,
    slice: u32,
    slices: Vec<Slice>,
    cells: BTreeMap<u32, (Cell, [u64; 8])>,
    done: Vec<Cell>,
}

#[derive(Default)]
struct Process {
    parent: u32,
    path: String,
    threads: BTreeMap<u32, Thread>,
    mappings: Vec<Mapped>,
    /// Pages that had a sample.
    touched: BTreeSet<u64>,
    lost_lines: u64,
}

/// Samples while they come.
pub struct Sampling {
    limit_bytes: u64,
    used_bytes: u64,
    clock: u64,
    processes: BTreeMap<u32, Process>,
}

fn insns(cpu_ns: u64) -> u64 {
    (cpu_ns as f64 / INSTRUCTION_NS) as u64
}

impl Sampling {
    /// Nothing sampled yet. The record takes `limit_bytes` at most.
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, used_bytes: 0, clock: 0, processes: BTreeMap::new() }
    }

    /// What is known of a process: its parent, its program and its mappings, the last of which replace those before.
    pub fn process(&mut self, pid: u32, parent: u32, path: &str, mappings: Vec<Mapped>) {
        let p = self.processes.entry(pid).or_default();
        (p.parent, p.path) = (parent, path.into());
        if mappings.len() >= p.mappings.len() {
            p.mappings = mappings;
        }
    }

    /// Counts a sample. One of a process that is not known, or without room, is left out.
    pub fn add(&mut self, s: &Sample) {
        let Some(p) = self.processes.get_mut(&s.pid) else { return };
        let lines = s.lines.clamp(1, u64::from(u32::MAX)) as u32;
        if s.address >> 47 != 0 {
            return;
        }
        let is_first = p.touched.insert(s.address / PAGE_BYTES);
        let clock = self.clock;
        let Some(t) = thread(p, s.pid, s.tid, clock) else { return };
        let (thread, slice) = (t.number, t.slice + 1);
        let chunk = (s.address / CHUNK_BYTES) as u32;
        // The first cell of a slice takes the room of the slice too.
        let need = if t.cells.is_empty() { 2 * UNIT as u64 } else { UNIT as u64 };
        let room = self.used_bytes + need <= self.limit_bytes;
        let (c, pages) = match t.cells.entry(chunk) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if !room => {
                p.lost_lines += u64::from(lines);
                return;
            }
            Entry::Vacant(free) => {
                self.used_bytes += need;
                free.insert((Cell { thread, slice, chunk, low: 511, ..Cell::default() }, [0; 8]))
            }
        };
        let page = (s.address % CHUNK_BYTES / PAGE_BYTES) as u16;
        // Samples do not show which line follows which.
        for (to, counts) in [
            (&mut c.lines, true),
            (&mut c.runs, true),
            (&mut c.writes, s.writes),
            (&mut c.near_reads, s.is_near_miss && !s.writes),
            (&mut c.near_writes, s.is_near_miss && s.writes),
            (&mut c.far_reads, s.is_far_miss && !s.writes),
            (&mut c.far_writes, s.is_far_miss && s.writes),
        ] {
            *to = to.saturating_add(if counts { lines } else { 0 });
        }
        (c.low, c.high) = (c.low.min(page), c.high.max(page));
        let bit = 1u64 << (page % 64);
        if pages[usize::from(page / 64)] & bit == 0 {
            pages[usize::from(page / 64)] |= bit;
            c.pages += 1;
            c.first += u16::from(is_first);
        }
    }

    /// Ends a slice of `wall_ns`. `cpu` has the CPU time of threads so far, by process and thread, ns.
    pub fn end_slice(&mut self, wall_ns: u64, cpu: &[(u32, u32, u64)]) {
        let begin = self.clock;
        self.clock += insns(wall_ns);
        for &(pid, tid, cpu_ns) in cpu {
            let Some(p) = self.processes.get_mut(&pid) else { continue };
            let room = self.used_bytes + UNIT as u64 <= self.limit_bytes;
            let Some(t) = thread(p, pid, tid, begin) else { continue };
            let spent = cpu_ns.saturating_sub(t.cpu_ns);
            t.cpu_ns = t.cpu_ns.max(cpu_ns);
            if t.cells.is_empty() {
                if spent == 0 || !room {
                    continue;
                }
                self.used_bytes += UNIT as u64;
            }
            t.slice += 1;
            t.done.extend(std::mem::take(&mut t.cells).into_values().map(|c| c.0));
            let (begin_clock, end_clock) = (begin, self.clock);
            t.slices.push(Slice {
                thread: t.number,
                slice: t.slice,
                begin_clock,
                end_clock,
                insns: insns(spent),
                ..Slice::default()
            });
        }
    }

    /// Lines counted so far, and bytes that the record takes.
    pub fn progress(&self) -> (u64, u64) {
        let threads = self.processes.values().flat_map(|p| p.threads.values());
        let cells = threads.flat_map(|t| t.done.iter().chain(t.cells.values().map(|c| &c.0)));
        (cells.map(|c| u64::from(c.lines)).sum(), self.used_bytes)
    }

    /// Writes the files of the record, the manifest last.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(mut self, dir: &Path, manifest: &Manifest) -> io::Result<Control> {
        // What was sampled behind the last slice belongs to one.
        let rest: Vec<(u32, u32, u64)> = self
            .processes
            .iter()
            .flat_map(|(pid, p)| p.threads.iter().map(|(tid, t)| (*pid, *tid, t.cpu_ns)))
            .collect();
        self.end_slice(0, &rest);
        let is_full = self.used_bytes + 2 * UNIT as u64 > self.limit_bytes;
        let mut control = Control {
            limit_bytes: self.limit_bytes,
            most_images: self.processes.len() as u64,
            images: self.processes.len() as u64,
            full: if is_full { Full::Limit } else { Full::No },
            ..Control::default()
        };
        for (number, (pid, p)) in self.processes.iter().enumerate() {
            let units = image(*pid, p, self.clock);
            control.insns += p.threads.values().map(|t| insns(t.cpu_ns)).sum::<u64>();
            control.lines += p.threads.values().flat_map(|t| &t.done).map(|c| u64::from(c.lines)).sum::<u64>();
            control.used_bytes += (units.len() * UNIT) as u64;
            let bytes: Vec<u8> = units.iter().flat_map(encode::unit).collect();
            std::fs::write(dir.join(format!("{number}.{UNITS}")), bytes)?;
        }
        std::fs::write(dir.join(CONTROL), encode::control(&control))?;
        let text = serde_json::to_string_pretty(manifest).map_err(io::Error::other)?;
        std::fs::write(dir.join(MANIFEST), text + "\n")?;
        Ok(control)
    }
}

fn thread(p: &mut Process, pid: u32, tid: u32, clock: u64) -> Option<&mut Thread> {
    // The initial thread is number 0, whoever is seen first.
    let number = if tid == pid { 0 } else { p.threads.keys().filter(|t| **t != pid).count() + 1 };
    if !p.threads.contains_key(&tid) && number >= MOST_THREADS {
        return None;
    }
    Some(p.threads.entry(tid).or_insert_with(|| Thread {
        number: number as u16,
        begin_clock: clock,
        ..Thread::default()
    }))
}

/// The units of a process.
fn image(pid: u32, p: &Process, clock: u64) -> Vec<Unit> {
    const MMAP: u32 = libc::SYS_mmap as u32;
    const EXECVE: u32 = libc::SYS_execve as u32;
    let head = Head {
        pid,
        parent: p.parent,
        ended: Ended::Exited,
        begin_clock: 0,
        unknown_call: None,
        lost_lines: p.lost_lines,
    };
    let mut out = vec![Unit::Head(head), Unit::Text(p.path.clone())];
    out.push(Unit::Mapping(Mapping { call: EXECVE, text: 1, ..Mapping::default() }));
    for m in &p.mappings {
        let text = if m.name.is_empty() { 0 } else { out.len() as u32 };
        if text > 0 {
            out.push(Unit::Text(m.name.clone()));
        }
        out.push(Unit::Mapping(Mapping {
            call: MMAP,
            address: m.address,
            length: m.bytes,
            text,
            ..Mapping::default()
        }));
    }
    for t in p.threads.values() {
        let creator =
            if t.number == 0 { 0 } else { u32::from(p.threads.get(&pid).map_or(t.number, |main| main.number)) };
        let (begin_clock, end_clock) = (t.begin_clock, clock);
        out.push(Unit::Born(Born {
            thread: t.number,
            creator,
            begin_clock,
            end_clock,
            insns: insns(t.cpu_ns),
            exited_ns: 0,
        }));
        out.extend(t.slices.iter().map(|s| Unit::Slice(*s)));
        out.extend(t.done.iter().map(|c| Unit::Cell(*c)));
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::fit;
    use crate::record::{self, Ending};

    fn manifest() -> Manifest {
        let small = record::tests::manifest();
        Manifest { qemu: "samples of ibs_op".into(), sampled: true, ending: Ending::Exit(0), ..small }
    }

    const BASE: u64 = 0x7f00_0000_0000;

    /// Two threads, each of which writes its half of 16 MiB; the initial thread sleeps.
    fn sampled(limit_bytes: u64) -> Sampling {
        let mut s = Sampling::new(limit_bytes);
        s.process(7, 1, "/bin/p", vec![Mapped { address: BASE, bytes: 16 << 20, name: String::new() }]);
        for round in 1..=10u64 {
            for i in 0..2000u64 {
                for tid in [8u32, 9] {
                    let own = u64::from(tid - 8) * (8 << 20);
                    let address = BASE + own + (i * 7919 * 4096 + 64 * i) % (8 << 20);
                    s.add(&Sample {
                        pid: 7,
                        tid,
                        address,
                        writes: true,
                        is_near_miss: true,
                        is_far_miss: true,
                        lines: 100,
                    });
                }
            }
            s.end_slice(10_000_000, &[(7, 7, 100), (7, 8, round * 10_000_000), (7, 9, round * 10_000_000)]);
        }
        // Neither a process that is not known, nor an address of the kernel.
        s.add(&Sample {
            pid: 99,
            tid: 99,
            address: BASE,
            writes: false,
            is_near_miss: true,
            is_far_miss: false,
            lines: 1,
        });
        s.add(&Sample {
            pid: 7,
            tid: 8,
            address: u64::MAX,
            writes: false,
            is_near_miss: true,
            is_far_miss: false,
            lines: 1,
        });
        s
    }

    #[test]
    fn samples_become_a_record_that_can_be_fitted() {
        let dir = tempfile::tempdir().unwrap();
        let control = sampled(64 << 20).write(dir.path(), &manifest()).unwrap();
        assert_eq!((control.images, control.lines), (1, 2 * 10 * 2000 * 100));
        let record = record::read(dir.path()).unwrap();
        assert_eq!(record.control, control);
        let fit = fit::fit(&record).unwrap();
        assert_eq!((fit.processes[0].name.as_str(), fit.thread_count()), ("p", 2));
        assert_eq!(fit.processes[0].regions[0].bytes, 16 << 20);
        let text = fit.to_toml("test");
        for part in ["pattern = \"random\"", "write = 1", "samples show no order of lines", "joins"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // 0.2 s of CPU time are as many instructions of the assumed length.
        let insns: f64 = fit.processes[0].classes[0].phases.iter().map(|p| p.insns).sum();
        assert!((insns * INSTRUCTION_NS / 1e9 - 0.1).abs() < 0.001, "{insns}");
    }

    #[test]
    fn a_record_keeps_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let control = sampled(20 * UNIT as u64).write(dir.path(), &manifest()).unwrap();
        assert_eq!(control.full, Full::Limit);
        assert!(control.used_bytes < 40 * UNIT as u64, "{control:?}");
        let record = record::read(dir.path()).unwrap();
        assert!(record.images[0].head.lost_lines > 0 && !record.images[0].cells.is_empty());
    }
}
