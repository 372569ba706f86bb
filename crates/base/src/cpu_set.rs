//! A set of CPUs as a bit array that is sized once for its machine.
//!
//! Load balancing works with sets of at most a few hundred CPUs, so a few words and `trailing_zeros` are faster than
//! lists. Iterators are ascending; [`CpuSet::iter_wrap`] starts at a given CPU and wraps around.

/// A set of CPUs (dense indices).
#[derive(Clone, Debug, Default)]
pub struct CpuSet {
    words: Box<[u64]>,
    /// All other words are zero: most sets of a large machine are a node, a cache or a core.
    used: (u32, u32),
}

impl PartialEq for CpuSet {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for CpuSet {}

impl std::hash::Hash for CpuSet {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.words.hash(state);
    }
}

impl CpuSet {
    /// The empty set, able to hold CPUs `0..cpus`.
    pub fn empty(cpus: usize) -> Self {
        Self { words: vec![0; cpus.div_ceil(64)].into_boxed_slice(), used: (0, 0) }
    }
    /// All CPUs `0..cpus`.
    pub fn full(cpus: usize) -> Self {
        Self::from_iter(cpus, 0..cpus as u32)
    }
    /// The set of the given CPUs. CPUs at or above `cpus`, rounded up to a multiple of 64, are left out.
    pub fn from_iter(cpus: usize, members: impl IntoIterator<Item = u32>) -> Self {
        let mut set = Self::empty(cpus);
        members.into_iter().for_each(|c| set.insert(c));
        set
    }
    /// Adds a CPU.
    #[inline]
    pub fn insert(&mut self, cpu: u32) {
        if let Some(w) = self.words.get_mut(cpu as usize / 64) {
            *w |= 1 << (cpu % 64);
            self.widen((cpu / 64, cpu / 64 + 1));
        }
    }
    /// Words `used` may be other than zero from now on.
    #[inline]
    fn widen(&mut self, used: (u32, u32)) {
        let (from, to) = self.used;
        if from == to {
            self.used = used;
        } else if used.0 < used.1 {
            self.used = (from.min(used.0), to.max(used.1));
        }
    }
    /// The words that may be other than zero.
    #[inline]
    fn used(&self) -> &[u64] {
        &self.words[self.used.0 as usize..self.used.1 as usize]
    }
    /// The words of `other` that stand beside [`Self::used`].
    #[inline]
    fn beside<'a>(&self, other: &'a Self) -> &'a [u64] {
        let to = (self.used.1 as usize).min(other.words.len());
        other.words.get(self.used.0 as usize..to).unwrap_or(&[])
    }
    /// Removes a CPU.
    #[inline]
    pub fn remove(&mut self, cpu: u32) {
        if let Some(w) = self.words.get_mut(cpu as usize / 64) {
            *w &= !(1 << (cpu % 64));
        }
    }
    /// Whether the CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|w| w >> (cpu % 64) & 1 == 1)
    }
    /// Number of CPUs.
    #[inline]
    pub fn len(&self) -> u32 {
        self.used().iter().map(|w| w.count_ones()).sum()
    }
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.used().iter().all(|w| *w == 0)
    }
    /// Lowest CPU.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }
    /// Whether every CPU of `self` is in `other`.
    #[inline]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.used().iter().zip(self.beside(other)).all(|(a, b)| a & !b == 0)
    }
    /// Whether the sets share a CPU.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.used().iter().zip(self.beside(other)).any(|(a, b)| a & b != 0)
    }
    /// Number of CPUs in both sets.
    #[inline]
    pub fn count_and(&self, other: &Self) -> u32 {
        self.used().iter().zip(self.beside(other)).map(|(a, b)| (a & b).count_ones()).sum()
    }
    /// Adds all CPUs of `other`.
    #[inline]
    pub fn union_with(&mut self, other: &Self) {
        self.words.iter_mut().zip(other.words.iter()).for_each(|(a, b)| *a |= b);
        self.widen(other.used);
    }
    /// Removes all CPUs of `other`.
    #[inline]
    pub fn subtract(&mut self, other: &Self) {
        self.words.iter_mut().zip(other.words.iter()).for_each(|(a, b)| *a &= !b);
    }
    /// Makes `self` a copy of `other` without allocating; both must be sized for the same machine.
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        self.words.copy_from_slice(&other.words);
        self.used = other.used;
    }
    /// Makes `self` the intersection of `a` and `b` without allocating; all three must be sized for the same machine.
    #[inline]
    pub fn copy_and(&mut self, a: &Self, b: &Self) {
        for (w, (x, y)) in self.words.iter_mut().zip(a.words.iter().zip(b.words.iter())) {
            *w = x & y;
        }
        self.used = a.used;
    }
    /// CPUs, ascending.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        let a = self.used();
        Iter { a, b: None, invert: 0, start: self.used.0, word: 0, bits: a.first().copied().unwrap_or(0) }
    }
    /// CPUs in both sets, ascending.
    #[inline]
    pub fn iter_and<'a>(&'a self, other: &'a Self) -> Iter<'a> {
        Iter::new(self.used(), self.beside(other), self.used.0, 0)
    }
    /// CPUs of `self` that are not in `other`, ascending.
    #[inline]
    pub fn iter_and_not<'a>(&'a self, other: &'a Self) -> Iter<'a> {
        Iter::new(self.used(), self.beside(other), self.used.0, u64::MAX)
    }
    /// CPUs from `start` on, then from 0 up to `start`.
    #[inline]
    pub fn iter_wrap(&self, start: u32) -> impl Iterator<Item = u32> + '_ {
        let upper = Iter::from(&self.words, start);
        upper.chain(self.iter().take_while(move |c| *c < start))
    }
    /// The set in the format of kernel lists, like `0-7,128-135`; `ids` maps dense indices to the CPU numbers to
    /// print.
    pub fn list(&self, ids: &[u32]) -> String {
        let mut out = String::new();
        let mut run: Option<(u32, u32)> = None;
        let mut shown: Vec<u32> = self.iter().map(|c| ids.get(c as usize).copied().unwrap_or(c)).collect();
        shown.sort_unstable();
        for id in shown {
            run = match run {
                Some((a, b)) if b + 1 == id => Some((a, id)),
                Some(r) => {
                    push_run(&mut out, r);
                    Some((id, id))
                }
                None => Some((id, id)),
            };
        }
        if let Some(r) = run {
            push_run(&mut out, r);
        }
        out
    }
}

fn push_run(out: &mut String, (a, b): (u32, u32)) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(&if a == b { format!("{a}") } else { format!("{a}-{b}") });
}

/// Ascending iterator over one set, or over the intersection or difference of two.
pub struct Iter<'a> {
    a: &'a [u64],
    b: Option<&'a [u64]>,
    invert: u64,
    /// Number of the first word of `a`.
    start: u32,
    word: usize,
    bits: u64,
}

impl<'a> Iter<'a> {
    #[inline]
    fn new(a: &'a [u64], b: &'a [u64], start: u32, invert: u64) -> Self {
        let bits = match (a.first(), b.first()) {
            (Some(x), Some(y)) => x & (y ^ invert),
            _ => 0,
        };
        Self { a, b: Some(b), invert, start, word: 0, bits }
    }
    #[inline]
    fn from(a: &'a [u64], cpu: u32) -> Self {
        let word = cpu as usize / 64;
        let bits = a.get(word).map_or(0, |w| w & (u64::MAX << (cpu % 64)));
        Self { a, b: None, invert: 0, start: 0, word, bits }
    }
}

impl Iterator for Iter<'_> {
    type Item = u32;
    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.bits == 0 {
            self.word += 1;
            let a = *self.a.get(self.word)?;
            self.bits = match self.b {
                None => a,
                Some(b) => a & (b.get(self.word).copied().unwrap_or(0) ^ self.invert),
            };
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some((self.start + self.word as u32) * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_iteration_visits_each_cpu_once() {
        let s = CpuSet::from_iter(200, [0, 3, 63, 64, 130, 199]);
        assert_eq!(s.iter_wrap(64).collect::<Vec<_>>(), [64, 130, 199, 0, 3, 63]);
        assert_eq!(s.iter_wrap(200).collect::<Vec<_>>(), [0, 3, 63, 64, 130, 199]);
        assert_eq!(s.len(), 6);
    }

    #[test]
    fn combinations_and_lists() {
        let a = CpuSet::from_iter(130, [0, 1, 2, 64, 65, 129]);
        let b = CpuSet::from_iter(130, [1, 2, 65]);
        assert_eq!(a.iter_and(&b).collect::<Vec<_>>(), [1, 2, 65]);
        assert_eq!(a.iter_and_not(&b).collect::<Vec<_>>(), [0, 64, 129]);
        assert!(b.is_subset(&a) && !a.is_subset(&b));
        let ids: Vec<u32> = (0..130).collect();
        assert_eq!(a.list(&ids), "0-2,64-65,129");
        assert!(!CpuSet::empty(4).intersects(&a) && CpuSet::empty(4).is_empty());
    }
}
