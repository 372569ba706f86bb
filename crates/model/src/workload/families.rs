//! Lists of numbers, and families with their members, resolved for one machine.

use super::ast::{Family, List, ListItem, Ref};
use crate::expr::{Env, Formula};
use crate::spec::{SpecError, Spot};
use std::collections::BTreeMap;

/// Most numbers in a list.
const MAX_LIST: u64 = 1_000_000;

/// The numbers of a list, in its order.
pub(super) fn expand(list: &List, env: &Env) -> Result<Vec<u64>, SpecError> {
    let mut out: Vec<u64> = Vec::new();
    for item in &list.items {
        match item {
            ListItem::One(f) => out.push(f.whole(env, 0, u64::MAX)?),
            ListItem::Range { from, to, by } => {
                let (low, high) = (from.whole(env, 0, u64::MAX)?, to.plain(env)?);
                let step = by.as_ref().map_or(Ok(1), |b| b.whole(env, 1, u64::MAX))?;
                if high < low as f64 {
                    // `0..nodes-2` is an empty list on a machine with one node.
                    continue;
                }
                let high = to.whole(env, 0, u64::MAX)?;
                if (high - low) / step >= MAX_LIST {
                    return Err(list.spot.error("the list is too long", format!("at most {MAX_LIST} numbers")));
                }
                out.extend((low..=high).step_by(usize::try_from(step).unwrap_or(usize::MAX)));
            }
        }
        if out.len() as u64 > MAX_LIST {
            return Err(list.spot.error("the list is too long", format!("at most {MAX_LIST} numbers")));
        }
    }
    Ok(out)
}

/// Members of a family and their ids. A family without `over` has one member, 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Members {
    name: String,
    listed: bool,
    ids: BTreeMap<u64, Option<u32>>,
}

impl Members {
    /// The members of `family`, in `env`.
    pub fn new(family: &Family, env: &Env) -> Result<Self, SpecError> {
        let mut ids = BTreeMap::new();
        for n in numbers(family, env)? {
            if ids.insert(n, None).is_some() {
                let what = format!("`{}` has member {n} twice", family.name.value);
                return Err(family.name.error(what, "different numbers in `over`"));
            }
        }
        Ok(Self { name: family.name.value.clone(), listed: family.over.is_some(), ids })
    }
    /// Number of members.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
    /// Members with their names for reports, in ascending order.
    pub fn labels(&self) -> Vec<(u64, String)> {
        let label = |n: &u64| if self.listed { format!("{}-{n}", self.name) } else { self.name.clone() };
        self.ids.keys().map(|n| (*n, label(n))).collect()
    }
    /// Gives all members ids from `first` on, in ascending order; returns their names.
    pub fn number_from(&mut self, first: u32) -> Vec<String> {
        for (id, slot) in (first..).zip(self.ids.values_mut()) {
            *slot = Some(id);
        }
        self.labels().into_iter().map(|(_, name)| name).collect()
    }
    /// The id of the member `reference` means; the first use of a member takes `next` and advances it.
    pub fn id(&mut self, reference: &Ref, env: &Env, next: &mut u32) -> Result<(u32, bool), SpecError> {
        let n = member(reference.at.as_ref(), env)?;
        let Some(id) = self.ids.get_mut(&n) else {
            return Err(absent(&self.name, n, self.ids.keys().copied(), &reference.spot));
        };
        let fresh = id.is_none();
        let got = *id.get_or_insert(*next);
        *next += u32::from(fresh);
        Ok((got, fresh))
    }
}

/// Numbers of the members of a family.
pub(super) fn numbers(family: &Family, env: &Env) -> Result<Vec<u64>, SpecError> {
    family.over.as_ref().map_or_else(|| Ok(vec![0]), |list| expand(list, env))
}

/// The member number that an index expression gives.
pub(super) fn member(at: Option<&Formula>, env: &Env) -> Result<u64, SpecError> {
    at.map_or(Ok(0), |f| f.whole(env, 0, u64::MAX))
}

/// The error that refuses a member that the family does not have.
pub(super) fn absent(name: &str, n: u64, all: impl Iterator<Item = u64>, at: &Spot<String>) -> SpecError {
    let all: Vec<u64> = all.collect();
    if all.is_empty() {
        return at.error(format!("`{name}` is not mapped here"), "a `when` that holds, or a step with the same `when`");
    }
    let expected = match (all.first(), all.last()) {
        (Some(a), Some(b)) if b - a + 1 == all.len() as u64 => format!("a member from {a} to {b}"),
        _ => format!("one of its {} members", all.len()),
    };
    at.error(format!("`{name}` has no member {n}"), expected)
}
