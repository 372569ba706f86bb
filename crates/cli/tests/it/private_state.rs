//! The state of `balance` in folders that other users have prepared. As root the tests run the command as `nobody`.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;
use std::fs::{self, Permissions};
use std::os::unix::fs::{chown, symlink, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The user `nobody`, the victim; and another user.
const VICTIM: u32 = 65534;
const OTHER: u32 = 1;

/// A record by which process 1 would be watched, with a thread of it pinned.
const RECORD: &str = r#"{"format":"numalab balance state 1","entries":[{"pid":1,"tid":1,"start":0,"before":[0],"set":[0]}],"damon":[1]}"#;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Exit code, and both outputs.
type Ended = (i32, String);

/// A folder that everybody may enter, with a copy of the command. `None` unless this is root.
struct Shared {
    lab: Lab,
}

impl Shared {
    fn new() -> Option<Self> {
        let lab = Lab::new();
        let probe = lab.path("probe");
        fs::write(&probe, "").unwrap();
        if chown(probe, Some(OTHER), None).is_err() {
            eprintln!("skipped: only root can run the command as another user");
            return None;
        }
        mode(&lab.path("."), 0o755);
        fs::copy(env!("CARGO_BIN_EXE_numalab"), lab.path("numalab")).unwrap();
        mode(&lab.path("numalab"), 0o755);
        Some(Self { lab })
    }

    /// A folder of a user.
    fn folder(&self, name: &str, owner: u32, bits: u32) -> PathBuf {
        let path = self.lab.path(name);
        fs::create_dir_all(&path).unwrap();
        mode(&path, bits);
        chown(&path, Some(owner), Some(owner)).unwrap();
        path
    }

    /// A file of a user.
    fn file(&self, name: &str, owner: u32, text: &str) -> PathBuf {
        let path = self.lab.path(name);
        fs::write(&path, text).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        path
    }

    /// Runs `balance` as the victim; at most ten seconds.
    fn balance(&self, args: &str, session: Option<&Path>) -> Ended {
        let begun = Instant::now();
        let mut command = Command::new("timeout");
        command.arg("20").arg(self.lab.path("numalab")).args(["balance", "--pid", &std::process::id().to_string()]);
        command.args(["--for", "10ms"]).args(args.split_whitespace()).uid(VICTIM).gid(VICTIM).current_dir("/");
        command.env("TMPDIR", self.lab.path("tmp")).env_remove("XDG_RUNTIME_DIR").env_remove("RUNTIME_DIRECTORY");
        command.envs(session.map(|s| ("XDG_RUNTIME_DIR", s)));
        let done = command.output().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10), "{args}: it hangs");
        let text = [done.stdout, done.stderr].concat();
        (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }
}

#[test]
fn a_folder_of_another_user_decides_nothing() {
    let Some(s) = Shared::new() else { return };
    let precious = s.file("precious", VICTIM, "precious");
    s.folder("tmp", 0, 0o1777);
    s.folder(&format!("tmp/numalab-{VICTIM}"), OTHER, 0o777);
    for session in ["session", "other"] {
        s.folder(session, if session == "session" { VICTIM } else { OTHER }, 0o777);
        s.folder(&format!("{session}/numalab"), OTHER, 0o777);
    }
    for trap in [format!("tmp/numalab-{VICTIM}"), "session/numalab".into(), "other/numalab".into()] {
        s.file(&format!("{trap}/balance.json"), OTHER, RECORD);
        mode(&s.file(&format!("{trap}/balance.lock"), OTHER, ""), 0o666);
        symlink(&precious, s.lab.path(&format!("{trap}/balance.partial"))).unwrap();
    }
    for dry in ["--dry-run", ""] {
        for session in [None, Some("session"), Some("other")] {
            let session = session.map(|name| s.lab.path(name));
            let (code, said) = s.balance(dry, session.as_deref());
            assert!(code == 3 && said.contains("--state"), "{dry} {session:?}: {code} {said}");
            assert!(!said.contains("left pinned") && !said.contains("kdamonds"), "{said}");
        }
        let trap = s.lab.path("session/numalab/balance.json");
        let (code, said) = s.balance(&format!("{dry} --state {}", trap.display()), None);
        assert!(code == 3 && said.contains("belongs to user 1; expected user 65534"), "{code} {said}");
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    for trap in [format!("tmp/numalab-{VICTIM}"), "session/numalab".into(), "other/numalab".into()] {
        assert_eq!(fs::read_to_string(s.lab.path(&format!("{trap}/balance.json"))).unwrap(), RECORD);
    }
}

#[test]
fn the_state_of_a_user_is_in_the_folder_of_the_session() {
    let Some(s) = Shared::new() else { return };
    let session = s.folder("session", VICTIM, 0o700);
    let (code, said) = s.balance("--dry-run", Some(&session));
    assert!(code == 0 && fs::read_dir(&session).unwrap().count() == 0, "a dry run makes nothing: {code} {said}");
    let (code, said) = s.balance("", Some(&session));
    // 3: the kernel balances here already.
    assert!(code == 0 || said.contains("kernel.numa_balancing is"), "{code} {said}");
    let folder = session.join("numalab");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o7777, 0o700);
    let lock = fs::metadata(folder.join("balance.json.lock")).unwrap();
    assert_eq!(lock.permissions().mode() & 0o7777, 0o600);
}

#[test]
fn a_state_that_others_could_change_is_refused() {
    let Some(s) = Shared::new() else { return };
    s.folder("tmp", 0, 0o1777);
    s.folder("open", VICTIM, 0o777);
    s.folder("own", VICTIM, 0o700);
    s.file("tmp/theirs.json", OTHER, RECORD);
    s.file("tmp/own.json", VICTIM, "{\"format\":\"numalab balance state 1\",\"entries\":[]}");
    symlink(s.lab.path("tmp/own.json"), s.lab.path("own/link.json")).unwrap();
    let made = Command::new("mkfifo").arg(s.lab.path("own/pipe")).status().unwrap();
    assert!(made.success());
    chown(s.lab.path("own/pipe"), Some(VICTIM), None).unwrap();
    let at = |name: &str| s.lab.path(name).display().to_string();
    for (state, expected) in [
        (at("open/x.json"), "other users may write to this folder"),
        (at("tmp/theirs.json"), "belongs to user 1"),
        (at("own/link.json"), "is a symbolic link"),
        (at("own/pipe"), "is no regular file"),
        ("/dev/zero".into(), "/dev/zero: is no regular file"),
    ] {
        for dry in ["--dry-run", ""] {
            let (code, said) = s.balance(&format!("{dry} --state {state}"), None);
            assert!(code == 3 && said.contains(expected) && said.contains("--state"), "{state}: {code} {said}");
        }
    }
    let (code, said) = s.balance(&format!("--dry-run --state {}", at("tmp/own.json")), None);
    assert_eq!(code, 0, "a file of one's own in a sticky folder: {said}");
}
