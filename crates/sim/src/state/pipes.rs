//! Pipes: what crosses a node's memory, a link or a cache port in every quarter of a millisecond is at most what it lets through.
//!
//! Problem: the bandwidth model gives each thread a rate that holds for an epoch, from the threads of the epochs before. Threads
//! that all come back from a barrier would go on at the rates of an idle machine. Together they would get several times what the
//! memory delivers.
//!
//! So every pipe counts what it has promised. Time is cut into *bins*. A stretch of accesses that is planned at its rate takes its
//! part of every bin that it lies in. Where a pipe on its way has less left, the stretch gets what is left, stands still for the
//! rest of the bin, and goes on in the next. So it takes longer, and never more than a pipe has.
//!
//! Within a bin, who was planned first comes first. So that nobody starves, bins note what was *refused* too. After a refusal all
//! slices slow down by what was asked of their pipes in the bin before they were planned, as long as that is more than there was. A thread that comes back
//! from a wait plans its first accesses up to the end of a bin only, so that all who came back with it are heard before any of them
//! goes on ([`bin_end_ns`]).
//!
//! A pipe has all of its bandwidth here, and the bandwidth model fills at most 0.96 of it. So bins decide only where the rates of
//! the epoch are wrong. Writes and random lines weigh as in the bandwidth model.
//!
//! Units: ns of model time; fills are parts of a bin, 0..=1.

use crate::state::crossed_bytes::{CrossedBytes, Need};

/// Length of a bin, ns. An epoch has a whole number of them.
pub const BIN_NS: u64 = 250_000;

/// For so many bins after a refusal, an epoch, stretches look at what was asked in the bin before.
const PRESSED_BINS: u64 = 16;

/// Part of a bin that counts as nothing, so that rounding never makes a stretch of zero length.
const NOTHING: f64 = 1e-9;

/// How much of a stretch was served, and in what time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// Part of its bytes, 0..=1.
    pub share: f64,
    /// Time that it took, ns.
    pub ns: f64,
}

/// All pipes of a machine, and what is promised of their near future.
#[derive(Debug)]
pub struct Pipes {
    /// Parts of a bin that one byte fills, by pipe; 0 without a limit.
    per_byte: Vec<f64>,
    /// What is promised, parts of a bin: `[bin][pipe]`, where bins come round.
    fill: Vec<f64>,
    /// What was asked for and refused, same shape.
    refused: Vec<f64>,
    /// Start of the first bin of this epoch in which something was refused, ns.
    refused_since: Option<u64>,
    /// Up to this bin stretches look at what was refused before.
    pressed_until: u64,
    /// Which bin each row of `fill` is of.
    bin_of_row: Vec<u64>,
    /// What the present stretch wants.
    needs: Vec<Need>,
    /// Place of a pipe in `needs`, if it is there.
    place_of_pipe: Vec<u32>,
    /// What has crossed, for the check at the end of a run.
    crossed: Option<Box<CrossedBytes>>,
}

impl Pipes {
    /// Pipes of these bandwidths, GB/s, with nothing promised. Stretches end at most `ahead_ns` after the start of the earliest
    /// slice that runs.
    pub fn new(gbps: &[f64], ahead_ns: u64) -> Self {
        let rows = (ahead_ns.div_ceil(BIN_NS) as usize + 1).next_power_of_two();
        Self {
            per_byte: gbps.iter().map(|g| 1.0 / (g * BIN_NS as f64)).collect(),
            fill: vec![0.0; rows * gbps.len()],
            refused: vec![0.0; rows * gbps.len()],
            refused_since: None,
            pressed_until: 0,
            bin_of_row: vec![0; rows],
            needs: Vec::with_capacity(gbps.len()),
            place_of_pipe: vec![u32::MAX; gbps.len()],
            crossed: None,
        }
    }
    /// Sums what crosses the pipes from now on.
    pub fn watch(&mut self, crossed: CrossedBytes) {
        self.crossed = Some(Box::new(crossed));
    }
    /// What has crossed, if it is watched.
    pub fn crossed(&self) -> Option<&CrossedBytes> {
        self.crossed.as_deref()
    }
    /// The present stretch wants `bytes` of a pipe, each of which counts `weight` times.
    #[inline]
    pub fn want(&mut self, pipe: usize, bytes: f64, weight: f64) {
        let load = bytes * weight * self.per_byte[pipe];
        let place = self.place_of_pipe[pipe];
        if let Some(need) = self.needs.get_mut(place as usize) {
            need.load += load;
            need.bytes += bytes;
            return;
        }
        self.place_of_pipe[pipe] = self.needs.len() as u32;
        self.needs.push(Need { pipe: pipe as u32, load, bytes });
    }
    /// Serves the stretch whose wants have been told, as planned at `now_ns`: from `from_ns` on, in `ns` if no pipe is in the way, and in `room_ns` at most.
    /// Its rate is the same all the time.
    #[inline]
    pub fn serve(&mut self, now_ns: u64, from_ns: u64, ns: f64, room_ns: f64) -> Served {
        let bin = from_ns / BIN_NS;
        let row = self.row(bin);
        let in_one = bin > self.pressed_until && (from_ns - bin * BIN_NS) as f64 + ns <= BIN_NS as f64;
        let served = if in_one && self.take_all(row) {
            Served { share: 1.0, ns }
        } else {
            self.serve_by_bins(now_ns, from_ns, ns, room_ns.max(ns))
        };
        if let Some(crossed) = &mut self.crossed {
            crossed.note(&self.needs, served.share, from_ns, served.ns);
        }
        for need in &self.needs {
            self.place_of_pipe[need.pipe as usize] = u32::MAX;
        }
        self.needs.clear();
        served
    }
    /// Where the row of a bin begins; it is emptied if it was of an earlier one.
    #[inline]
    fn row(&mut self, bin: u64) -> usize {
        let (rows, pipes) = (self.bin_of_row.len(), self.per_byte.len());
        let row = bin as usize & (rows - 1);
        if self.bin_of_row[row] != bin {
            self.bin_of_row[row] = bin;
            self.fill[row * pipes..][..pipes].fill(0.0);
            self.refused[row * pipes..][..pipes].fill(0.0);
        }
        row * pipes
    }
    /// Takes the whole stretch out of one bin, if all pipes have as much left.
    #[inline]
    fn take_all(&mut self, row: usize) -> bool {
        let fits = self.needs.iter().all(|n| self.fill[row + n.pipe as usize] + n.load <= 1.0);
        if fits {
            for n in &self.needs {
                self.fill[row + n.pipe as usize] += n.load;
            }
        }
        fits
    }
    #[cold]
    fn serve_by_bins(&mut self, now_ns: u64, from_ns: u64, ns: f64, room_ns: f64) -> Served {
        let (from, end) = (from_ns as f64, from_ns as f64 + room_ns);
        let (mut at, mut left, mut bin) = (from, 1.0_f64, from_ns / BIN_NS);
        let rate = 1.0 / ns.max(1.0);
        let slower = self.pressure(now_ns / BIN_NS);
        while left > 0.0 && at < end {
            let row = self.row(bin);
            let stop = ((bin + 1) * BIN_NS) as f64;
            let stop = stop.min(end);
            let wanted = left.min((stop - at) * rate / slower);
            let mut got: f64 = wanted;
            for n in &self.needs {
                let free = 1.0 - self.fill[row + n.pipe as usize];
                if n.load * wanted > free {
                    got = got.min(if free > NOTHING { free / n.load } else { 0.0 });
                }
            }
            // What is left of rounding counts as served.
            let done = left - got < 1e-12;
            let until = if done { at + left * slower / rate } else { stop };
            let refused = (until - at) * rate - got;
            if refused > NOTHING {
                self.refused_since = Some(self.refused_since.unwrap_or(u64::MAX).min(bin * BIN_NS));
                self.pressed_until = self.pressed_until.max(bin + PRESSED_BINS);
            }
            for n in &self.needs {
                self.fill[row + n.pipe as usize] += n.load * got;
                self.refused[row + n.pipe as usize] += n.load * refused.max(0.0);
            }
            at = until;
            left = if done { 0.0 } else { left - got };
            bin += 1;
        }
        Served { share: 1.0 - left, ns: at.min(end) - from }
    }
    /// How much more than it has was asked of a pipe of the present stretch in the bin before `bin`, at least 1.
    fn pressure(&self, bin: u64) -> f64 {
        let before = bin.wrapping_sub(1);
        let (rows, pipes) = (self.bin_of_row.len(), self.per_byte.len());
        let row = before as usize & (rows - 1);
        if bin > self.pressed_until || self.bin_of_row[row] != before {
            return 1.0;
        }
        let row = row * pipes;
        let asked = |n: &Need| self.fill[row + n.pipe as usize] + self.refused[row + n.pipe as usize];
        self.needs.iter().map(asked).fold(1.0, f64::max)
    }
    /// The rates of the accesses are about to be solved anew. Returns since when something was refused in this epoch, ns. The new
    /// rates know of it, so it is forgotten.
    pub fn refused_since(&mut self) -> Option<u64> {
        let since = self.refused_since.take();
        if since.is_some() {
            self.refused.fill(0.0);
        }
        since
    }
}

/// End of the bin that `ns` lies in, ns.
#[inline]
pub fn bin_end_ns(ns: u64) -> u64 {
    (ns / BIN_NS + 1) * BIN_NS
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
        assert!((2.0 * BIN..=3.0 * BIN).contains(&served.ns), "{served:?}");
        // Another one finds what is left of the third.
        let served = stretch(&mut p, 0, (5.0 * BIN, 0.1 * BIN), 3.0 * BIN);
        assert!(served.share == 1.0 && served.ns > 2.0 * BIN, "{served:?}");
        // And nothing is left before the fourth.
        let served = stretch(&mut p, 0, (BIN, 0.1 * BIN), 2.5 * BIN);
        assert_eq!(served, Served { share: 0.0, ns: 2.5 * BIN });
    }

    #[test]
    fn those_who_ask_for_too_much_share_what_there_is() {
        let mut p = pipes();
        // Four ask for half of the narrow pipe each. In the first bin two of them get it.
        let ask = |p: &mut Pipes, bin: u64| -> Vec<f64> {
            (0..4).map(|_| stretch(p, bin * BIN_NS, (5.0 * BIN, BIN), BIN).share).collect()
        };
        assert_eq!(ask(&mut p, 1), [1.0, 1.0, 0.0, 0.0]);
        for share in ask(&mut p, 2) {
            assert!((share - 0.5).abs() < 1e-9, "{share}");
        }
        assert_eq!(p.refused_since(), Some(BIN_NS));
    }
}
