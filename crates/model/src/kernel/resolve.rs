//! From catalog files and overrides to a [`Kernel`].

use super::{
    Kernel, KernelSpec, Needs, RoleChoice, Setting, TunableChoice, TunableInfo, Vocabulary, DEFAULT, NUMA_BALANCING,
};
use crate::spec::{nearest, SpecError, Spot};

/// Origin of a value set by an override, of the command line or of an experiment.
pub const OVERRIDE: &str = "--set";

/// Where kernel files come from.
pub trait Lookup {
    /// The kernel of that name, `None` if there is none.
    ///
    /// # Errors
    /// The file exists and is not a kernel.
    fn kernel_spec(&self, name: &str) -> Result<Option<KernelSpec>, SpecError>;
    /// Names of all kernels, for messages.
    fn kernel_names(&self) -> Vec<String>;
    /// The kernel that a name probably means, for messages.
    fn suggest(&self, name: &str) -> Option<String> {
        nearest(name, self.kernel_names().iter().map(String::as_str))
    }
    /// The name of the built-in file of that kernel, for messages; `None` if there is none.
    fn built_in(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Resolves several kernels with the same overrides, as one experiment uses them.
///
/// # Errors
/// A kernel named twice, an unknown kernel, a chain that closes on itself, a role without
/// implementation, an unknown role, implementation or tunable, a value out of range, a tunable set
/// in a kernel that never reads it, or an override that none of the kernels reads.
pub fn resolve(
    names: &[Spot<String>],
    lookup: &dyn Lookup,
    vocabulary: &Vocabulary,
    overrides: &[Setting],
) -> Result<Vec<Kernel>, SpecError> {
    for (i, name) in names.iter().enumerate() {
        if names[..i].iter().any(|n| n.value == name.value) {
            return Err(name.error(format!("kernel `{}` is named twice", name.value), "each kernel once"));
        }
    }
    let overrides = &own_names(overrides, vocabulary);
    refuse_twice(overrides)?;
    let mut kernels = Vec::new();
    for name in names {
        kernels.push(compose(name, lookup, vocabulary)?);
    }
    let plain = kernels.clone();
    for setting in overrides {
        apply_override(&mut kernels, vocabulary, setting)?;
    }
    // Every role and tunable is final here, so what reads an override is known.
    let overridden = kernels.clone();
    for setting in overrides {
        let unread: Vec<_> = overridden.iter().map(|k| unread(k, vocabulary, &setting.name.value, |_| true)).collect();
        withdraw_unread(&mut kernels, &plain, setting, &unread)?;
        if vocabulary.tunable(&setting.name.value).is_some_and(|t| t.unread) {
            let note = format!("`{}` was set, but no backend models it yet", setting.name.value);
            kernels.iter_mut().for_each(|k| k.warnings.push(note.clone()));
        }
    }
    for kernel in &mut kernels {
        rename(kernel);
    }
    Ok(kernels)
}

/// Overrides by the names of tunables. A tunable may also be named as the kernel does: `kernel.numa_balancing`.
pub fn own_names(overrides: &[Setting], vocabulary: &Vocabulary) -> Vec<Setting> {
    let one = |s: &Setting| {
        let mut s = s.clone();
        let of_kernel = vocabulary.tunables.iter().find(|t| t.kernel_name == s.name.value);
        if let Some(t) = of_kernel.filter(|_| s.name.value.contains('.') && vocabulary.tunable(&s.name.value).is_none())
        {
            s.name.value.clone_from(&t.name);
        }
        s
    };
    overrides.iter().map(one).collect()
}

fn refuse_twice(overrides: &[Setting]) -> Result<(), SpecError> {
    for (i, s) in overrides.iter().enumerate() {
        if overrides[..i].iter().any(|o| o.name.value == s.name.value) {
            return Err(s.name.error(format!("`{}` is set twice", s.name.value), "one value"));
        }
    }
    Ok(())
}

/// A kernel from its chain, without overrides.
fn compose(name: &Spot<String>, lookup: &dyn Lookup, vocabulary: &Vocabulary) -> Result<Kernel, SpecError> {
    let top = find(name, lookup)?;
    let mut warnings = Vec::new();
    let mut alias_of = None;
    let mut chain = vec![top];
    while let Some(next) = chain.last().and_then(|s| s.alias_of.clone().or_else(|| s.extends.clone())) {
        if chain.iter().any(|s| s.name.value == next.value) {
            return Err(closed(&chain, &next, lookup));
        }
        let spec = find(&next, lookup)?;
        // A file that is named by its path comes back under that path, not under its name.
        if chain.iter().any(|s| s.name == spec.name) {
            return Err(closed(&chain, &next, lookup));
        }
        if let Some(other) = chain.iter().find(|s| s.name.value == spec.name.value) {
            let what = format!("{} and {} are both called {}", other.name.file, spec.name.file, spec.name.value);
            return Err(next.error(what, "a name of its own for each, as a record keeps one file of a name"));
        }
        if let Some(alias) = chain.last().filter(|s| s.alias_of.is_some()) {
            let (name, next) = (&alias.name.value, &next.value);
            let plain = || format!("kernel {name} is an alias: it runs as {next}, without what {name} changes on it");
            warnings.push(alias.note.clone().unwrap_or_else(plain));
            if chain.len() == 1 {
                alias_of = Some(next.clone());
            }
        }
        chain.push(spec);
    }
    let mut kernel = empty(&chain[0], alias_of, warnings, vocabulary);
    kernel.chain = chain.iter().map(|s| s.name.value.clone()).collect();
    for (i, spec) in chain.iter().enumerate().rev() {
        // The next release starts without what holds for this one alone.
        let next = i.checked_sub(1).and_then(|i| chain.get(i));
        let only_here = spec.only_here.iter().filter(|_| !next.is_some_and(|n| n.release));
        for s in spec.roles.iter().chain(&spec.tunables).chain(only_here) {
            set(&mut kernel, vocabulary, s, &spec.name.value)?;
        }
    }
    if let Some(r) = kernel.roles.iter().find(|r| r.implementation.is_empty()) {
        let root = &chain[chain.len() - 1].name;
        let words = implementations(vocabulary, &r.role).join(", ");
        return Err(root.error(format!("kernel `{}` has no role `{}`", root.value, r.role), format!("one of {words}")));
    }
    // A release may set what only a later release, or a variant, reads.
    for t in chain[0].tunables.iter().filter(|_| !chain[0].release) {
        // A user may change other settings: a release has a form of memory tiering although it is off by default. A
        // file's roles are fixed.
        if let Some(condition) = unread(&kernel, vocabulary, &t.name.value, |subject| !subject.contains('.')) {
            return Err(t.name.error(format!("`{}` has no effect here", t.name.value), condition));
        }
    }
    Ok(kernel)
}

fn closed(chain: &[KernelSpec], next: &Spot<String>, lookup: &dyn Lookup) -> SpecError {
    let names: Vec<&str> = chain.iter().map(|s| s.name.value.as_str()).collect();
    let what = format!("the chain {} -> {} closes on itself", names.join(" -> "), next.value);
    // The files of the catalog itself close no chain, so a user's file is to blame.
    let hides = |s: &&KernelSpec| !s.release && lookup.built_in(&s.name.value).is_some_and(|file| file != s.name.file);
    if let Some(own) = chain.iter().find(hides) {
        let name = &own.name.value;
        let what = format!("{what}: its name hides the catalog kernel {name}, which the chain needs");
        return own.name.error(what, "a name that no kernel of the catalog has");
    }
    next.error(what, "a kernel that does not extend this one")
}

fn find(name: &Spot<String>, lookup: &dyn Lookup) -> Result<KernelSpec, SpecError> {
    lookup.kernel_spec(&name.value)?.ok_or_else(|| {
        let expected = "a kernel of the catalog (`numalab list kernels`)";
        let nearest = lookup.suggest(&name.value);
        SpecError { nearest, ..name.error(format!("unknown kernel `{}`", name.value), expected) }
    })
}

fn empty(top: &KernelSpec, alias_of: Option<String>, warnings: Vec<String>, vocabulary: &Vocabulary) -> Kernel {
    Kernel {
        name: top.name.value.clone(),
        title: top.title.clone(),
        about: top.about.clone(),
        since: top.since.clone(),
        image: top.image.clone(),
        alias_of,
        chain: Vec::new(),
        roles: vocabulary
            .roles
            .iter()
            .map(|r| RoleChoice { role: r.name.into(), implementation: String::new(), origin: DEFAULT.into() })
            .collect(),
        tunables: vocabulary
            .tunables
            .iter()
            .map(|t| TunableChoice {
                name: t.name.clone(),
                value: t.default.clone(),
                unit: t.unit.into(),
                kernel_name: t.kernel_name.into(),
                origin: DEFAULT.into(),
            })
            .collect(),
        warnings,
    }
}

fn implementations<'a>(vocabulary: &'a Vocabulary, role: &str) -> Vec<&'a str> {
    let info = vocabulary.roles.iter().find(|r| r.name == role);
    info.map(|r| r.implementations.iter().map(|i| i.name).collect()).unwrap_or_default()
}

/// Sets a tunable (`group.key`) or fills a role (no dot).
fn set(kernel: &mut Kernel, vocabulary: &Vocabulary, s: &Setting, origin: &str) -> Result<(), SpecError> {
    if s.name.value.contains('.') {
        set_tunable(kernel, vocabulary, s, origin)
    } else {
        set_role(kernel, vocabulary, s, origin)
    }
}

fn set_role(kernel: &mut Kernel, vocabulary: &Vocabulary, s: &Setting, origin: &str) -> Result<(), SpecError> {
    let names = || vocabulary.roles.iter().map(|r| r.name);
    let Some(choice) = kernel.roles.iter_mut().find(|r| r.role == s.name.value) else {
        let expected = format!("one of {}", names().collect::<Vec<_>>().join(", "));
        let e = s.name.error(format!("unknown role `{}`", s.name.value), expected).near(&s.name.value, names());
        let tunable = by_kernel_name(vocabulary, &s.name.value);
        return Err(SpecError { nearest: tunable.or(e.nearest), ..e });
    };
    let words = implementations(vocabulary, &s.name.value);
    if !words.contains(&s.value.as_str()) {
        let what = format!("role `{}` has no implementation `{}`", s.name.value, s.value);
        return Err(s.name.error(what, format!("one of {}", words.join(", "))).near(&s.value, words));
    }
    if choice.implementation != s.value {
        choice.implementation.clone_from(&s.value);
        choice.origin = origin.to_string();
    }
    Ok(())
}

fn set_tunable(kernel: &mut Kernel, vocabulary: &Vocabulary, s: &Setting, origin: &str) -> Result<(), SpecError> {
    let Some(choice) = kernel.tunables.iter_mut().find(|t| t.name == s.name.value) else {
        return Err(unknown_tunable(vocabulary, s));
    };
    let value = (vocabulary.check)(&s.name.value, &s.value)
        .map_err(|expected| s.name.error(format!("`{}` is {}", s.name.value, s.value), expected))?;
    if choice.value != value {
        choice.value = value;
        choice.origin = origin.to_string();
    } else if choice.origin == DEFAULT && (origin != OVERRIDE || choice.name == NUMA_BALANCING) {
        // An override with the default value is no override, except for the tunable whose default depends on the
        // machine.
        choice.origin = origin.to_string();
    }
    Ok(())
}

fn unknown_tunable(vocabulary: &Vocabulary, s: &Setting) -> SpecError {
    let all = || vocabulary.tunables.iter().map(|t| t.name.as_str());
    let (group, key) = s.name.value.split_once('.').unwrap_or(("", &s.name.value));
    let of_group: Vec<&str> = all().filter_map(|n| n.strip_prefix(group)?.strip_prefix('.')).collect();
    let mut e = s.name.error(format!("unknown tunable `{}`", s.name.value), "a tunable (`numalab show tunables`)");
    // Roles are set without a group.
    let role = || nearest(key, vocabulary.roles.iter().map(|r| r.name)).filter(|_| group.starts_with("role"));
    // The common mistake is a misspelt key of the right group, then a key in another group, then anything near.
    e.nearest = role()
        .or_else(|| nearest(key, of_group.iter().copied()).map(|k| format!("{group}.{k}")))
        .or_else(|| by_kernel_name(vocabulary, &s.name.value))
        .or_else(|| nearest(&s.name.value, all()));
    e
}

/// The tunable that is meant by the kernel's own name (`kernel.numa_balancing_scan_size_mb`, the name of a file) or by
/// a key without its group.
fn by_kernel_name(vocabulary: &Vocabulary, name: &str) -> Option<String> {
    let last = |text: &str| text.rsplit(['.', '/', ' ']).next().unwrap_or_default().to_string();
    let key = last(name);
    // Up to 5.12 the files of debugfs were sysctls with this prefix.
    let short = key.strip_prefix("numa_balancing_").unwrap_or(&key);
    let find = |fits: &dyn Fn(&TunableInfo) -> bool| vocabulary.tunables.iter().find(|t| fits(t));
    find(&|t| t.kernel_name == name)
        .or_else(|| find(&|t| last(&t.name) == key))
        .or_else(|| find(&|t| last(t.kernel_name) == key))
        .or_else(|| find(&|t| last(&t.name) == short))
        .map(|t| t.name.clone())
}

fn apply_override(kernels: &mut [Kernel], vocabulary: &Vocabulary, s: &Setting) -> Result<(), SpecError> {
    kernels.iter_mut().try_for_each(|kernel| set(kernel, vocabulary, s, OVERRIDE))
}

/// Refuses an override that no kernel reads. Kernels that do not read it get a note and stay as they were.
fn withdraw_unread(
    kernels: &mut [Kernel],
    plain: &[Kernel],
    s: &Setting,
    unread: &[Option<String>],
) -> Result<(), SpecError> {
    if let (true, Some(Some(expected))) = (unread.iter().all(Option::is_some), unread.first()) {
        return Err(s.name.error(format!("`{}` has no effect here", s.name.value), expected.clone()));
    }
    for ((kernel, plain), condition) in kernels.iter_mut().zip(plain).zip(unread) {
        let Some(condition) = condition else { continue };
        for (now, before) in kernel.tunables.iter_mut().zip(&plain.tunables) {
            if now.name == s.name.value {
                now.clone_from(before);
            }
        }
        let note = format!("`{}` is left out for kernel {}: it needs {condition}", s.name.value, kernel.name);
        kernel.warnings.push(note);
    }
    Ok(())
}

/// Why the kernel never reads a tunable, in words that complete "expected"; `None` if it does read it.
/// Only conditions on subjects that `which` accepts count.
fn unread(kernel: &Kernel, vocabulary: &Vocabulary, name: &str, which: fn(&str) -> bool) -> Option<String> {
    let conditions = vocabulary.tunable(name).map_or(&[][..], |t| &t.read_when);
    conditions.iter().filter(|c| which(c.subject)).find_map(|c| {
        let is = if c.subject.contains('.') { kernel.tunable(c.subject) } else { kernel.implementation(c.subject) }?;
        let stands_for = releases(vocabulary, c.subject, &c.needs).unwrap_or_default();
        (!c.needs.met_by(is)).then(|| format!("`{}` to be {}{stands_for} (it is {is})", c.subject, c.needs))
    })
}

/// From which releases on a role is as a condition needs it, in words, if every release from some one on has it.
fn releases(vocabulary: &Vocabulary, role: &str, needs: &Needs) -> Option<String> {
    let role = vocabulary.roles.iter().find(|r| r.name == role)?;
    let mut met = role.implementations.iter().filter(|i| needs.met_by(i.name));
    let first = met.next()?.releases.split_whitespace().next()?;
    let goes_on = role.implementations.last().is_some_and(|l| needs.met_by(l.name) && l.releases.ends_with(" on"));
    let release = first.split_once('.').is_some_and(|(major, _)| major.parse::<u32>().is_ok());
    (goes_on && release).then(|| format!(", as Linux has it since {first}"))
}

/// Appends the overrides to the name, so that a report never shows two behaviours under one name.
fn rename(kernel: &mut Kernel) {
    let roles =
        kernel.roles.iter().filter(|r| r.origin == OVERRIDE).map(|r| format!("{}={}", r.role, r.implementation));
    let tunables = kernel.tunables.iter().filter(|t| t.origin == OVERRIDE).map(|t| format!("{}={}", t.name, t.value));
    let parts: Vec<String> = roles.chain(tunables).collect();
    if !parts.is_empty() {
        kernel.name = format!("{}[{}]", kernel.name, parts.join(","));
    }
}
