//! Folders and files that others could have prepared.
#![allow(clippy::unwrap_used)]

use super::*;
use std::fs;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Gives a file to another user; returns whether this user may do so.
fn give_away(path: &Path) -> bool {
    std::os::unix::fs::lchown(path, Some(1), None).is_ok()
}

fn why<T: std::fmt::Debug>(result: Result<T, Refused>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_file_is_replaced_read_and_removed() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("a/b");
    let dir = PrivateDir::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    assert!(dir.is_own() && dir.read("x", 9).unwrap().is_none() && dir.existing("x").unwrap().is_none());
    dir.replace("x", b"123").unwrap();
    dir.replace("x", b"12345").unwrap();
    assert_eq!(fs::metadata(path.join("x")).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(dir.read("x", 5).unwrap().unwrap(), b"12345");
    assert!(why(dir.read("x", 4)).contains("more than 4 bytes"));
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "no partial file is left");
    dir.remove("x").unwrap();
    dir.remove("x").unwrap();
    assert!(!path.join("x").exists());
}

#[test]
fn links_pipes_and_devices_are_refused_at_once() {
    let base = tempfile::tempdir().unwrap();
    let dir = PrivateDir::open(base.path()).unwrap();
    let at = |name: &str| base.path().join(name);
    fs::write(at("precious"), "precious").unwrap();
    symlink(at("precious"), at("link")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let made = rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), OWN_ONLY);
    made.unwrap();
    for (name, expected) in [("link", "symbolic link"), ("folder", "no regular file"), ("pipe", "no regular file")] {
        assert!(why(dir.read(name, 99)).contains(expected), "{name}");
        assert!(why(dir.lock_file(name)).contains(expected), "{name}");
    }
    let devices = PrivateDir::open(Path::new("/dev")).unwrap();
    assert!(why(devices.read("zero", 99)).contains("/dev/zero: is no regular file"));
    // A link that waits under the name of the partial file is removed, not followed.
    symlink(at("precious"), at(&format!("x.{}.partial", std::process::id()))).unwrap();
    dir.replace("x", b"1").unwrap();
    dir.replace("link", b"2").unwrap();
    assert_eq!(fs::read_to_string(at("precious")).unwrap(), "precious");
    assert!(fs::symlink_metadata(at("link")).unwrap().is_file());
}

#[test]
fn folders_that_others_may_change_are_refused() {
    let base = tempfile::tempdir().unwrap();
    let at = |name: &str| base.path().join(name);
    fs::create_dir(at("d")).unwrap();
    for bad in [0o777, 0o770, 0o702] {
        mode(&at("d"), bad);
        assert!(why(PrivateDir::open(&at("d"))).contains("other users may write"), "{bad:o}");
    }
    mode(&at("d"), 0o1777);
    assert!(!PrivateDir::open(&at("d")).unwrap().is_own(), "sticky, as /tmp is");
    mode(&at("d"), 0o755);
    assert!(PrivateDir::open(&at("d")).unwrap().is_own());
    assert!(why(PrivateDir::open(&at("none"))).contains("No such file"));
    fs::write(at("file"), "").unwrap();
    assert!(why(PrivateDir::open(&at("file"))).contains("expected a folder"));
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let at = |name: &str| base.path().join(name);
    fs::create_dir(at("d")).unwrap();
    fs::create_dir(at("theirs")).unwrap();
    fs::write(at("d/x"), "1").unwrap();
    symlink("d", at("link")).unwrap();
    let dir = PrivateDir::open(&at("d")).unwrap();
    if !give_away(&at("theirs")) {
        eprintln!("skipped: only root can give files away");
        return;
    }
    // This user is root here, and so is the owner of the link.
    assert!(PrivateDir::open(&at("link")).is_ok(), "a link of root's is followed");
    assert!(give_away(&at("link")) && give_away(&at("d/x")));
    assert!(why(PrivateDir::open(&at("link"))).contains("is a symbolic link"));
    assert!(why(PrivateDir::open(&at("theirs"))).contains("belongs to user 1; expected user 0"));
    assert!(why(PrivateDir::create(&at("theirs"))).contains("belongs to user 1"));
    assert!(why(dir.read("x", 9)).contains("belongs to user 1"));
    assert!(why(dir.lock_file("x")).contains("belongs to user 1"));
}

#[test]
fn runtime_state_is_in_a_folder_of_this_user_alone() {
    let base = tempfile::tempdir().unwrap();
    let at = |name: &str| base.path().join(name);
    for d in ["xdg", "shared", "run/user/7"] {
        fs::create_dir_all(at(d)).unwrap();
    }
    mode(&at("shared"), 0o1777);
    let env = |service: &'static str, session: PathBuf| {
        move |name: &str| match name {
            "RUNTIME_DIRECTORY" => Some(service.into()),
            "XDG_RUNTIME_DIR" => Some(session.clone().into_os_string()),
            _ => None,
        }
    };
    let run = at("run");
    let place = |service, session: &str, uid| runtime_folder(env(service, at(session)), uid, &run);
    assert_eq!(place("/run/a:/run/b", "xdg", 7), Some("/run/a".into()));
    assert_eq!(place("", "xdg", 0), Some(at("run/numalab")), "sudo keeps the variables of the user");
    assert_eq!(place("", "xdg", 7), Some(at("xdg/numalab")));
    assert_eq!(place("", "shared", 7), Some(at("run/user/7/numalab")), "not in a folder of others");
    assert_eq!(place("relative", "none", 8), None);
    assert_eq!(runtime_folder(|_| None, 7, &run), Some(at("run/user/7/numalab")));
}
