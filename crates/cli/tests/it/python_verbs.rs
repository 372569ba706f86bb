//! Verbs that the Python package carries out.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;

#[test]
fn python_imports_nothing_from_the_current_folder() {
    let lab = Lab::new();
    lab.write("sweep.toml", "machines = [\"2x1x2x1\"]\nkernels = [\"off\"]\nworkloads = [\"numa02\"]\n");
    for name in ["numalab", "json"] {
        lab.write(&format!("{name}/__init__.py"), "open('ran', 'w')\n");
    }
    lab.write("numalab/verbs.py", "open('ran', 'w')\n");
    // Without the package of this machine: what is not found must not be the folder's.
    let ended = lab.shell("env -u PYTHONPATH NUMALAB_PYTHON=python3 numalab sweep sweep.toml --workers 1");
    assert!(!lab.path("ran").exists(), "{ended:?}");
    for line in ["sweep sweep.toml", "tune --machine 2x1x2x1 --workload numa02"] {
        // An interpreter that only notes how it is called: first as a probe, then for the verb.
        lab.write("python.sh", "#!/bin/sh\necho \"$1\" >>calls\n");
        let ended = lab.shell(&format!("chmod +x python.sh && NUMALAB_PYTHON=$PWD/python.sh numalab {line}"));
        assert_eq!(ended.code, 0, "{ended:?}");
        let calls = std::fs::read_to_string(lab.path("calls")).unwrap();
        assert_eq!(calls, "-P\n-P\n", "{line}");
        std::fs::remove_file(lab.path("calls")).unwrap();
    }
}
