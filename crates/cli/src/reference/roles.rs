//! `docs/reference/roles.md`: every role with what can fill it, from the lists beside the variants.

use super::{fresh, page, prose};
use numalab_kernel::registry::vocabulary;
use numalab_model::catalog::Catalog;
use std::collections::BTreeMap;

const HEAD: &str = "\
A role is a decision that kernels have made in different ways. Each way has a word. `--set role=word` chooses another for a
run, and `[roles]` in a [kernel file](kernels.md) for a kernel. Words that begin with `v` name the release that brought
the rule: `v317` is 3.17.

`numalab kernel diff A B` prints where two kernels decide differently. The rules that take a table to tell are in
[rules in detail](../explanation/roles.md).
";

/// The kernels of the catalog that have each implementation, in the catalog's order.
fn kernels() -> BTreeMap<(String, String), Vec<String>> {
    let catalog = Catalog::embedded();
    let mut out: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for name in catalog.names(numalab_model::catalog::Kind::Kernel) {
        let kernel = numalab_model::catalog::built_in_kernel(name, &numalab_kernel::registry::vocabulary()).unwrap();
        for r in &kernel.roles {
            out.entry((r.role.clone(), r.implementation.clone())).or_default().push(name.to_string());
        }
    }
    out
}

fn roles() -> String {
    let kernels = kernels();
    let mut out = String::new();
    for role in vocabulary().roles {
        out.push_str(&format!(
            "\n## {}\n\n{}\n\n| word | what it does | kernels of the catalog |\n|---|---|---|\n",
            role.name,
            prose(role.doc)
        ));
        for i in &role.implementations {
            let of = kernels.get(&(role.name.to_string(), i.name.to_string()));
            let of = of.map(|k| ends(k)).unwrap_or_else(|| "none".into());
            out.push_str(&format!("| `{}` | {} | {of} |\n", i.name, prose(&i.text())));
        }
    }
    page("Roles", HEAD, &out)
}

/// The names, or of many the first three and how many more there are.
fn ends(names: &[String]) -> String {
    let quoted = |names: &[String]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    match names.len() {
        ..=4 => quoted(names),
        n => format!("{} and {} more", quoted(&names[..3]), n - 3),
    }
}

#[test]
fn the_page_of_roles_is_fresh() {
    let text = roles();
    assert_eq!(text.matches("\n## ").count(), vocabulary().roles.len());
    fresh("roles.md", &text);
}
