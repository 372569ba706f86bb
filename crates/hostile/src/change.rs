//! Changes of an input at random: what a typing error, a cut transfer, or somebody with time would make of it.

use numalab_base::rng::Rng;

/// Words that readers know, and values at the ends of ranges.
const WORDS: [&str; 24] = [
    "0",
    "-1",
    "1e300",
    "nan",
    "18446744073709551615",
    "9223372036854775808",
    "4294967296",
    "\"\"",
    "[]",
    "{}",
    "null",
    "true",
    "((((((((",
    "[[[[[[[[",
    "0-4294967295",
    "0,0,0,0",
    "\n\n",
    "\t",
    "\u{0}",
    "\u{feff}",
    "\"cpus\"",
    "= 1",
    "<a>",
    "64GiB",
];

/// An input longer than this is not made, bytes.
const MOST_BYTES: usize = 1 << 16;

/// `input` with one to eight changes.
pub fn change(input: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = input.to_vec();
    for _ in 0..=rng.below(7) {
        once(&mut out, rng);
    }
    out.truncate(MOST_BYTES);
    out
}

/// A place in `len` bytes, or just behind them.
fn place(len: usize, rng: &mut Rng) -> usize {
    rng.below(len as u64 + 1) as usize
}

/// A part of `len` bytes, of at most `most`.
fn part(len: usize, most: usize, rng: &mut Rng) -> std::ops::Range<usize> {
    let from = place(len, rng);
    from..(from + 1 + rng.below(most as u64) as usize).min(len)
}

fn once(out: &mut Vec<u8>, rng: &mut Rng) {
    match rng.below(8) {
        0 => drop(out.drain(part(out.len(), 64, rng))),
        1 => {
            let at = place(out.len(), rng);
            let word = WORDS[rng.below(WORDS.len() as u64) as usize];
            out.splice(at..at, word.bytes());
        }
        2 => {
            let copied = out[part(out.len(), 256, rng)].to_vec();
            let at = place(out.len(), rng);
            out.splice(at..at, copied);
        }
        3 => {
            let at = place(out.len(), rng);
            if let Some(byte) = out.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        4 => out.truncate(place(out.len(), rng)),
        5 => {
            // One line many times: what is quadratic in lines shows.
            let line = line_at(out, place(out.len(), rng));
            let times = 1 + rng.below(1 + (MOST_BYTES / (line.len() + 1)) as u64) as usize;
            let at = place(out.len(), rng);
            let copies: Vec<u8> = line.iter().copied().cycle().take(line.len() * times.min(2_000)).collect();
            out.splice(at..at, copies);
        }
        6 => {
            let range = part(out.len(), 16, rng);
            let word = WORDS[rng.below(WORDS.len() as u64) as usize];
            out.splice(range, word.bytes());
        }
        _ => {
            let at = place(out.len(), rng);
            out.insert(at, rng.below(256) as u8);
        }
    }
}

/// The line around a place, with its end.
fn line_at(bytes: &[u8], at: usize) -> Vec<u8> {
    let from = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let to = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| at + i + 1);
    bytes[from..to].to_vec()
}
