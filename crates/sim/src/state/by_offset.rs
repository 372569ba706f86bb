//! Tasks by where in a mapping they are. Places are bytes.

/// Lists of tasks by where they sweep. Lists are shared by places far from each other, and by mappings.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByOffset {
    /// By list, its first task.
    first: Vec<u32>,
    /// By group of lists, which of them have a task, as bits.
    occupied: Vec<u64>,
    /// By task: the next and the one before on its list, and the list.
    next: Vec<u32>,
    previous: Vec<u32>,
    list: Vec<u32>,
}

/// Bytes of a mapping that share a list: a few faults on base pages for a slow thread.
const STRETCH_BYTES: u64 = 256 << 10;

/// Lists of a group, for stretches that follow each other: one bit each of a word.
const GROUP: u64 = u64::BITS as u64;

/// Groups of lists.
const GROUPS: u64 = 1024;

const NONE: u32 = u32::MAX;

impl ByOffset {
    /// Lists without tasks.
    pub(crate) fn new() -> Self {
        Self { first: vec![NONE; (GROUPS * GROUP) as usize], occupied: vec![0; GROUPS as usize], ..Self::default() }
    }
    /// Makes room for tasks with numbers below `tasks`.
    pub(crate) fn grow(&mut self, tasks: usize) {
        for by_task in [&mut self.next, &mut self.previous, &mut self.list] {
            by_task.resize(tasks, NONE);
        }
    }
    /// The group of lists for stretches `number * GROUP` and on of a mapping. Threads often keep the same distance from
    /// each other, so groups are spread like the hashes of a table.
    #[inline]
    fn group_of(of: (u32, u32), number: u64) -> u64 {
        let key = number ^ u64::from(of.0) << 48 ^ u64::from(of.1) << 32;
        key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - GROUPS.ilog2())
    }
    /// The list of a stretch of a mapping.
    #[inline]
    fn list_of(of: (u32, u32), stretch: u64) -> u64 {
        Self::group_of(of, stretch / GROUP) * GROUP + stretch % GROUP
    }
    /// Takes a task off its list, if it is on one.
    pub(crate) fn remove(&mut self, task: u32) {
        let list = std::mem::replace(&mut self.list[task as usize], NONE);
        if list == NONE {
            return;
        }
        let (next, previous) = (self.next[task as usize], self.previous[task as usize]);
        if next != NONE {
            self.previous[next as usize] = previous;
        }
        if previous != NONE {
            self.next[previous as usize] = next;
            return;
        }
        self.first[list as usize] = next;
        if next == NONE {
            self.occupied[(u64::from(list) / GROUP) as usize] &= !(1 << (u64::from(list) % GROUP));
        }
    }
    /// Lists a task, which is on no list, by its place in a mapping, bytes.
    pub(crate) fn insert(&mut self, task: u32, of: (u32, u32), place: u64) {
        let list = Self::list_of(of, place / STRETCH_BYTES);
        let next = std::mem::replace(&mut self.first[list as usize], task);
        if next != NONE {
            self.previous[next as usize] = task;
        }
        self.occupied[(list / GROUP) as usize] |= 1 << (list % GROUP);
        (self.next[task as usize], self.previous[task as usize]) = (next, NONE);
        self.list[task as usize] = list as u32;
    }
    /// How many groups of lists [`Self::each`] looks at for these places.
    #[inline]
    pub(crate) fn groups((from, to): (u64, u64)) -> u64 {
        to / (GROUP * STRETCH_BYTES) - from / (GROUP * STRETCH_BYTES) + 1
    }
    /// Calls `f` with the tasks at places `from` to `to` of a mapping, bytes, until it returns false. It may be called
    /// with others. Returns whether it never did.
    #[inline]
    pub(crate) fn each(&self, of: (u32, u32), (from, to): (u64, u64), mut f: impl FnMut(u32) -> bool) -> bool {
        let (from, to) = (from / STRETCH_BYTES, to / STRETCH_BYTES);
        let (first, last) = (from / GROUP, to / GROUP);
        // A wide range has all groups.
        let all = last - first >= GROUPS;
        let groups = if all { 0..=GROUPS - 1 } else { first..=last };
        for number in groups {
            let group = if all { number } else { Self::group_of(of, number) };
            let mut lists = self.occupied[group as usize];
            if !all && number == first {
                lists &= u64::MAX << (from % GROUP);
            }
            if !all && number == last {
                lists &= u64::MAX >> (GROUP - 1 - to % GROUP);
            }
            while lists != 0 {
                let list = group * GROUP + u64::from(lists.trailing_zeros());
                lists &= lists - 1;
                let mut task = self.first[list as usize];
                while task != NONE {
                    let next = self.next[task as usize];
                    if !f(task) {
                        return false;
                    }
                    task = next;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However wide the range of places, everybody in it is met once.
    #[test]
    fn ranges_of_any_width_meet_everybody_once() {
        let mut lists = ByOffset::new();
        lists.grow(64);
        let stretch = |task: u64| task * task * 37;
        (0..64).for_each(|task| lists.insert(task as u32, (1, 2), stretch(task) * STRETCH_BYTES));
        for (from, to) in [(0, 0), (5, 130), (37, 37), (0, 70_000), (100, 200_000)] {
            let mut met = Vec::new();
            let places = (from * STRETCH_BYTES, to * STRETCH_BYTES);
            let all = lists.each((1, 2), places, |task| {
                met.push(u64::from(task));
                true
            });
            assert!(all);
            let mut wanted: Vec<u64> = (0..64).filter(|&task| (from..=to).contains(&stretch(task))).collect();
            met.sort_unstable();
            let all = met.len();
            met.dedup();
            assert_eq!(met.len(), all, "nobody twice");
            wanted.retain(|task| !met.contains(task));
            assert!(wanted.is_empty(), "{from}..={to} lacks {wanted:?}");
        }
    }
}
