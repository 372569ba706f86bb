//! The TOML form of a catalog kernel.

use super::Setting;
use crate::spec::{Doc, SpecError, Spot, Table};

/// A kernel file as written: what it extends and what it changes.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSpec {
    /// Name.
    pub name: Spot<String>,
    /// Kernel it starts from.
    pub extends: Option<Spot<String>>,
    /// Name of the kernel that this one is an alias of. An alias changes nothing.
    pub alias_of: Option<Spot<String>>,
    /// One line for lists.
    pub title: String,
    /// What distinguishes it, in prose.
    pub about: String,
    /// Release or date it stands for.
    pub since: String,
    /// Kernel image for the `vm` backend.
    pub image: Option<String>,
    /// Roles it fills.
    pub roles: Vec<Setting>,
    /// Tunables it sets, by `group.key`.
    pub tunables: Vec<Setting>,
    /// Roles and tunables that hold for this release alone: the next release starts without them.
    pub only_here: Vec<Setting>,
    /// A row of the table of releases.
    pub release: bool,
    /// What an alias that stands in no file tells its user.
    pub note: Option<String>,
}

/// `image` of a kernel that is a setting of another one: it takes the image of the first kernel that has its own.
pub const SAME_IMAGE: &str = "same";
/// What the name of an image begins with.
pub const IMAGE_KINDS: [&str; 7] = ["debian-", "deb:", "bzImage:", "vmlinux:", "tree:", "source:", "series:"];
/// How images are written, for messages.
pub const IMAGE_FORMS: &str =
    "debian-6.1, debian-6.12, deb:FILE, bzImage:FILE, vmlinux:FILE, tree:DIR, source:6.12+patch:FILE or series:DIR";

/// Checks the kind of an image. The rest of its name is checked when it boots.
fn image(name: Spot<String>) -> Result<String, SpecError> {
    if name.value == SAME_IMAGE || IMAGE_KINDS.iter().any(|kind| name.value.starts_with(kind)) {
        return Ok(name.value);
    }
    let e = name.error(format!("`{}` is no image", name.value), format!("`{SAME_IMAGE}`, {IMAGE_FORMS}"));
    Err(e.near(&name.value, IMAGE_KINDS.into_iter().chain([SAME_IMAGE])))
}

/// Parses a kernel file. Names of roles and tunables are checked later, by [`resolve`](super::resolve).
///
/// Tunables may be written `"group.key" = value` or `group.key = value`. TOML makes a table of the second form, and
/// both mean the same.
///
/// # Errors
/// Syntax, an unknown key, a wrong kind, a tunable set twice, or an alias that also changes something.
pub fn parse(file: &str, text: &str) -> Result<KernelSpec, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let spec = KernelSpec {
        extends: root.opt_str("extends")?,
        alias_of: root.opt_str("alias_of")?,
        roles: roles(&root)?,
        tunables: tunables(&root)?,
        ..describe(&root)?
    };
    root.finish()?;
    if let Some(alias) = &spec.alias_of {
        if spec.extends.is_some() || !spec.roles.is_empty() || !spec.tunables.is_empty() {
            let expected = "an alias without `extends`, `roles` and `tunables`";
            return Err(alias.error(format!("`{}` is an alias and changes something", spec.name.value), expected));
        }
    }
    Ok(spec)
}

/// Reads the keys that describe a kernel and change nothing.
pub(super) fn describe(table: &Table<'_>) -> Result<KernelSpec, SpecError> {
    Ok(KernelSpec {
        name: table.str("name")?,
        extends: None,
        alias_of: None,
        title: table.title()?,
        about: text_or_empty(table, "about")?,
        since: text_or_empty(table, "since")?,
        image: table.opt_str("image")?.map(image).transpose()?,
        roles: Vec::new(),
        tunables: Vec::new(),
        only_here: Vec::new(),
        release: false,
        note: None,
    })
}

fn text_or_empty(root: &Table<'_>, key: &str) -> Result<String, SpecError> {
    Ok(root.opt_str(key)?.map(|s| s.value.trim().to_string()).unwrap_or_default())
}

fn roles(root: &Table<'_>) -> Result<Vec<Setting>, SpecError> {
    let Some(table) = root.opt_table("roles")? else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for name in table.keys() {
        let value = table.str(&name.value)?.value;
        out.push(Setting { name, value });
    }
    Ok(out)
}

fn tunables(root: &Table<'_>) -> Result<Vec<Setting>, SpecError> {
    let Some(table) = root.opt_table("tunables")? else { return Ok(Vec::new()) };
    settings(&table, false)
}

/// Reads a table of tunables in either spelling, and of roles (bare keys) if `roles` allows them.
///
/// # Errors
/// A key that is neither, a wrong kind, or a tunable set twice.
pub fn settings(table: &Table<'_>, roles: bool) -> Result<Vec<Setting>, SpecError> {
    settings_but(table, roles, &[])
}

/// As [`settings`], without the keys in `others`.
pub(crate) fn settings_but(table: &Table<'_>, roles: bool, others: &[&str]) -> Result<Vec<Setting>, SpecError> {
    let mut out: Vec<Setting> = Vec::new();
    for name in table.keys().into_iter().filter(|k| !others.contains(&k.value.as_str())) {
        if name.value.contains('.') {
            push(&mut out, table, name.clone(), &name.value)?;
        } else if let Ok(Some(group)) = table.opt_table(&name.value) {
            for key in group.keys() {
                let full = Spot { value: format!("{}.{}", name.value, key.value), ..key.clone() };
                push(&mut out, &group, full, &key.value)?;
            }
        } else if roles {
            let value = table.str(&name.value)?.value;
            out.push(Setting { name, value });
        } else {
            return Err(name.error(format!("`{}` is not a tunable", name.value), "`group.key`"));
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<Setting>, table: &Table<'_>, name: Spot<String>, key: &str) -> Result<(), SpecError> {
    if out.iter().any(|s| s.name.value == name.value) {
        return Err(name.error(format!("`{}` is set twice", name.value), "one value"));
    }
    let value = table.opt_setting(key)?.ok_or_else(|| table.missing(key, "a value"))?.value;
    out.push(Setting { name, value });
    Ok(())
}
