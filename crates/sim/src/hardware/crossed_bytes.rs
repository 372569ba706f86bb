//! What has crossed each pipe, summed over windows of time, for the check that no flow exceeds its pipe.
//!
//! The sums know nothing of how pipes share themselves out. A stretch counts for a window if it begins and ends in it:
//! all of its bytes have crossed by then, however it went on inside. Windows are one epoch, for the many short
//! stretches, and eight epochs, for those that last a slice.

/// Windows, in epochs.
const WINDOWS: [u64; 2] = [1, 8];

/// Windows of one length that are open at once: slices are planned ahead.
const OPEN: usize = 8;

/// A stretch may end so long before the last of its bytes is entered, ns.
const QUANTUM_NS: u64 = 250_000;

/// Rounding that a sum may have.
const ROUNDING: f64 = 1e-6;

/// What a stretch wants of one pipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) pipe: u32,
    /// Parts of a bin, for the whole stretch.
    pub(crate) load: f64,
    /// Bytes of the whole stretch.
    pub(crate) bytes: f64,
}

#[cfg(test)]
impl Need {
    pub(crate) fn of(pipe: u32, bytes: f64) -> Self {
        Self { pipe, load: 0.0, bytes }
    }
}

/// Sums of bytes by pipe and window.
#[derive(Debug)]
pub struct CrossedBytes {
    names: Vec<String>,
    gbps: Vec<f64>,
    windows: [Window; 2],
    fault: Option<String>,
}

/// Windows of one length.
#[derive(Debug)]
struct Window {
    ns: u64,
    /// Number of the window that each row is of.
    number: [u64; OPEN],
    /// Bytes: `[row][pipe]`.
    bytes: Vec<f64>,
}

impl CrossedBytes {
    /// Nothing has crossed pipes of these names and bandwidths, GB/s.
    pub fn new(pipes: Vec<(String, f64)>, epoch_ns: u64) -> Self {
        let window = |epochs| Window { ns: epochs * epoch_ns, number: [0; OPEN], bytes: vec![0.0; OPEN * pipes.len()] };
        let windows = WINDOWS.map(window);
        let (names, gbps) = pipes.into_iter().unzip();
        Self { names, gbps, windows, fault: None }
    }
    /// A stretch with these needs was served to this part, in `ns` from `from_ns` on.
    pub(crate) fn note(&mut self, needs: &[Need], share: f64, from_ns: u64, ns: f64) {
        let pipes = self.gbps.len();
        for w in &mut self.windows {
            let number = from_ns / w.ns;
            if (from_ns as f64 + ns) as u64 / w.ns != number {
                continue;
            }
            let row = number as usize % OPEN;
            if w.number[row] != number {
                w.number[row] = number;
                w.bytes[row * pipes..][..pipes].fill(0.0);
            }
            for n in needs {
                let pipe = n.pipe as usize;
                let sum = &mut w.bytes[row * pipes + pipe];
                *sum += n.bytes * share;
                let most = self.gbps[pipe] * (w.ns + QUANTUM_NS) as f64 * (1.0 + ROUNDING);
                if *sum > most && self.fault.is_none() {
                    let (ms, name) = (w.ns as f64 / 1e6, &self.names[pipe]);
                    let (got, most) = (*sum / w.ns as f64, self.gbps[pipe]);
                    self.fault = Some(format!(
                        "{name} let {got:.1} GB/s through in the {ms} ms from {} ns on, and has {most:.1}",
                        number * w.ns
                    ));
                }
            }
        }
    }
    /// Whether every sum was within the bandwidth of its pipe.
    ///
    /// # Errors
    /// A sentence naming the first that was not.
    pub fn verdict(&self) -> Result<(), String> {
        self.fault.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH_NS: u64 = 4_000_000;

    #[test]
    fn more_than_a_pipe_has_is_found_in_the_window_where_it_crosses() {
        let sum = |share: f64, ns: f64| {
            let mut c = CrossedBytes::new(vec![("memory of node 0".into(), 10.0)], EPOCH_NS);
            let bytes = 0.6 * 10.0 * EPOCH_NS as f64;
            for from in [EPOCH_NS, EPOCH_NS + 10] {
                c.note(&[Need::of(0, bytes)], share, from, ns);
            }
            c.verdict()
        };
        assert_eq!(sum(0.8, 1e6), Ok(()));
        // What goes on into the next epoch may have crossed there.
        assert_eq!(sum(1.0, EPOCH_NS as f64), Ok(()));
        assert!(sum(1.0, 1e6)
            .unwrap_err()
            .starts_with("memory of node 0 let 12.0 GB/s through in the 4 ms from 4000000"));
    }
}
