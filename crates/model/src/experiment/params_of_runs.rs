//! The parameters of workloads, and workloads resolved with them for every seed.

use super::columns::{over, Resolved};
use super::{goes_by, Experiment, Param, Sources};
use crate::kernel::Setting;
use crate::machine::Machine;
use crate::spec::{nearest, SpecError, Spot};
use crate::workload::Workload;
use std::sync::Arc;

/// A workload with the parameters of a column.
pub(super) struct WithParams {
    /// The workload of every iteration.
    pub workloads: Vec<Arc<Workload>>,
    /// The parameters, as the value of [`PARAMS`].
    pub condition: String,
}

impl Experiment {
    /// The name in its file of a workload, and the workload resolved for the seed of every iteration.
    pub(super) fn seeds(
        &self,
        sources: &dyn Sources,
        workload: &Spot<String>,
        machine: &Machine,
        params: &[Setting],
    ) -> Result<(String, Vec<Arc<Workload>>), SpecError> {
        let of = self.source_of(workload);
        let (mut original, mut all) = (String::new(), Vec::<Arc<Workload>>::new());
        for seed in (0..self.iterations).map(|i| self.seed.wrapping_add(u64::from(i))) {
            let mut resolved = sources.workload(of, machine, seed, params)?;
            original.clone_from(&resolved.name);
            if of != workload {
                resolved.name.clone_from(&workload.value);
            }
            // Seeds of most workloads resolve alike, and are held once.
            let alike = all.last().filter(|last| ***last == resolved).cloned();
            all.push(alike.unwrap_or_else(|| Arc::new(resolved)));
        }
        Ok((original, all))
    }

    /// The parameters of each workload. A value for one workload takes precedence over a value for all.
    ///
    /// # Errors
    /// A parameter that is given twice, or that no workload declares.
    pub(super) fn params_by_workload(&self, sources: &dyn Sources) -> Result<Vec<Vec<Setting>>, SpecError> {
        let mut declared = Vec::new();
        for w in &self.workloads {
            declared.push(sources.params_of(self.source_of(w))?);
        }
        let mut out: Vec<Vec<&Param>> = vec![Vec::new(); self.workloads.len()];
        for p in &self.params {
            let name = &p.setting.name;
            let mut used = false;
            for (i, w) in self.workloads.iter().enumerate() {
                if p.workload.as_ref().is_some_and(|only| !goes_by(&w.value, only))
                    || !declared[i].contains(&name.value)
                {
                    continue;
                }
                match out[i].iter_mut().find(|o| o.setting.name.value == name.value) {
                    None => out[i].push(p),
                    Some(other) if other.workload.is_some() == p.workload.is_some() => {
                        return Err(name.error(format!("parameter `{}` is given twice", name.value), "one value"));
                    }
                    Some(other) if p.workload.is_some() => *other = p,
                    Some(_) => {}
                }
                used = true;
            }
            if !used {
                return Err(self.unknown_param(p, &declared));
            }
        }
        Ok(out.into_iter().map(|list| list.into_iter().map(|p| p.setting.clone()).collect()).collect())
    }

    /// The error for a parameter that no workload declares.
    fn unknown_param(&self, p: &Param, declared: &[Vec<String>]) -> SpecError {
        let mut names: Vec<&str> = Vec::new();
        let mut workloads = Vec::new();
        for (w, list) in self.workloads.iter().zip(declared) {
            if p.workload.as_ref().is_none_or(|only| goes_by(&w.value, only)) {
                workloads.push(w.value.as_str());
                names.extend(list.iter().map(String::as_str).filter(|n| !names.contains(n)).collect::<Vec<_>>());
            }
        }
        let name = &p.setting.name;
        let expected =
            if names.is_empty() { "no parameter".to_string() } else { format!("one of {}", names.join(", ")) };
        let what = format!("no parameter `{}` in {}", name.value, workloads.join(", "));
        let mut e = name.error(what, expected);
        // The name may be `WORKLOAD.PARAMETER` with a slip in the workload's name.
        let dotted: Vec<String> = self
            .workloads
            .iter()
            .zip(declared)
            .filter(|_| name.value.contains('.'))
            .flat_map(|(w, list)| list.iter().map(move |n| format!("{}.{n}", w.value)))
            .collect();
        e.nearest = nearest(&name.value, dotted.iter().map(String::as_str)).or_else(|| nearest(&name.value, names));
        e
    }

    /// The workload with the parameters of a column. `None` where the column has none that the workload declares.
    ///
    /// # Errors
    /// An expression without a value, or whatever the workload refuses.
    pub(super) fn with_params(
        &self,
        sources: &dyn Sources,
        (workload, machine): (&Spot<String>, &Machine),
        params: &[Setting],
        column: &Resolved<'_>,
    ) -> Result<Option<WithParams>, SpecError> {
        if column.params.is_empty() {
            return Ok(None);
        }
        let declared = sources.params_of(self.source_of(workload))?;
        let of_this = |s: &Setting| {
            let name = of_workload(&s.name.value, &workload.value)?;
            let known = declared.iter().any(|d| d == name);
            known.then(|| Setting { name: s.name.clone().map(|_| name.to_string()), value: s.value.clone() })
        };
        let own: Vec<Setting> = column.params.iter().filter_map(of_this).collect();
        if own.is_empty() {
            return Ok(None);
        }
        let (_, resolved) = self.seeds(sources, workload, machine, &over(params, &own))?;
        let text: Vec<String> = own.iter().map(|s| format!("{} = {}", s.name.value, s.value)).collect();
        Ok(Some(WithParams { workloads: resolved, condition: text.join("; ") }))
    }

    /// Refuses a parameter of a column that no workload declares.
    ///
    /// # Errors
    /// The first such parameter, with the nearest name.
    pub(super) fn check_column_params(&self, sources: &dyn Sources) -> Result<(), SpecError> {
        let all = || self.axes.columns.iter().flat_map(|c| &c.params);
        if all().next().is_none() {
            return Ok(());
        }
        let declared: Vec<Vec<String>> =
            self.workloads.iter().map(|w| sources.params_of(self.source_of(w))).collect::<Result<_, _>>()?;
        let known = |s: &Setting| {
            let mut each = self.workloads.iter().zip(&declared);
            each.any(|(w, list)| of_workload(&s.name.value, &w.value).is_some_and(|n| list.iter().any(|d| d == n)))
        };
        match all().find(|s| !known(s)) {
            Some(s) => Err(self.unknown_param(&Param { workload: None, setting: s.clone() }, &declared)),
            None => Ok(()),
        }
    }
}

/// The parameter that `name` of a column means for a workload: `name` itself, or what stands behind the workload's name
/// and a dot. `None` if it is for another workload.
fn of_workload<'a>(name: &'a str, workload: &str) -> Option<&'a str> {
    match name.rsplit_once('.') {
        None => Some(name),
        Some((only, parameter)) => goes_by(workload, only).then_some(parameter),
    }
}
