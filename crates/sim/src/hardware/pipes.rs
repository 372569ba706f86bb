//! Pipes: what crosses a node's memory, a link or a cache port in every quarter of a millisecond is at most what it
//! lets through.
//!
//! Problem: the bandwidth model gives each thread a rate that holds for an epoch, from the threads of the epochs
//! before. Threads that all come back from a barrier would go on at the rates of an idle machine. Together they would
//! get several times what the memory delivers.
//!
//! So every pipe counts what it has promised. Time is cut into *bins*. A stretch of accesses that is planned at its
//! rate takes its part of every bin that it lies in. Where a pipe on its way has less left, the stretch gets what is
//! left, and the rest is entered in the next bins. It ends no more than a bin before the last of these. So it takes
//! longer, and never more than a pipe has.
//!
//! Within a bin, who was planned first comes first. So that nobody starves, bins note what was asked for beyond what
//! there is. After a refusal, slices slow down by the most that was asked of their pipes in the last bins before they
//! were planned. A thread that comes back from a wait plans its first accesses bin by bin, so that all who came back
//! with it are heard before any of them goes on ([`bin_end_ns`](crate::hardware::bins::bin_end_ns)).
//!
//! A pipe has all of its bandwidth here, and the bandwidth model fills at most 0.96 of it. So bins decide only where
//! the rates of the epoch are wrong. Writes and random lines weigh as in the bandwidth model.
//!
//! Units: ns of model time; fills are parts of a bin, 0..=1.

use crate::hardware::bins::{fullest, BIN_NS};
use crate::hardware::crossed_bytes::{CrossedBytes, Need};
use numalab_kernel::hw::contention::UTILISATION_CAP;
use std::ops::Range;

/// For so many bins after a refusal, an epoch, stretches look at what was asked in the bins before.
const PRESSED_BINS: u64 = 16;

/// Bins before now of which the one in which most was asked for counts.
const PRESSURE_BINS: u64 = 4;

/// So far may a stretch run ahead of the bins that it is entered in: one bin. A few lines that find a full bin wait as
/// long as the others do on average, and not for the end of the bin.
const AHEAD_NS: f64 = BIN_NS as f64;

/// Part of a bin that counts as nothing, so that rounding never makes a stretch of zero length.
const NOTHING: f64 = 1e-9;

/// Rounding that the fill of a bin may have.
const ROUNDING: f64 = 1e-6;

/// How much of a stretch was served, and in what time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// Part of its bytes, 0..=1.
    pub share: f64,
    /// Time that it took, ns.
    pub ns: f64,
}

/// One pipe.
#[derive(Clone, Copy, Debug)]
struct Pipe {
    /// Part of a bin that one byte fills; 0 without a limit.
    per_byte: f64,
    /// Up to this bin stretches over it look at what was refused before.
    pressed_until: u64,
    /// Bin for which `pressure` was found.
    pressure_bin: u64,
    /// How much more than it has was asked of it then, at least 1.
    pressure: f64,
    /// Up to when it has promised all that it has, ns: of work that began beyond the rows.
    full_until_ns: f64,
    /// Its place in [`Pipes::needs`]; `u32::MAX` if it is not there.
    place: u32,
}

/// How a stretch that fits takes its bins: as much of all of them but the first and the last.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Its first bin.
    bin: u64,
    /// How many bins it takes, at least 1.
    bins: usize,
    /// Parts of the stretch that are entered in the first bin, each of the middle ones, and the last.
    got: [f64; 3],
    /// When it is through, ns.
    through_ns: f64,
}

/// Bins ahead that pipes keep: a power of two.
fn rows(ahead_ns: u64) -> usize {
    (ahead_ns.div_ceil(BIN_NS) as usize + 1).next_power_of_two()
}

/// Zeros that are written, so that the run has its memory from the start on, as predicted.
fn zeros(n: usize) -> Vec<f64> {
    let mut zeros = Vec::with_capacity(n);
    zeros.resize(n, 0.0);
    zeros
}

/// Size of a pipe whose stretches end at most `ahead_ns` after the start of the earliest slice, bytes.
pub fn bytes_of_pipe(ahead_ns: u64) -> usize {
    size_of::<Pipe>() + rows(ahead_ns) * 3 * size_of::<f64>()
}

/// All pipes of a machine, and what is promised of their near future.
#[derive(Debug)]
pub struct Pipes {
    pipes: Vec<Pipe>,
    /// What is promised of each bin, a part of it: `[pipe][row]`. The bins of a pipe come round, and those of one
    /// stretch lie together.
    fill: Vec<f64>,
    /// What was asked for beyond that, same shape; negative where stretches are entered that ended before. By accesses,
    /// whose rates follow, and by the kernel's copies and clears.
    refused: [Vec<f64>; 2],
    /// Which bin each row is of.
    bin_of_row: Vec<u64>,
    /// Start of the first bin of this epoch in which something was refused, ns.
    refused_since: Option<u64>,
    /// The latest of [`Pipe::full_until_ns`].
    some_full_until_ns: f64,
    /// What the present stretch wants.
    needs: Vec<Need>,
    /// What has crossed, for the check at the end of a run.
    crossed: Option<Box<CrossedBytes>>,
}

impl Pipes {
    /// Pipes of these bandwidths, GB/s, with nothing promised. Stretches end at most `ahead_ns` after the start of the
    /// earliest slice that runs.
    pub fn new(gbps: &[f64], ahead_ns: u64) -> Self {
        let rows = rows(ahead_ns);
        let pipe = |gbps: &f64| Pipe {
            per_byte: 1.0 / (gbps * BIN_NS as f64),
            pressed_until: 0,
            pressure_bin: u64::MAX,
            pressure: 1.0,
            full_until_ns: 0.0,
            place: u32::MAX,
        };
        Self {
            pipes: gbps.iter().map(pipe).collect(),
            fill: zeros(rows * gbps.len()),
            refused: [zeros(rows * gbps.len()), zeros(rows * gbps.len())],
            bin_of_row: vec![0; rows],
            refused_since: None,
            some_full_until_ns: 0.0,
            needs: Vec::with_capacity(gbps.len()),
            crossed: None,
        }
    }
    /// Sums what crosses the pipes from now on.
    pub fn watch(&mut self, crossed: CrossedBytes) {
        self.crossed = Some(Box::new(crossed));
    }
    /// Checks that no bin is promised more than it has, and what has crossed if it is watched.
    ///
    /// # Errors
    /// A sentence that names the first pipe with too much.
    pub fn check(&self) -> Result<(), String> {
        let rows = self.bin_of_row.len();
        let wrong = |fill: &f64| !(-ROUNDING..=1.0 + ROUNDING).contains(fill);
        if let Some(at) = self.fill.iter().position(wrong) {
            let (pipe, bin, fill) = (at / rows, self.bin_of_row[at % rows], self.fill[at]);
            return Err(format!("pipe {pipe} has promised {fill} of its bin {bin}"));
        }
        self.crossed.as_deref().map_or(Ok(()), CrossedBytes::verdict)
    }
    /// The present stretch wants `bytes` of a pipe, each of which counts `weight` times.
    #[inline]
    pub fn want(&mut self, pipe: usize, bytes: f64, weight: f64) {
        let of = &mut self.pipes[pipe];
        let load = bytes * weight * of.per_byte;
        if let Some(need) = self.needs.get_mut(of.place as usize) {
            need.load += load;
            need.bytes += bytes;
            return;
        }
        of.place = self.needs.len() as u32;
        self.needs.push(Need { pipe: pipe as u32, load, bytes });
    }
    /// Serves the stretch whose wants have been told, as planned at `now_ns`: from `from_ns` on, in `ns` if no pipe is
    /// in the way, and in `room_ns` at most. Its rate is the same all the time.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, from_ns: u64, ns: f64, room_ns: f64) -> Served {
        self.serve_for(false, now_ns, from_ns, ns, room_ns)
    }
    /// As [`Self::serve`], for what the kernel copies or clears, for which there is always room. Returns the time, ns.
    #[inline]
    pub fn serve_kernel(&mut self, now_ns: u64, from_ns: u64, ns: f64) -> f64 {
        self.serve_for(true, now_ns, from_ns, ns, f64::INFINITY).ns
    }
    #[inline]
    fn serve_for(&mut self, kernel: bool, now_ns: u64, from_ns: u64, ns: f64, room_ns: f64) -> Served {
        let bin = from_ns / BIN_NS;
        let slower = self.slower(bin, now_ns);
        let in_one = (from_ns - bin * BIN_NS) as f64 + ns <= BIN_NS as f64 && bin < self.behind(now_ns);
        let served = if in_one && slower == 1.0 && self.take_all(bin) {
            Served { share: 1.0, ns }
        } else {
            self.serve_by_bins(kernel, slower, (now_ns, from_ns), ns, room_ns.max(ns))
        };
        debug_assert!((0.0..=1.0 + ROUNDING).contains(&served.share) && served.ns >= 0.0, "{served:?} in {room_ns} ns");
        debug_assert!(self.keeps_its_promise(from_ns), "a pipe promises more of bin {bin} than it has");
        if let Some(crossed) = &mut self.crossed {
            crossed.note(&self.needs, served.share, from_ns, served.ns);
        }
        for need in &self.needs {
            self.pipes[need.pipe as usize].place = u32::MAX;
        }
        self.needs.clear();
        served
    }
    /// Whether no pipe of the present stretch has promised more of its first bin than it has.
    fn keeps_its_promise(&self, from_ns: u64) -> bool {
        let row = (from_ns / BIN_NS) as usize & (self.bin_of_row.len() - 1);
        self.needs.iter().all(|n| self.fill[self.at(n.pipe, row)] <= 1.0 + ROUNDING)
    }
    /// The first bin without a row, as seen from now: the rows of the last bins before now must stay.
    #[inline]
    fn behind(&self, now_ns: u64) -> u64 {
        now_ns / BIN_NS + self.bin_of_row.len() as u64 - PRESSURE_BINS
    }
    /// The row of a bin; it is emptied if it was of an earlier one.
    #[inline]
    fn row(&mut self, bin: u64) -> usize {
        let row = bin as usize & (self.bin_of_row.len() - 1);
        if self.bin_of_row[row] != bin {
            self.begin_row(row, bin);
        }
        row
    }
    #[cold]
    fn begin_row(&mut self, row: usize, bin: u64) {
        self.bin_of_row[row] = bin;
        let from_ns = (bin * BIN_NS) as f64;
        let some_full = self.some_full_until_ns > from_ns;
        let rows = self.bin_of_row.len();
        for (number, pipe) in self.pipes.iter().enumerate() {
            let full = if some_full { ((pipe.full_until_ns - from_ns) / BIN_NS as f64).clamp(0.0, 1.0) } else { 0.0 };
            let at = number * rows + row;
            self.fill[at] = full;
            (self.refused[0][at], self.refused[1][at]) = (0.0, 0.0);
        }
    }
    /// Where the bin of a pipe is in the table, by its row.
    #[inline]
    fn at(&self, pipe: u32, row: usize) -> usize {
        pipe as usize * self.bin_of_row.len() + row
    }
    /// Takes the whole stretch out of one bin, if all pipes have as much left.
    #[inline]
    fn take_all(&mut self, bin: u64) -> bool {
        let row = self.row(bin);
        let fits = self.needs.iter().all(|n| self.fill[self.at(n.pipe, row)] + n.load <= 1.0);
        if fits {
            for i in 0..self.needs.len() {
                let n = self.needs[i];
                let at = self.at(n.pipe, row);
                self.fill[at] += n.load;
            }
        }
        fits
    }
    /// Serves a stretch that goes `slower` than its own rate, at least 1, bin by bin.
    fn serve_by_bins(
        &mut self,
        kernel: bool,
        slower: f64,
        (now_ns, from_ns): (u64, u64),
        ns: f64,
        room_ns: f64,
    ) -> Served {
        let from = from_ns as f64;
        let rate = 1.0 / ns.max(1.0);
        // What comes through in the room that there is, and up to when it may be entered.
        let most = (room_ns * rate / slower).min(1.0);
        let end = from + room_ns + AHEAD_NS;
        let behind = self.behind(now_ns);
        let took_ns = |share: f64, at: f64| {
            if share < 1.0 {
                room_ns
            } else {
                (slower / rate).max(at - AHEAD_NS - from).min(room_ns)
            }
        };
        let plan = self.plan(from_ns, rate / slower, most, behind).filter(|plan| self.fits(plan));
        let (at, share) = match plan {
            Some(plan) => {
                let end = from + took_ns(most, plan.through_ns);
                self.take(kernel, &plan, behind, (from, end), rate);
                (plan.through_ns, most)
            }
            None => {
                let (at, left) = self.fill_bins(kernel, from_ns, (rate, slower), (most, end), behind);
                let share = most - left;
                self.note_asked(kernel, behind, (from, from + took_ns(share, at)), rate);
                (at, share)
            }
        };
        let took_ns = took_ns(share, at);
        if at - from > ns.max(1.0) + 1.0 || slower > 1.0 {
            if !kernel {
                self.refused_since = Some(self.refused_since.unwrap_or(u64::MAX).min(from_ns / BIN_NS * BIN_NS));
            }
            let until = (from + took_ns) as u64 / BIN_NS + PRESSED_BINS;
            for n in &self.needs {
                let pressed = &mut self.pipes[n.pipe as usize].pressed_until;
                *pressed = until.max(*pressed);
            }
        }
        Served { share, ns: took_ns }
    }
    /// Finds what a stretch of `most` at `rate` takes of each of its bins if all pipes have room; `None` if it goes
    /// beyond the rows.
    #[inline]
    fn plan(&mut self, from_ns: u64, rate: f64, most: f64, behind: u64) -> Option<Plan> {
        let bin = from_ns / BIN_NS;
        let whole = BIN_NS as f64 * rate;
        let in_first = ((bin + 1) * BIN_NS - from_ns) as f64 * rate;
        let through_ns = from_ns as f64 + most / rate;
        if most <= in_first {
            (bin < behind).then(|| self.row(bin))?;
            return Some(Plan { bin, bins: 1, got: [most, 0.0, 0.0], through_ns });
        }
        let wholes = (most - in_first) / whole;
        // What is left of rounding counts as served.
        let middle = (wholes - NOTHING).max(0.0).floor();
        let last = (wholes - middle) * whole;
        let bins = middle as usize + 2;
        if bin + bins as u64 > behind {
            return None;
        }
        for bin in bin..bin + bins as u64 {
            self.row(bin);
        }
        Some(Plan { bin, bins, got: [in_first, whole, last], through_ns })
    }
    /// Rows of a plan in the order of time: of the first bin, the middle ones as up to two runs, and the last one if
    /// there are two.
    #[inline]
    fn rows_of(&self, plan: &Plan) -> (usize, [Range<usize>; 2], Option<usize>) {
        let mask = self.bin_of_row.len() - 1;
        let first = plan.bin as usize & mask;
        if plan.bins < 2 {
            return (first, [0..0, 0..0], None);
        }
        let (from, count) = ((first + 1) & mask, plan.bins - 2);
        let to_end = count.min(mask + 1 - from);
        (first, [from..from + to_end, 0..count - to_end], Some((first + plan.bins - 1) & mask))
    }
    /// Whether all pipes have room for a plan.
    #[inline]
    fn fits(&self, plan: &Plan) -> bool {
        let rows = self.bin_of_row.len();
        let (first, [middle, wrapped], last) = self.rows_of(plan);
        self.needs.iter().all(|n| {
            let fill = &self.fill[n.pipe as usize * rows..][..rows];
            let most = fullest(&fill[middle.clone()]).max(fullest(&fill[wrapped.clone()]));
            n.load * plan.got[0] <= 1.0 - fill[first]
                && (plan.bins < 3 || n.load * plan.got[1] <= 1.0 - most)
                && last.is_none_or(|row| n.load * plan.got[2] <= 1.0 - fill[row])
        })
    }
    /// Takes a plan out of its bins, and notes what the stretch would have got there at its own rate from `from` to
    /// `end`, ns.
    #[inline]
    fn take(&mut self, kernel: bool, plan: &Plan, behind: u64, (from, end): (f64, f64), rate: f64) {
        let rows = self.bin_of_row.len();
        let (first, [middle, wrapped], last) = self.rows_of(plan);
        let last_bin = plan.bin + plan.bins as u64 - 1;
        let (first_end, last_end) = (((plan.bin + 1) * BIN_NS) as f64, ((last_bin + 1) * BIN_NS) as f64);
        let in_first = first_end.min(end) - from;
        let in_last = (last_end.min(end) - last_end + BIN_NS as f64).max(0.0);
        for n in &self.needs {
            let range = n.pipe as usize * rows..(n.pipe as usize + 1) * rows;
            let (fill, refused) = (&mut self.fill[range.clone()], &mut self.refused[usize::from(kernel)][range]);
            let (asked, got) = (n.load * rate, plan.got.map(|part| n.load * part));
            fill[first] += got[0];
            refused[first] += asked * in_first - got[0];
            let whole = asked * BIN_NS as f64 - got[1];
            for rows in [middle.clone(), wrapped.clone()] {
                fill[rows.clone()].iter_mut().for_each(|bin| *bin += got[1]);
                refused[rows].iter_mut().for_each(|bin| *bin += whole);
            }
            if let Some(row) = last {
                fill[row] += got[2];
                refused[row] += asked * in_last - got[2];
            }
        }
        self.note_asked(kernel, behind, (last_end, end), rate);
    }
    /// Takes what the pipes have left of a stretch bin after bin. Returns up to when it is entered, ns, and what is
    /// left of it.
    fn fill_bins(
        &mut self,
        kernel: bool,
        from_ns: u64,
        (rate, slower): (f64, f64),
        (most, end): (f64, f64),
        behind: u64,
    ) -> (f64, f64) {
        let (mut at, mut left, mut bin) = (from_ns as f64, most, from_ns / BIN_NS);
        while left > 0.0 && at < end {
            if bin >= behind {
                // What begins later queues up right behind the rows: until it begins, others have the pipes.
                at = self.queue_behind((behind * BIN_NS) as f64, &mut left, end).max(at);
                break;
            }
            let row = self.row(bin);
            let stop = ((bin + 1) * BIN_NS) as f64;
            let stop = stop.min(end);
            let wanted = left.min((stop - at) * rate / slower);
            let mut got: f64 = wanted;
            for n in &self.needs {
                let free = 1.0 - self.fill[self.at(n.pipe, row)];
                if n.load * wanted > free {
                    got = got.min(if free > NOTHING { free / n.load } else { 0.0 });
                }
            }
            // What is left of rounding counts as served.
            let done = left - got < 1e-12;
            for i in 0..self.needs.len() {
                let n = self.needs[i];
                let at = self.at(n.pipe, row);
                self.fill[at] += n.load * got;
                self.refused[usize::from(kernel)][at] -= n.load * got;
            }
            at = if done { at + left * slower / rate } else { stop };
            left = if done { 0.0 } else { left - got };
            bin += 1;
        }
        (at, left)
    }
    /// Notes what the stretch would have got at its own rate from `from` to `end`, ns; [`Self::fill`] has what it got.
    fn note_asked(&mut self, kernel: bool, behind: u64, (from, end): (f64, f64), rate: f64) {
        let mut at = from;
        let mut bin = from as u64 / BIN_NS;
        while at < end && bin < behind {
            let stop = (((bin + 1) * BIN_NS) as f64).min(end);
            let row = self.row(bin);
            for i in 0..self.needs.len() {
                let n = self.needs[i];
                let place = self.at(n.pipe, row);
                self.refused[usize::from(kernel)][place] += n.load * rate * (stop - at);
            }
            (at, bin) = (stop, bin + 1);
        }
    }
    /// Enters what is `left` of a stretch behind the last row, where each pipe takes one after the other, if that ends
    /// by `end`, ns. Returns up to when it takes, ns.
    fn queue_behind(&mut self, behind_ns: f64, left: &mut f64, end: f64) -> f64 {
        let part = *left;
        let until = |pipes: &Self, n: &Need| {
            pipes.pipes[n.pipe as usize].full_until_ns.max(behind_ns) + part * n.load * BIN_NS as f64
        };
        let at = self.needs.iter().map(|n| until(self, n)).fold(behind_ns, f64::max);
        if at > end {
            return end;
        }
        for i in 0..self.needs.len() {
            let n = self.needs[i];
            let full = until(self, &n);
            self.pipes[n.pipe as usize].full_until_ns = full;
            self.some_full_until_ns = self.some_full_until_ns.max(full);
        }
        *left = 0.0;
        at
    }
    /// How much slower a stretch that begins in `bin` goes, as planned at `now_ns`, at least 1.
    #[inline]
    fn slower(&mut self, bin: u64, now_ns: u64) -> f64 {
        let mut most = 1.0_f64;
        for i in 0..self.needs.len() {
            let pipe = self.needs[i].pipe as usize;
            if bin <= self.pipes[pipe].pressed_until {
                most = most.max(self.pressure_on(pipe, now_ns / BIN_NS));
            }
        }
        most
    }
    /// How much more than it has was asked of a pipe in the bins before `bin`, at least 1. As in the bandwidth model a
    /// full pipe delivers a little less than all. A few lines find room in the rest.
    #[inline]
    fn pressure_on(&mut self, pipe: usize, bin: u64) -> f64 {
        if self.pipes[pipe].pressure_bin != bin {
            let pressure = self.find_pressure(pipe, bin);
            let of = &mut self.pipes[pipe];
            (of.pressure_bin, of.pressure) = (bin, pressure);
        }
        self.pipes[pipe].pressure
    }
    fn find_pressure(&self, pipe: usize, bin: u64) -> f64 {
        let rows = self.bin_of_row.len();
        let mut most = 0.0_f64;
        for before in bin.saturating_sub(PRESSURE_BINS)..bin {
            let row = before as usize & (rows - 1);
            if self.bin_of_row[row] == before {
                let at = pipe * rows + row;
                most = most.max(self.fill[at] + self.refused[0][at] + self.refused[1][at]);
            }
        }
        if most > 1.0 {
            most / UTILISATION_CAP
        } else {
            1.0
        }
    }
    /// The rates of the accesses are about to be solved anew. Returns since when accesses were refused something in
    /// this epoch, ns. The new rates know of it, so it is forgotten.
    pub fn refused_since(&mut self) -> Option<u64> {
        let since = self.refused_since.take();
        if since.is_some() {
            self.refused[0].fill(0.0);
            self.pipes.iter_mut().for_each(|pipe| (pipe.pressure_bin, pipe.pressure) = (u64::MAX, 1.0));
        }
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIN: f64 = BIN_NS as f64;

    /// Two pipes of 10 and 100 GB/s.
    fn pipes() -> Pipes {
        Pipes::new(&[10.0, 100.0], 20_000_000)
    }

    fn stretch(p: &mut Pipes, from_ns: u64, (bytes, ns): (f64, f64), room_ns: f64) -> Served {
        p.want(0, bytes, 1.0);
        p.want(1, bytes, 1.0);
        p.serve(from_ns, from_ns, ns, room_ns)
    }

    #[test]
    fn a_bin_that_is_promised_more_than_it_has_is_found() {
        let mut p = pipes();
        stretch(&mut p, 0, (BIN, BIN), BIN);
        assert_eq!(p.check(), Ok(()));
        let rows = p.bin_of_row.len();
        p.fill[rows + 1] = 1.5;
        assert_eq!(p.check().unwrap_err(), "pipe 1 has promised 1.5 of its bin 0");
    }

    #[test]
    fn a_stretch_that_fits_takes_its_own_time() {
        let mut p = pipes();
        let served = stretch(&mut p, 100, (0.5 * BIN, 0.5 * BIN), BIN);
        assert_eq!(served, Served { share: 1.0, ns: 0.5 * BIN });
    }

    #[test]
    fn a_stretch_waits_for_the_bins_that_the_narrowest_pipe_needs() {
        let mut p = pipes();
        // 25 bins' worth of bytes in one: the narrow pipe takes 2.5 bins for them.
        let served = stretch(&mut p, 0, (25.0 * BIN, BIN), 20.0 * BIN);
        assert_eq!(served.share, 1.0);
        assert!((BIN..=2.0 * BIN).contains(&served.ns), "{served:?}");
        // Another one finds what is left of the third.
        let served = stretch(&mut p, 0, (5.0 * BIN, 0.1 * BIN), 3.0 * BIN);
        assert!(served.share == 1.0 && served.ns > BIN, "{served:?}");
        // And nothing is left before the fourth.
        let served = stretch(&mut p, 0, (BIN, 0.1 * BIN), 1.5 * BIN);
        assert_eq!(served, Served { share: 0.0, ns: 1.5 * BIN });
    }

    #[test]
    fn what_begins_later_leaves_the_pipes_to_others_until_then() {
        let mut p = pipes();
        // A copy that waits 100 ms for its turn, and asks for one bin of the narrow pipe.
        p.want(0, 10.0 * BIN, 1.0);
        assert_eq!(p.serve_kernel(0, 100_000_000, 2.0 * BIN), 2.0 * BIN);
        let served = stretch(&mut p, 160 * BIN_NS, (5.0 * BIN, 0.5 * BIN), BIN);
        assert_eq!(served, Served { share: 1.0, ns: 0.5 * BIN });
    }

    #[test]
    fn those_who_ask_for_too_much_share_what_there_is() {
        let mut p = pipes();
        // Four ask for half of the narrow pipe each. In the first bin they all get it, and fill the next one too.
        let ask = |p: &mut Pipes, bin: u64| -> Vec<f64> {
            (0..4).map(|_| stretch(p, bin * BIN_NS, (5.0 * BIN, BIN), BIN).share).collect()
        };
        assert_eq!(ask(&mut p, 1), [1.0; 4]);
        for bin in 2..8 {
            for share in ask(&mut p, bin) {
                assert!((share - 0.5 * UTILISATION_CAP).abs() < 1e-9, "bin {bin}: {share}");
            }
        }
        assert_eq!(p.refused_since(), Some(BIN_NS));
    }
}
