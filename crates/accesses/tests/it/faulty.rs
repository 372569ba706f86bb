//! Programs with a planted fault: what their fit says could be done about it.

use crate::known::simulated;
use crate::support::{bench, Bench};
use numalab_accesses::fit::{self, Change, Fit};
use numalab_accesses::record;
use numalab_accesses::recorder::{self, Look, Settings};

/// Threads sweep their quarters of `grid`, which the initial thread has written unless `mended`, and all read `table`.
fn program(mended: bool) -> String {
    let init = if mended { "" } else { "for (long k = 0; k < n; k++) grid[k] = k;" };
    let own = if mended { "for (long k = i * n / 4; k < (i + 1) * n / 4; k++) grid[k] = k;" } else { "" };
    format!(
        "#include <pthread.h>\n#include <sys/mman.h>\nstatic long n = 4 << 20, m = 1 << 20, *grid, *table;\n\
         static void *work(void *x) {{ long i = (long)x, s = 0; unsigned r = i + 1; {own}\n\
         for (int p = 0; p < 4; p++) for (long k = i * n / 4; k < (i + 1) * n / 4; k++) {{ grid[k]++; \
         if (k % 64 == 0) {{ r = r * 1664525 + 1013904223; s += table[r % m]; }} }} return (void *)s; }}\n\
         static void *map(long b) {{ return mmap(0, b, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }}\n\
         int main(void) {{ pthread_t t[4]; grid = map(n * 8); table = map(m * 8); {init}\n\
         for (long k = 0; k < m; k++) table[k] = k;\n\
         for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)i);\n\
         for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0; }}\n"
    )
}

fn fitted(bench: &Bench, name: &str, text: &str) -> Fit {
    let program = bench.program(name, text);
    let dir = bench.path(&format!("rec-{name}"));
    // What can be mended is judged by whole recordings: in stretches a tenth of them have other regions.
    let settings = Settings { stretch_insns: 0, ..Settings::default() };
    recorder::record(&dir, &[program], &settings, &mut |_| Look::GoOn).unwrap();
    fit::fit(&record::read(&dir).unwrap()).unwrap()
}

#[test]
fn a_region_that_the_wrong_thread_touches_first_can_be_mended() {
    let Some(bench) = bench() else { return };
    let faulty = fitted(&bench, "faulty", &program(false));
    let grid = 0;
    assert_eq!(faulty.processes[0].regions.len(), 2, "{}", faulty.to_toml("test"));
    let changed = faulty.changed((0, grid), Change::FirstTouch).unwrap();
    let (before, after) = (faulty.to_toml("test"), changed.to_toml("test"));
    assert!(before.contains("by the initial thread") && before.contains("slice = \"thread\""), "{before}");
    let initial =
        |text: &str| text.split("[[process.phase]]").next().unwrap_or_default().contains("access = \"memory\"");
    assert!(initial(&before) && !initial(&after), "the initial thread leaves it alone: {after}");
    assert!(
        after.contains("count = 1\nsteps = [\n    { access = \"memory\", slice"),
        "its users begin with it: {after}"
    );
    let spread = faulty.changed((0, 1), Change::Interleave).unwrap().to_toml("test");
    assert!(spread.contains("policy = \"spread\"") && spread.contains("mode = \"interleave\""), "{spread}");
    // In the mended program nothing is left to mend, for its threads touch `grid` themselves.
    let mended = fitted(&bench, "mended", &program(true));
    assert_eq!(mended.changed((0, grid), Change::FirstTouch), None, "{}", mended.to_toml("test"));
}

/// Threads read their quarters of a table, and each counts in its own word of `counters`: four words in one line, or,
/// mended, each in a line of its own.
fn counting(mended: bool) -> String {
    let apart = if mended { 8 } else { 1 };
    format!(
        "#include <pthread.h>\n#include <stdlib.h>\nstatic long n = 2 << 20, *table;\n\
         static struct {{ volatile long value[{apart}]; }} counters[4] __attribute__((aligned(64)));\n\
         static void *work(void *x) {{ long i = (long)x;\n\
         for (int p = 0; p < 4; p++) for (long k = i * n / 4; k < (i + 1) * n / 4; k++) \
         if (table[k] != 7) counters[i].value[0]++; return 0; }}\n\
         int main(void) {{ pthread_t t[4]; table = malloc(n * 8); for (long k = 0; k < n; k++) table[k] = k;\n\
         for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)i);\n\
         for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0; }}\n"
    )
}

/// Seconds that a fit takes on a machine of two nodes, its loops a hundred times as long.
fn seconds(fit: &Fit) -> f64 {
    let m = numalab_model::machine::from_shorthand("2x1x2x1").unwrap();
    let params = [("repeat".to_string(), "100".to_string())];
    let spec = numalab_model::workload::parse("test", &fit.to_toml("test")).unwrap();
    let o = simulated(&m, &spec.resolve(&m, 1, &params).unwrap());
    o.scalars.iter().find(|s| s.name == "elapsed_s").unwrap().value
}

#[test]
fn counters_in_one_line_are_found_and_padding_gains() {
    let Some(bench) = bench() else { return };
    let faulty = fitted(&bench, "counting", &counting(false));
    let regions = &faulty.processes[0].regions;
    let at = regions.iter().position(|r| r.lines == Some(1)).unwrap_or_else(|| panic!("{regions:?}"));
    assert_eq!(regions[at].name, "counters_lines", "{regions:?}");
    let text = faulty.to_toml("test");
    assert!(text.contains("access = \"counters_lines\", offset = 0, len = \"64B\", pattern = \"chase\""), "{text}");
    let advice = Change::Pad.advice(&regions[at]);
    assert!(advice.contains("`counters` (a variable of counting)") && advice.contains("aligned(64)"), "{advice}");
    // Nothing else is said of those bytes, and nothing of padding about memory.
    assert_eq!(faulty.changed((0, at), Change::Interleave), None);
    assert_eq!(faulty.changed((0, 0), Change::Pad), None);
    let padded = faulty.changed((0, at), Change::Pad).unwrap();
    assert!(!padded.to_toml("test").contains("counters_lines"), "{}", padded.to_toml("test"));
    // The mended program has no such line, and takes as long as the prediction says.
    let mended = fitted(&bench, "counting-mended", &counting(true));
    assert!(mended.processes[0].regions.iter().all(|r| r.lines.is_none()), "{:?}", mended.processes[0].regions);
    let (before, predicted, after) = (seconds(&faulty), seconds(&padded), seconds(&mended));
    eprintln!("faulty {before}, padded {predicted}, mended {after}");
    assert!(before > 1.5 * predicted, "{before} and {predicted}");
    assert!((predicted / after - 1.0).abs() < 0.1, "predicted {predicted}, mended {after}");
}

/// A word that all threads add to is shared by design: no padding helps it.
#[test]
fn a_word_that_all_write_is_no_false_sharing() {
    let Some(bench) = bench() else { return };
    let text = counting(false).replace("counters[i].value[0]++", "__atomic_fetch_add(&counters[0].value[0], 1, 5)");
    let fit = fitted(&bench, "counted", &text);
    assert!(fit.processes[0].regions.iter().all(|r| r.lines.is_none()), "{:?}", fit.processes[0].regions);
}
