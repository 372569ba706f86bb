//! Threads in the order of their CPUs, without comparing each with others: a bit for each CPU tells whether it has
//! some.

use crate::state::contender::Contender;

/// Fewer are sorted as usual.
const FEW: usize = 8;

const NONE: u32 = u32::MAX;

/// Scratch memory of [`CpuOrder::sort`].
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuOrder {
    /// CPUs that have threads, as bits; none between two calls.
    cpus: Vec<u64>,
    /// By CPU with a bit: its first thread, as a place in the list.
    first: Vec<u32>,
    /// By place: the next thread of the same CPU.
    next: Vec<u32>,
    sorted: Vec<Contender>,
}

impl CpuOrder {
    /// Sorts threads by CPU, and those of one CPU by task.
    pub(crate) fn sort(&mut self, list: &mut Vec<Contender>, cpu_of: impl Fn(u32) -> u32) {
        if list.len() < FEW {
            return list.sort_unstable_by_key(|c| (cpu_of(c.task), c.task));
        }
        self.next.clear();
        for (place, c) in (0..).zip(list.iter()) {
            let cpu = cpu_of(c.task) as usize;
            if cpu >= self.first.len() {
                self.first.resize((cpu + 1).next_multiple_of(64), NONE);
                self.cpus.resize(self.first.len() / 64, 0);
            }
            let (word, bit) = (&mut self.cpus[cpu / 64], 1 << (cpu % 64));
            self.next.push(if *word & bit == 0 { NONE } else { self.first[cpu] });
            *word |= bit;
            self.first[cpu] = place;
        }
        self.sorted.clear();
        for (number, word) in self.cpus.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let mut place = self.first[number * 64 + bits.trailing_zeros() as usize];
                bits &= bits - 1;
                let begin = self.sorted.len();
                while place != NONE {
                    self.sorted.push(list[place as usize]);
                    place = self.next[place as usize];
                }
                self.sorted[begin..].sort_unstable_by_key(|c| c.task);
            }
        }
        std::mem::swap(list, &mut self.sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::rng::Rng;

    #[test]
    fn threads_come_by_cpu_and_then_by_task() {
        let mut rng = Rng::new(3);
        let mut order = CpuOrder::default();
        for threads in [0, 1, 7, 8, 9, 100, 500] {
            // Some CPUs have several threads, most have none.
            let cpus: Vec<u32> = (0..threads).map(|_| rng.below(700) as u32).collect();
            let contender = |task: u32| Contender { ns: f64::from(task), task, writes: true, ns_per_byte: 1.0 };
            let mut list: Vec<_> = (0..threads).map(|t| contender(t * 13 % threads.max(1))).collect();
            let mut wanted = list.clone();
            wanted.sort_by_key(|c| (cpus[c.task as usize], c.task));
            order.sort(&mut list, |task| cpus[task as usize]);
            assert_eq!(list, wanted);
        }
    }
}
