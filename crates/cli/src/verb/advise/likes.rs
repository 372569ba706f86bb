//! The programs that `--like` names, and how memory and threads become parameters of a workload.

use numalab_model::catalog::LIKES;
use numalab_model::spec::{Doc, SpecError, Spot, Table};

/// A kind of program, as `catalog/likes.toml` describes it.
#[derive(Clone, Debug)]
pub struct Like {
    /// What `--like` calls it.
    pub name: String,
    /// The workload of the catalog that stands for it.
    pub workload: String,
    /// What the model takes for granted, and from where.
    pub assumes: String,
    /// Options of numactl(8) that keep the program on node 0; `None` where the model has no such choice.
    pub bind: Option<String>,
    params: Vec<(String, String)>,
    most: Vec<(String, String)>,
    quick: Vec<(String, String)>,
}

/// How large the modelled program is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Memory of the program, bytes.
    pub memory_bytes: u64,
    /// Busy threads.
    pub threads: u32,
    /// Whether parameters are cut down to their largest quick values.
    pub quick: bool,
}

impl Like {
    /// The table of all programs, in the order of the file.
    ///
    /// # Errors
    /// The table is wrong.
    pub fn all() -> Result<Vec<Self>, SpecError> {
        let doc = Doc::parse(LIKES.0, LIKES.1)?;
        let root = doc.root();
        let out = root.tables("like")?.into_iter().map(Self::read).collect();
        root.finish()?;
        out
    }

    /// The program that `name` means.
    ///
    /// # Errors
    /// The table has none of that name.
    pub fn find(name: &str) -> Result<Self, SpecError> {
        let all = Self::all()?;
        let names: Vec<String> = all.iter().map(|l| l.name.clone()).collect();
        let unknown = || {
            let e = SpecError::plain(
                "command line",
                format!("`--like` is {name:?}"),
                format!("one of {}", names.join(", ")),
            );
            e.near(name, names.iter().map(String::as_str))
        };
        all.into_iter().find(|l| l.name == name).ok_or_else(unknown)
    }

    fn read(t: Table<'_>) -> Result<Self, SpecError> {
        let texts = |key: &str| -> Result<Vec<(String, String)>, SpecError> {
            let Some(inner) = t.opt_table(key)? else { return Ok(Vec::new()) };
            let read = |k: Spot<String>| Ok((inner.str(&k.value)?.value, k.value));
            inner.keys().into_iter().map(read).map(|r| r.map(|(value, name)| (name, value))).collect()
        };
        let like = Self {
            name: t.str("name")?.value,
            workload: t.str("workload")?.value,
            assumes: t.str("assumes")?.value,
            bind: t.opt_str("bind")?.map(|b| b.value),
            params: texts("params")?,
            most: texts("most")?,
            quick: texts("quick")?,
        };
        t.finish()?;
        Ok(like)
    }

    /// Parameters of the workload for a program of that size, as names and expressions of the machine.
    pub fn params(&self, size: Size) -> Vec<(String, String)> {
        let fill = |text: &str| {
            let memory = format!("{}B", size.memory_bytes);
            text.replace("{memory}", &memory).replace("{threads}", &size.threads.to_string())
        };
        let most = |name: &str| self.most.iter().find(|m| m.0 == name).map(|m| &m.1);
        let one = |(name, value): &(String, String)| match most(name).filter(|_| size.quick) {
            Some(most) => (name.clone(), format!("min({}, {most})", fill(value))),
            None => (name.clone(), fill(value)),
        };
        let further = self.quick.iter().filter(|_| size.quick).cloned();
        self.params.iter().map(one).chain(further).collect()
    }

    /// The largest values of a quick prediction, in words: "pool 256MiB, connections 8".
    pub fn limits(&self) -> String {
        let said: Vec<String> = self.most.iter().map(|(name, most)| format!("{name} {most}")).collect();
        said.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_prediction_has_limits_and_a_full_one_has_none() {
        let like = Like::find("postgres").unwrap();
        let of = |quick| like.params(Size { memory_bytes: 4096, threads: 3, quick });
        assert!(of(true).contains(&("pool".into(), "min(4096B // 4, 256MiB)".into())));
        assert!(of(false).contains(&("pool".into(), "4096B // 4".into())));
        assert_eq!(of(false).len(), 2, "the length of the run is the workload's own");
    }
}
