//! Whether a task may move between caches (kernel: `can_migrate_llc`).

use super::CacheAwareTunables;

/// Answer to a move between caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMove {
    /// It would break up what belongs together, or overload a cache.
    Forbid,
    /// It brings a task to its cache.
    Towards,
    /// Caches have no say.
    Unrestricted,
}

/// Utilisation and capacity of two caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePair {
    /// Utilisation of the source.
    pub src_util: u64,
    /// Utilisation of the destination.
    pub dst_util: u64,
    /// Capacity of the source.
    pub src_capacity: u64,
    /// Capacity of the destination.
    pub dst_capacity: u64,
}

/// Limits of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Utilisation up to which a cache takes tasks, %.
    pub overaggr_pct: u64,
    /// Lead that counts as an imbalance, %.
    pub imb_pct: u64,
}

impl Limits {
    /// The limits of a machine with or without SMT.
    pub fn new(t: &CacheAwareTunables, smt: bool) -> Self {
        let full = if smt { t.overaggr_pct } else { t.overaggr_pct * 3 / 2 };
        Self { overaggr_pct: u64::from(full.min(100)), imb_pct: u64::from(t.imb_pct) }
    }
    /// Whether a cache has room.
    pub fn fits(&self, util: u64, capacity: u64) -> bool {
        100 * util < capacity * self.overaggr_pct
    }
    fn greater(&self, a: u64, b: u64) -> bool {
        100 * a > b * (100 + self.imb_pct)
    }
}

/// Whether a task of utilisation `task` may move. `towards`: the destination is the preferred cache; otherwise the
/// source is. `pair` is `None` without statistics. Utilisations before the move tell whether both caches are busy, and
/// those after it decide; the kernel's own comment table uses a difference instead of the ratio and differs.
pub fn can_migrate(pair: Option<CachePair>, task: u64, towards: bool, limits: &Limits) -> CacheMove {
    let Some(p) = pair else { return CacheMove::Unrestricted };
    if !limits.fits(p.src_util, p.src_capacity) && !limits.fits(p.dst_util, p.dst_capacity) {
        return CacheMove::Unrestricted;
    }
    let (src, dst) = (p.src_util.saturating_sub(task), p.dst_util + task);
    let forbid = match towards {
        true => !limits.fits(dst, p.dst_capacity) && limits.greater(dst, src),
        false => limits.fits(src, p.src_capacity) || !limits.greater(src, dst),
    };
    if forbid {
        CacheMove::Forbid
    } else {
        CacheMove::Towards
    }
}
