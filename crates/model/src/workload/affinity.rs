//! CPU affinities, resolved for one machine.

use super::ast::{Affinity, AffinityUnit};
use super::families::expand;
use crate::expr::Env;
use crate::machine::Machine;
use crate::spec::SpecError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Affinities resolved so far, so that equal ones are shared.
#[derive(Default)]
pub(super) struct Affinities {
    known: BTreeMap<Vec<u32>, Arc<[u32]>>,
}

impl Affinities {
    /// The one copy of equal lists.
    pub fn shared(&mut self, cpus: Vec<u32>) -> Arc<[u32]> {
        Arc::clone(self.known.entry(cpus).or_insert_with_key(|c| c.as_slice().into()))
    }
    /// The CPUs that `spec` allows in `env`, ascending; `None` if they are all CPUs of the machine.
    pub fn resolve(&mut self, spec: &Affinity, env: &Env, m: &Machine) -> Result<Option<Arc<[u32]>>, SpecError> {
        let wanted = expand(&spec.list, env)?;
        let (word, total) = match spec.unit {
            AffinityUnit::Cpus => ("CPU", m.cpus.len()),
            AffinityUnit::Cores => ("core", m.cores),
            AffinityUnit::Llcs => ("LLC", m.llcs.len()),
            AffinityUnit::Nodes => ("node", m.nodes.len()),
            AffinityUnit::Sockets => ("socket", m.sockets),
        };
        if wanted.is_empty() {
            let what = format!("the list of {word}s of the affinity is empty");
            return Err(spec.list.spot.error(what, format!("at least one {word}")));
        }
        let mut allowed = vec![false; total];
        for n in wanted {
            let Some(slot) = usize::try_from(n).ok().and_then(|n| allowed.get_mut(n)) else {
                let what = format!("affinity to {word} {n}, which `{}` does not have", m.name);
                return Err(spec.list.spot.error(what, format!("0 to {}", total.saturating_sub(1))));
            };
            *slot = true;
        }
        let of = |c: usize| match spec.unit {
            AffinityUnit::Cpus => c,
            AffinityUnit::Cores => m.cpus[c].core,
            AffinityUnit::Llcs => m.cpus[c].llc,
            AffinityUnit::Nodes => m.cpus[c].node,
            AffinityUnit::Sockets => m.cpus[c].socket,
        };
        let cpus: Vec<u32> =
            (0..m.cpus.len()).filter(|c| allowed.get(of(*c)) == Some(&true)).map(|c| c as u32).collect();
        if cpus.is_empty() {
            return Err(spec.list.spot.error("the affinity allows no CPU", format!("a {word} that has CPUs")));
        }
        if cpus.len() == m.cpus.len() {
            return Ok(None);
        }
        Ok(Some(self.shared(cpus)))
    }
}
