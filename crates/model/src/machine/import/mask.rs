//! CPU sets in hexadecimal words, as hwloc (`0x000000ff,,0x1`) and sysfs (`00000000,000000ff`) write them.
//!
//! Invariant: a parsed set has no CPU above [`cpulist::MAX_ID`], except that an `infinite` set has every CPU beyond its
//! words.

use crate::machine::cpulist;
use crate::spec::clip;

/// A CPU set in words of 32 bits, lowest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mask {
    words: Vec<u32>,
    infinite: bool,
}

impl Mask {
    /// Parses words of 32 bits, highest first: `0x000000ff`, `0x1,,0x0`, `0xf...f,0x0`, `00000000,000000ff`. An empty
    /// word, as hwloc writes it, is zero.
    ///
    /// # Errors
    /// A word that is not hexadecimal or has more than 32 bits, or a set beyond any CPU.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (infinite, text) = match text.trim().strip_prefix("0xf...f") {
            Some(rest) => (true, rest.strip_prefix(',').unwrap_or(rest)),
            None => (false, text.trim()),
        };
        if text.len() > 11 * (cpulist::MAX_ID as usize / 32 + 1) {
            return Err(format!("a set beyond CPU {}", cpulist::MAX_ID));
        }
        if text.is_empty() {
            return Ok(Self { words: Vec::new(), infinite });
        }
        let word = |word: &str| {
            let digits = word.trim();
            let digits = digits.strip_prefix("0x").unwrap_or(digits);
            if digits.is_empty() {
                return Ok(0);
            }
            let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16)
                .ok()
                .filter(|_| plain)
                .ok_or_else(|| format!("`{}` in a CPU set", clip(word)))
        };
        let mut words = text.split(',').map(word).collect::<Result<Vec<u32>, String>>()?;
        words.reverse();
        Ok(Self { words, infinite })
    }
    /// The set of these CPUs.
    pub(super) fn of(cpus: &[u32]) -> Self {
        let mut words = vec![0; cpus.iter().max().map_or(0, |c| *c as usize / 32 + 1)];
        cpus.iter().for_each(|c| words[*c as usize / 32] |= 1 << (c % 32));
        Self { words, infinite: false }
    }
    /// Whether the set has a CPU.
    pub(super) fn contains(&self, cpu: u32) -> bool {
        match self.words.get(cpu as usize / 32) {
            Some(w) => w >> (cpu % 32) & 1 == 1,
            None => self.infinite,
        }
    }
    /// Number of CPUs; the largest number for an infinite set.
    pub(super) fn len(&self) -> usize {
        match self.infinite {
            true => usize::MAX,
            false => self.words.iter().map(|w| w.count_ones() as usize).sum(),
        }
    }
    /// The CPUs of a finite set, ascending; those of the words alone if it is infinite.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let bits = |(i, w): (usize, &u32)| {
            let w = *w;
            (0..32).filter(move |b| w >> b & 1 == 1).map(move |b| i as u32 * 32 + b)
        };
        self.words.iter().enumerate().flat_map(bits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_words_are_zero() {
        let m = Mask::parse("0x000000ff,,,0x0").unwrap();
        assert_eq!(m.cpus(), (96..104).collect::<Vec<_>>());
        assert_eq!((m.len(), m.contains(96), m.contains(0)), (8, true, false));
        assert_eq!(Mask::parse("00000001,000000f0\n").unwrap().cpus(), [4, 5, 6, 7, 32]);
        assert_eq!(Mask::of(&[4, 5, 6, 7, 32]), Mask::parse("0x1,0xf0").unwrap());
        assert!(Mask::parse("").unwrap().cpus().is_empty());
    }

    #[test]
    fn infinite_sets_and_wrong_words() {
        let m = Mask::parse("0xf...f,0x0").unwrap();
        assert_eq!((m.contains(31), m.contains(32), m.len()), (false, true, usize::MAX));
        assert!(Mask::parse("0xf...f").unwrap().contains(0));
        for bad in ["0x1ffffffff", "xyz", "-1", "0x1,+2"] {
            assert!(Mask::parse(bad).is_err(), "{bad}");
        }
    }
}
