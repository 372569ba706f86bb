//! The share of a NUMA group in the scan periods of its members.

/// What a group contributes to the bounds: members and the faults of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupScale {
    /// References, which in practice are the members.
    pub members: u64,
    /// Sum of the group's private MEM averages.
    pub private: u64,
    /// Sum of the group's shared MEM averages.
    pub shared: u64,
}

impl GroupScale {
    /// G(x) = ⌊x·members·(shared+1) / (private+shared+1)⌋, multiplied first.
    pub fn scale(self, x: u64) -> u64 {
        let product = x.wrapping_mul(self.members).wrapping_mul(self.shared.wrapping_add(1));
        product / self.private.wrapping_add(self.shared).wrapping_add(1).max(1)
    }
}
