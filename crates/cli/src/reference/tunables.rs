//! `docs/reference/tunables.md`: every tunable, from the declarations of the policies that read them.

use super::{fresh, page, prose};
use numalab_kernel::registry::vocabulary;
use numalab_model::kernel::TunableInfo;

const HEAD: &str = "\
A tunable is a value that a kernel has. `--set group.key=value` changes it for a run, and `[tunables]` in a
[kernel file](kernels.md) for a kernel. `numalab show kernel 6.12` prints what a kernel has, and where each value comes
from.

* **Kernel name** is the sysctl, the file in debugfs or sysfs, or the boot option. `model` is a switch of the simulator:
  it turns on or off something that a kernel does without asking.
* **Default** is what a kernel has if no release and no file says otherwise.
* **Read when** names a role or a value without which nothing reads the tunable. Setting it then is an error.
";

fn tunables() -> String {
    let all = vocabulary().tunables;
    let mut out = String::new();
    let mut last = String::new();
    for t in &all {
        let group = t.name.split('.').next().unwrap_or_default();
        if group != last {
            out.push_str(&format!("\n## {group}\n"));
            last = group.to_string();
        }
        out.push_str(&entry(t));
    }
    page("Tunables", HEAD, &out)
}

fn entry(t: &TunableInfo) -> String {
    let unit = if t.unit.is_empty() { String::new() } else { format!(" {}", t.unit) };
    let kernel_name = match t.kernel_name {
        "model" => "model".to_string(),
        name => format!("`{name}`"),
    };
    let mut out = format!(
        "\n### `{}`\n\n{}\n\n* Default: `{}`{unit}; legal: {}\n* Kernel name: {kernel_name}\n",
        t.name,
        prose(t.doc),
        t.default,
        prose(&t.legal),
    );
    // All of them must hold. Each is a line of its own.
    for c in &t.read_when {
        let subject = format!("`{}`", c.subject);
        out.push_str(&format!("* Read when: {subject} is {}\n", prose(&c.needs.to_string())));
    }
    if t.unread {
        out.push_str("* No backend reads it yet; setting it gives a warning.\n");
    }
    out
}

#[test]
fn the_page_of_tunables_is_fresh() {
    let text = tunables();
    assert_eq!(text.matches("\n### ").count(), vocabulary().tunables.len());
    fresh("tunables.md", &text);
}
