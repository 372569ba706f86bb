//! Names that a workload file declares, and readers for names, words and expressions in its tables.

use super::ast::{Family, List, ListItem, ParamSpec, PolicySpec, Ref, ScoreSpec};
use super::names::{self, PROCESS, PROCESSES, SEED, THREAD, THREADS, VARIABLES};
use super::scope::Scope;
use crate::access::PatternList;
use crate::expr::{shift, Formula};
use crate::spec::{SpecError, Spot, Table};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Letters of the names of workloads and of what they declare, for messages.
pub(super) const NAME: &str = "letters, digits, `_`, `-` and `.`";

/// Whether a name can have this byte.
pub(super) fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-.".contains(&b)
}

/// Kinds of things that are declared once and used by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Policy,
    Barrier,
    Channel,
    Score,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Policy => "policy",
            Kind::Barrier => "barrier",
            Kind::Channel => "channel",
            Kind::Score => "score",
        }
    }
}

/// What the file has declared so far, and which of the declared names are used.
#[derive(Default)]
pub(super) struct Context {
    /// Access patterns that steps may name.
    pub patterns: &'static PatternList,
    /// Names that every expression can use: the machine's variables, the seed, and the parameters declared so far.
    global: Scope,
    pub policies: Vec<PolicySpec>,
    pub barriers: Vec<Family>,
    pub channels: Vec<Family>,
    pub scores: Vec<ScoreSpec>,
    used: RefCell<BTreeSet<(Kind, usize)>>,
    used_params: RefCell<BTreeSet<String>>,
    /// Whether anything read since it was cleared depends on the number of the thread.
    pub per_thread: Cell<bool>,
}

impl Context {
    /// Nothing declared yet; steps can name `patterns`.
    pub fn new(patterns: &'static PatternList) -> Self {
        let mut global = Scope::default();
        VARIABLES.iter().map(|v| v.name).chain([SEED]).for_each(|name| global.add(name));
        Self { patterns, global, ..Self::default() }
    }
    /// Names that every expression can use.
    pub fn global(&self) -> Scope {
        self.global.clone()
    }
    /// Makes a parameter known to all expressions behind it.
    pub fn add_param(&mut self, name: &str) {
        self.global.add(name);
    }
    /// [`Context::global`] and the names of an instance of a process.
    pub fn process_scope(&self) -> Scope {
        self.global.with(&[PROCESS, PROCESSES])
    }
    /// [`Context::process_scope`] and the names of a thread.
    pub fn thread_scope(&self) -> Scope {
        self.process_scope().with(&[THREAD, THREADS])
    }
    /// Parses an expression that may use the names of `scope`.
    pub fn formula(&self, key: &str, text: Spot<String>, scope: &Scope) -> Result<Formula, SpecError> {
        let formula = Formula::parse(key, text)?;
        formula.check(|name| scope.contains(name), || scope.names())?;
        self.used_params.borrow_mut().extend(formula.names().map(str::to_string));
        self.per_thread.set(self.per_thread.get() || formula.uses(THREAD));
        Ok(formula)
    }
    /// The expression under `key`, if present.
    pub fn opt_formula(&self, t: &Table, key: &str, scope: &Scope) -> Result<Option<Formula>, SpecError> {
        t.opt_formula(key)?.map(|text| self.formula(key, text, scope)).transpose()
    }
    /// The expression under `key`, if present; true and false are allowed.
    pub fn opt_condition(&self, t: &Table, key: &str, scope: &Scope) -> Result<Option<Formula>, SpecError> {
        t.opt_condition(key)?.map(|text| self.formula(key, text, scope)).transpose()
    }
    /// The expression under `key`, which must be present.
    pub fn need_formula(&self, t: &Table, key: &str, scope: &Scope) -> Result<Formula, SpecError> {
        self.opt_formula(t, key, scope)?.ok_or_else(|| t.missing(key, "a number or an expression"))
    }
    /// The list of numbers and ranges under `key`, if present.
    pub fn opt_list(&self, t: &Table, key: &str, scope: &Scope) -> Result<Option<List>, SpecError> {
        let Some(texts) = t.opt_formulas(key)? else { return Ok(None) };
        let Some(spot) = texts.first().cloned() else { return Ok(None) };
        let items = texts.into_iter().map(|text| self.list_item(key, text, scope)).collect::<Result<_, _>>()?;
        Ok(Some(List { items, spot }))
    }
    /// `expr`, `from..to` or `from..to by step`.
    fn list_item(&self, key: &str, text: Spot<String>, scope: &Scope) -> Result<ListItem, SpecError> {
        let Some(dots) = text.value.find("..") else {
            return Ok(ListItem::One(self.formula(key, text, scope)?));
        };
        let after = shift(&text, dots + 2);
        let (to, by) = match after.value.find(" by ") {
            None => (after, None),
            Some(at) => (after.clone().map(|s| s[..at].to_string()), Some(shift(&after, at + 4))),
        };
        Ok(ListItem::Range {
            from: self.formula(key, text.map(|s| s[..dots].to_string()), scope)?,
            to: self.formula(key, to, scope)?,
            by: by.map(|b| self.formula(&format!("{key} ... by"), b, scope)).transpose()?,
        })
    }
    /// The policy named under `key`, if present.
    pub fn opt_policy(&self, t: &Table, key: &str) -> Result<Option<usize>, SpecError> {
        let Some(text) = t.opt_text(key)? else { return Ok(None) };
        let names: Vec<&str> = self.policies.iter().map(|p| p.name.value.as_str()).collect();
        let index = find("policy", &text, &text.value, &names)?;
        self.used.borrow_mut().insert((Kind::Policy, index));
        self.per_thread.set(self.per_thread.get() || self.policies[index].per_thread);
        Ok(Some(index))
    }
    /// The barrier, channel or score that `text` names: `name` or `name[expression]`.
    pub fn reference(&self, kind: Kind, text: Spot<String>, scope: &Scope) -> Result<Ref, SpecError> {
        let all: Vec<&Family> = match kind {
            Kind::Barrier => self.barriers.iter().collect(),
            Kind::Channel => self.channels.iter().collect(),
            Kind::Score | Kind::Policy => self.scores.iter().map(|s| &s.family).collect(),
        };
        let (index, at) = self.member(kind.word(), &text, &all, scope)?;
        if kind == Kind::Score {
            self.refuse_latency(index, &text)?;
        }
        self.used.borrow_mut().insert((kind, index));
        Ok(Ref { index, at, spot: text })
    }
    /// The score whose clock a step starts and stops. A clock alone counts nothing, so the score is not used by it.
    pub fn clock(&self, text: Spot<String>, scope: &Scope) -> Result<Ref, SpecError> {
        let all: Vec<&Family> = self.scores.iter().map(|s| &s.family).collect();
        let (index, at) = self.member(Kind::Score.word(), &text, &all, scope)?;
        self.refuse_latency(index, &text)?;
        Ok(Ref { index, at, spot: text })
    }
    /// The latency of which a step is a request.
    pub fn request(&self, text: Spot<String>, scope: &Scope) -> Result<Ref, SpecError> {
        let all: Vec<&Family> = self.scores.iter().map(|s| &s.family).collect();
        let (index, at) = self.member(Kind::Score.word(), &text, &all, scope)?;
        if !self.scores[index].latency {
            let what = format!("the score `{}` is no latency", all[index].name.value);
            return Err(text.error(what, "a score with `latency = true`"));
        }
        self.used.borrow_mut().insert((Kind::Score, index));
        Ok(Ref { index, at, spot: text })
    }
    /// Refuses to count to a latency, whose figures come from its requests alone.
    fn refuse_latency(&self, score: usize, at: &Spot<String>) -> Result<(), SpecError> {
        let score = &self.scores[score];
        if !score.latency {
            return Ok(());
        }
        let what = format!("the score `{}` is a latency, to which nothing is counted", score.family.name.value);
        Err(at.error(what, "`request`, or a score without `latency`"))
    }
    /// Splits `name[expression]` and looks the name up among `all`.
    pub fn member(
        &self,
        word: &str,
        text: &Spot<String>,
        all: &[&Family],
        scope: &Scope,
    ) -> Result<(usize, Option<Formula>), SpecError> {
        let names: Vec<&str> = all.iter().map(|f| f.name.value.as_str()).collect();
        let open = text.value.find('[');
        let name = text.value[..open.unwrap_or(text.value.len())].trim_end();
        let index = find(word, text, name, &names)?;
        match (open, all[index].over.is_some()) {
            (None, false) => Ok((index, None)),
            (None, true) => Err(text.error(format!("`{name}` is a list"), format!("`{name}[number]`"))),
            (Some(_), false) => Err(text.error(format!("`{name}` is not a list"), format!("`{name}` alone"))),
            (Some(open), true) => {
                let inside = shift(text, open + 1);
                let Some(inner) = inside.value.trim_end().strip_suffix(']').map(str::to_string) else {
                    return Err(
                        text.error(format!("`{}` does not end in `]`", text.value), format!("`{name}[number]`"))
                    );
                };
                Ok((index, Some(self.formula(word, inside.map(|_| inner), scope)?)))
            }
        }
    }
    /// Refuses a declared name that nothing uses.
    pub fn refuse_unused(&self, params: &[ParamSpec]) -> Result<(), SpecError> {
        let used = self.used_params.borrow();
        if let Some(p) = params.iter().find(|p| !used.contains(&p.name)) {
            let what = format!("parameter `{}` is used by nothing", p.name);
            return Err(p.default.spot().error(what, "an expression that uses it, or no such parameter"));
        }
        let declared = [
            (Kind::Policy, self.policies.iter().map(|p| &p.name).collect::<Vec<_>>()),
            (Kind::Barrier, self.barriers.iter().map(|f| &f.name).collect()),
            (Kind::Channel, self.channels.iter().map(|f| &f.name).collect()),
            (Kind::Score, self.scores.iter().map(|s| &s.family.name).collect()),
        ];
        for (kind, names) in declared {
            for (index, name) in names.into_iter().enumerate() {
                if !self.used.borrow().contains(&(kind, index)) {
                    let what = format!("{} `{}` is used by nothing", kind.word(), name.value);
                    return Err(name.error(what, "a step or region that names it"));
                }
            }
        }
        Ok(())
    }
}

/// Index of `name` among `names`, or an error at `at` with the nearest of them.
pub(super) fn find(word: &str, at: &Spot<String>, name: &str, names: &[&str]) -> Result<usize, SpecError> {
    names.iter().position(|n| *n == name).ok_or_else(|| {
        let expected =
            if names.is_empty() { format!("a {word} declared above") } else { format!("one of {}", names.join(", ")) };
        at.error(format!("unknown {word} `{name}`"), expected).near(name, names.iter().copied())
    })
}

/// The value of the word under `key`, if present; it must be one of `words`.
pub(super) fn word<T: Copy>(t: &Table, key: &str, words: &[(&str, T)]) -> Result<Option<T>, SpecError> {
    let Some(text) = t.opt_text(key)? else { return Ok(None) };
    let names: Vec<&str> = words.iter().map(|(w, _)| *w).collect();
    match words.iter().find(|(w, _)| *w == text.value) {
        Some((_, value)) => Ok(Some(*value)),
        None => {
            let e = text.error(format!("`{key}` is `{}`", text.value), format!("one of {}", names.join(", ")));
            Err(e.near(&text.value, names))
        }
    }
}

/// The name that a table declares; it must differ from those `before` it.
pub(super) fn declared<'a>(
    t: &Table,
    what: &str,
    before: impl IntoIterator<Item = &'a Spot<String>>,
) -> Result<Spot<String>, SpecError> {
    let name = t.opt_text("name")?.ok_or_else(|| t.missing("name", "a string"))?;
    if name.value.is_empty() || !name.value.bytes().all(is_name_byte) {
        return Err(name.error(format!("the {what} is named `{}`", name.value), NAME));
    }
    if let Some(first) = before.into_iter().find(|b| b.value == name.value) {
        let what = format!("a second {what} is named `{}` (the first is on line {})", name.value, first.line);
        return Err(name.error(what, "another name"));
    }
    Ok(name)
}

/// Checks a new name for expressions (of a parameter, `for` or `let`): it must be usable and not taken.
pub(super) fn new_name(name: &Spot<String>, taken: &Scope) -> Result<(), SpecError> {
    let text = &name.value;
    if !names::is_identifier(text) {
        return Err(name.error(format!("`{text}` cannot be used in expressions"), "letters, digits and `_`"));
    }
    if names::is_reserved(text) {
        return Err(name.error(format!("`{text}` is a variable of the machine or the run"), "another name"));
    }
    if taken.contains(text) {
        return Err(name.error(format!("`{text}` has a meaning here already"), "another name"));
    }
    Ok(())
}
