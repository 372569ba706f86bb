//! The line at the head of a page that names the workloads and their parameters.
//!
//! A workload whose parameters differ between machines or kernels is named once for each set of values, with the
//! machines or kernels that had them.

use numalab_model::plan::Plan;
use numalab_report::order::unique;

/// A workload with one set of values, and the machines and kernels that ran it so.
struct Variant<'a> {
    name: &'a str,
    params: &'a [(String, String)],
    machines: Vec<&'a str>,
    kernels: Vec<&'a str>,
}

/// The line, such as `numa02 (loops = 3) with off, numa02 (loops = 9) with 6.12`.
pub fn workload_line(plans: &[&Plan]) -> String {
    let all = variants(plans);
    all.iter().map(|p| describe(p, &all)).collect::<Vec<_>>().join(", ")
}

/// The variants of all plans, in the order of the plans.
fn variants<'a>(plans: &[&'a Plan]) -> Vec<Variant<'a>> {
    let mut out: Vec<Variant<'a>> = Vec::new();
    for p in plans {
        let (name, params) = (p.workload.name.as_str(), p.workload.params.as_slice());
        let at = out.iter().position(|o| (o.name, o.params) == (name, params)).unwrap_or_else(|| {
            out.push(Variant { name, params, machines: Vec::new(), kernels: Vec::new() });
            out.len() - 1
        });
        let own = &mut out[at];
        add(&mut own.machines, &p.machine.name);
        add(&mut own.kernels, &p.kernel.name);
    }
    out
}

fn add<'a>(list: &mut Vec<&'a str>, name: &'a str) {
    if !list.contains(&name) {
        list.push(name);
    }
}

/// One variant. Machines and kernels are named only if another variant of the workload has others.
fn describe(p: &Variant<'_>, all: &[Variant<'_>]) -> String {
    let twins = || all.iter().filter(|o| o.name == p.name);
    let place = |lead: &str, of: &dyn Fn(&Variant<'_>) -> String| {
        if unique(twins().map(of)).len() > 1 {
            format!(" {lead} {}", of(p))
        } else {
            String::new()
        }
    };
    let on = place("on", &|o| o.machines.join(", "));
    let with = place("with", &|o| o.kernels.join(", "));
    let values: Vec<String> = p.params.iter().map(|(n, v)| format!("{n} = {}", value(v))).collect();
    let values = if values.is_empty() { "no parameters".to_string() } else { values.join(", ") };
    format!("{} ({values}){on}{with}", p.name)
}

/// Longest text of a value that is shown unchanged, in bytes.
const SHORT: usize = 8;

/// A value for people. A long number that was computed, such as `82463372083.2B`, is rounded to four digits in a
/// suitable unit.
fn value(text: &str) -> String {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (Ok(x), true) = (number.parse::<f64>(), text.len() > SHORT) else { return text.to_string() };
    let scales: &[(f64, &str)] = match unit {
        "B" => &[(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")],
        "ns" => &[(1e9, "s"), (1e6, "ms"), (1e3, "us")],
        "" if x.fract() != 0.0 => &[],
        _ => return text.to_string(),
    };
    let (one, unit) = scales.iter().find(|(one, _)| x.abs() >= *one).copied().unwrap_or((1.0, unit));
    format!("{} {unit}", numalab_report::format::readable(x / one)).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_values_are_rounded_and_others_stay() {
        let got = ["82463372083.2B", "800MiB", "400", "123456789", "333333333.25ns", "0.8333333333333334", "first"];
        let want = ["76.80 GiB", "800MiB", "400", "123456789", "333.3 ms", "0.8333", "first"];
        assert_eq!(got.map(value), want);
    }
}
