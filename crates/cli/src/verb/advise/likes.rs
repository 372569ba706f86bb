//! The programs that `--like` names, and how memory and threads become parameters of a workload.

use crate::options;
use numalab_model::catalog::{is_path, LIKES};
use numalab_model::machine::size;
use numalab_model::spec::{Doc, SpecError, Spot, Table};

/// A prediction in full size simulates so much time at least, ms: balancing has come round several times then.
const FULL_TIME_MS: u64 = 60_000;

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
    /// Largest sizes of a quick prediction, the smaller one first.
    sizes: Vec<Size>,
    /// Times of a quick prediction, ms, ascending.
    times_ms: Vec<u64>,
    /// The time of a prediction in full size, ms, as a list.
    full_time_ms: Vec<u64>,
    quick: Vec<(String, String)>,
    /// Whether each of several instances needs all of the memory.
    whole: bool,
    /// Why several instances in its place cannot be compared with it.
    one_instance: Option<String>,
    /// What the user has set, as parts of a name: "points-50".
    chosen: Vec<String>,
}

/// How large a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Memory of the program, bytes.
    pub memory_bytes: u64,
    /// Busy threads.
    pub threads: u32,
}

impl Size {
    /// The size as part of a name: "1GiB-16t".
    pub fn label(self) -> String {
        format!("{}-{}t", size::exact(self.memory_bytes).replace(' ', ""), self.threads)
    }
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
        let times_ms = times(&t.strs("times")?)?;
        let longest_ms = times_ms.iter().copied().max().unwrap_or(0).max(FULL_TIME_MS);
        let full_time_ms = if t.has("full_time") { times(&[t.str("full_time")?])? } else { vec![longest_ms] };
        let like = Self {
            name: t.str("name")?.value,
            workload: t.str("workload")?.value,
            assumes: t.str("assumes")?.value,
            bind: t.opt_str("bind")?.map(|b| b.value),
            params: texts("params")?,
            sizes: t.tables("sizes")?.into_iter().map(size).collect::<Result<_, _>>()?,
            times_ms,
            full_time_ms,
            quick: texts("quick")?,
            whole: t.opt_bool("whole")?.is_some_and(|b| b.value),
            one_instance: t.opt_str("one_instance")?.map(|text| text.value),
            chosen: Vec::new(),
        };
        t.finish()?;
        Ok(like)
    }

    /// A workload of the user's own, with the values of its parameters.
    pub fn of_file(name: &str, file: &str, params: Vec<(String, String)>, times_ms: &[u64]) -> Self {
        Self {
            name: name.to_string(),
            workload: file.to_string(),
            assumes: "its file has the assumptions, in `about`".into(),
            bind: Some("--cpunodebind=0 --membind=0".into()),
            params,
            sizes: Vec::new(),
            times_ms: times_ms.to_vec(),
            full_time_ms: times_ms.to_vec(),
            quick: Vec::new(),
            whole: false,
            one_instance: None,
            chosen: Vec::new(),
        }
    }

    /// Whether the workload is a file of the user's own.
    pub fn is_file(&self) -> bool {
        is_path(&self.workload)
    }

    /// Whether each of several instances needs all of the memory, as each has all weights of a model. Else they divide
    /// it.
    pub fn whole_instances(&self) -> bool {
        self.whole
    }

    /// Why several instances in its place cannot be compared with it, if they cannot.
    pub fn one_instance(&self) -> Option<String> {
        let usual = || format!("the model of {} has several processes, or one that cannot be divided", self.name);
        self.one_instance.clone().or_else(|| self.bind.is_none().then(usual))
    }

    /// Whether a parameter has a value of its own.
    pub fn sets(&self, name: &str) -> bool {
        self.params.iter().any(|(own, _)| own == name)
    }

    /// Sets a parameter, in place of the value that it has.
    pub fn param(&mut self, name: &str, value: &str) {
        self.params.retain(|(own, _)| own != name);
        self.quick.retain(|(own, _)| own != name);
        self.params.push((name.to_string(), value.to_string()));
    }

    /// Sets a parameter as the user wants it. It becomes a part of the names of runs.
    pub fn choose(&mut self, name: &str, value: &str) {
        self.param(name, value);
        let fits = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        let plain: String = value.chars().map(|c| if fits(c) { c } else { '-' }).take(30).collect();
        self.chosen.push(format!("{name}-{plain}"));
    }

    /// What the user has set, as parts of a name.
    pub fn chosen(&self) -> &[String] {
        &self.chosen
    }

    /// Its parameters, with places for size and time.
    pub fn own_params(&self) -> &[(String, String)] {
        &self.params
    }

    /// Lasts so long whatever the machine, ms.
    pub fn lasts_ms(&mut self, time_ms: u64) {
        self.times_ms = vec![time_ms];
        self.full_time_ms = vec![time_ms];
    }

    /// The sizes that are simulated for a program of the size `asked`, each once. What is asked and smaller than a cut
    /// is simulated as asked. In full size it is the only one.
    pub fn simulated(&self, asked: Size, quick: bool) -> Vec<Size> {
        if !quick || self.sizes.is_empty() {
            return vec![asked];
        }
        let cut = |most: &Size| Size {
            memory_bytes: asked.memory_bytes.min(most.memory_bytes),
            threads: asked.threads.min(most.threads),
        };
        let mut out: Vec<Size> = self.sizes.iter().map(cut).collect();
        out.dedup();
        out
    }

    /// The times over which each size is simulated, ms.
    pub fn times_ms(&self, quick: bool) -> &[u64] {
        if quick {
            &self.times_ms
        } else {
            &self.full_time_ms
        }
    }

    /// Parameters of the workload for a program of that size over a time, as names and expressions of the machine.
    pub fn params(&self, size: Size, time_ms: u64, quick: bool) -> Vec<(String, String)> {
        let fill = |text: &str| {
            let memory = format!("{}B", size.memory_bytes);
            let text = text.replace("{memory}", &memory).replace("{threads}", &size.threads.to_string());
            text.replace("{time}", &format!("{time_ms}ms"))
        };
        let further: Vec<(String, String)> = self.quick.iter().filter(|_| quick).cloned().collect();
        let replaced = |name: &String| further.iter().any(|(other, _)| other == name);
        let own = self.params.iter().filter(|(name, _)| !replaced(name));
        own.map(|(name, value)| (name.clone(), fill(value))).chain(further.iter().cloned()).collect()
    }

    /// Further parameters of a quick prediction, in words: "reads is 40000". Empty if there are none.
    pub fn further(&self) -> String {
        let said: Vec<String> = self.quick.iter().map(|(name, value)| format!("{name} is {value}")).collect();
        said.join(", ")
    }
}

/// Reads a size.
fn size(t: Table<'_>) -> Result<Size, SpecError> {
    let memory_bytes = bytes(&t.str("memory")?)?;
    let out = Size { memory_bytes, threads: t.int("threads", 1..=65_536)?.value as u32 };
    t.finish()?;
    Ok(out)
}

/// Reads a size of memory, bytes.
fn bytes(text: &Spot<String>) -> Result<u64, SpecError> {
    size::read_option(&text.value).map_err(|e| text.error(e.to_string(), "a size, such as 1GiB"))
}

/// Reads times, in ms.
fn times(list: &[Spot<String>]) -> Result<Vec<u64>, SpecError> {
    let one = |text: &Spot<String>| {
        let seconds = options::seconds(&text.value).map_err(|e| text.error(e, "a time, such as 6s"))?;
        Ok((seconds * 1000.0) as u64)
    };
    list.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Size = Size { memory_bytes: 64 << 30, threads: 64 };

    #[test]
    fn every_program_has_two_sizes_and_two_times_that_grow() {
        for like in Like::all().unwrap() {
            let sizes = like.simulated(ASKED, true);
            assert!(sizes.len() == 2 && sizes[0].threads < sizes[1].threads, "{}: {sizes:?}", like.name);
            assert!(sizes[0].memory_bytes <= sizes[1].memory_bytes, "{}", like.name);
            let times = like.times_ms(true);
            assert!(times.len() == 2 && times[1] >= 3 * times[0], "{}: {times:?}", like.name);
            let full = like.times_ms(false);
            assert!(full.len() == 1 && full[0] >= times[1] && full[0] >= FULL_TIME_MS, "{}: {full:?}", like.name);
        }
    }

    #[test]
    fn what_is_smaller_than_the_cut_is_simulated_as_asked() {
        let like = Like::find("hpc").unwrap();
        let small = Size { memory_bytes: 1 << 28, threads: 8 };
        assert_eq!(like.simulated(small, true), [small]);
        let wide = Size { memory_bytes: 1 << 28, threads: 40 };
        assert_eq!(like.simulated(wide, true), [Size { threads: 16, ..wide }, wide]);
        assert_eq!(like.simulated(ASKED, false), [ASKED]);
    }

    #[test]
    fn a_quick_prediction_has_further_parameters_and_a_full_one_has_none() {
        let like = Like::find("postgres").unwrap();
        let of = |quick| like.params(Size { memory_bytes: 4096, threads: 3 }, 500, quick);
        let want = [("pool", "4096B // 4"), ("connections", "3"), ("duration", "500ms")];
        let want = want.map(|(name, value)| (name.to_string(), value.to_string()));
        let sorted = |mut list: Vec<(String, String)>| {
            list.sort();
            list
        };
        assert_eq!(sorted(of(false)), sorted(want.to_vec()));
        assert!(of(true).len() > 3 && of(true).contains(&("reads".into(), "40000".into())));
    }
}
