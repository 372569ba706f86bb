//! A region of a fitted process, and names that a workload may use.

/// A region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Bytes from the first page touched to the last; of each member.
    pub bytes: u64,
    /// How many there are of it, if it comes in several.
    pub members: Option<usize>,
    /// Where it comes from in the program's source, if that is known.
    pub site: Option<String>,
    /// How its pages are placed: as the program does it, or by a change, which no record shows.
    pub placing: Placing,
    /// It is so many lines that threads write by turns, each its own bytes of them. Its bytes are then no memory to
    /// speak of, and 0.
    pub lines: Option<u64>,
    /// Whether other processes have it too: it is then one of [`Fit::shared`](super::Fit::shared), by its name.
    pub is_shared: bool,
    /// Number of the process in [`Fit::processes`](super::Fit::processes) that it is inherited from by a fork, if it is
    /// that one's region of this name.
    pub inherited: Option<usize>,
}

impl Region {
    /// Whether it may be the region of another process of one kind. What processes share is the same in all of them.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_same = self.is_own() || self.name == other.name;
        let from = |r: &Self| (r.members, r.is_shared, r.inherited);
        from(self) == from(other) && is_same
    }

    /// Whether it is the process's own, and no other maps it.
    pub fn is_own(&self) -> bool {
        !self.is_shared && self.inherited.is_none()
    }
}

/// How the pages of a region are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// As the program does it.
    #[default]
    Own,
    /// Its pages are spread over all nodes.
    Interleaved,
    /// Its pages are on the first node.
    Bound,
    /// Huge pages are asked for, by the program or by a change.
    Huge,
    /// Each node has a copy of it, which its threads use.
    Copied,
}

/// A name that a workload may use.
pub fn word(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let plain: String = text.chars().map(|c| if fits(c) { c } else { '_' }).take(30).collect();
    match plain.chars().next() {
        Some(c) if c.is_ascii_alphabetic() => plain,
        _ => format!("p{plain}"),
    }
}
