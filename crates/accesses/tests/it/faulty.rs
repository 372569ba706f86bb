//! Programs with a planted fault: what their fit says could be done about it.

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
    recorder::record(&dir, &[program], &Settings::default(), &mut |_| Look::GoOn).unwrap();
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
