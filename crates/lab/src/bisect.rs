//! Which commit of a source tree changed something: `git bisect` in a checkout of its own.
//!
//! Problem: a bisection checks out commits and keeps state, and nothing may be written into the user's tree. Approach:
//! a repository beside it borrows the user's objects (`objects/info/alternates`), has its own checkout, and its own
//! log.
//! The checkout stays the same folder, so each commit compiles only what differs from the one before. The log is git's,
//! so a bisection that was stopped goes on where it was.

use crate::failure::at_path;
use crate::image::source::{commit_of, git, output, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is known of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does not have the change.
    Good,
    /// It has the change.
    Bad,
    /// It cannot be judged: it does not build or boot.
    Skip,
}

/// What a bisection needs next, or what came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// This commit is checked out and has to be judged.
    Test {
        /// Hash.
        commit: String,
        /// Commits that may still be the first bad one.
        left: usize,
    },
    /// The first bad commit.
    Found(String),
    /// The first bad commit is one of these, and those between could not be judged.
    Undecided(Vec<String>),
}

/// A bisection.
#[derive(Clone, Debug)]
pub struct Bisection {
    checkout: PathBuf,
}

impl Bisection {
    /// Opens a bisection of the commits of `tree` in the folder `checkout`, which is made if it is not there.
    ///
    /// # Errors
    /// `tree` is no repository, `git` is missing, or the folder cannot be written.
    pub fn open(tree: &Path, checkout: &Path) -> Result<Self, String> {
        let this = Self { checkout: checkout.to_path_buf() };
        // Made last, so that a checkout that was stopped is made again.
        let whole = checkout.join(".git/numalab");
        if whole.is_file() {
            return Ok(this);
        }
        let paths = output(git(tree).args(["rev-parse", "--path-format=absolute", "--git-path", "objects"]))?;
        std::fs::create_dir_all(checkout).map_err(at_path(checkout))?;
        run(Command::new("git").args(["init", "-q"]).arg(checkout))?;
        let info = checkout.join(".git/objects/info");
        std::fs::create_dir_all(&info).map_err(at_path(&info))?;
        let alternates = info.join("alternates");
        std::fs::write(&alternates, paths).map_err(at_path(&alternates))?;
        // In a shallow clone the history ends where this file says.
        let shallow = output(git(tree).args(["rev-parse", "--path-format=absolute", "--git-path", "shallow"]))?;
        if Path::new(shallow.trim()).is_file() {
            let own = checkout.join(".git/shallow");
            std::fs::copy(shallow.trim(), &own).map_err(at_path(&own))?;
        }
        std::fs::write(&whole, "").map_err(at_path(&whole))?;
        Ok(this)
    }

    /// The folder with the commit that is checked out.
    pub fn checkout(&self) -> &Path {
        &self.checkout
    }

    /// Whether commits have been given to `git bisect` already.
    pub fn is_started(&self) -> bool {
        self.checkout.join(".git/BISECT_LOG").is_file()
    }

    /// Checks out a commit, before the bisection starts.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn check_out(&self, commit: &str) -> Result<(), String> {
        run(self.git().args(["checkout", "-q", "--force", "--detach", commit]))
    }

    /// Starts between a good commit and a bad one.
    ///
    /// # Errors
    /// The commits have no common history.
    pub fn start(&self, good: &str, bad: &str) -> Result<Next, String> {
        run(self.git().args(["bisect", "start", bad, good]))?;
        self.next()
    }

    /// Notes what is known of a commit.
    ///
    /// # Errors
    /// The verdict contradicts an earlier one.
    pub fn judge(&self, commit: &str, verdict: Verdict) -> Result<Next, String> {
        let word = match verdict {
            Verdict::Good => "good",
            Verdict::Bad => "bad",
            Verdict::Skip => "skip",
        };
        let done = run(self.git().args(["bisect", word, commit]));
        match (done, self.next()) {
            // git ends with an error if only skipped commits are left, and its log has them.
            (Err(_), Ok(next @ Next::Undecided(_))) => Ok(next),
            (Err(e), _) => Err(e),
            (Ok(()), next) => next,
        }
    }

    /// What the log of the bisection says is next.
    ///
    /// # Errors
    /// There is no log.
    pub fn next(&self) -> Result<Next, String> {
        let log = self.log()?;
        let named = |prefix: &str| -> Vec<String> {
            let rest = log.lines().filter_map(|l| l.strip_prefix(prefix));
            rest.filter_map(|l| Some(l.split_once(']')?.0.to_string())).collect()
        };
        if let Some(found) = named("# first bad commit: [").pop() {
            return Ok(Next::Found(found));
        }
        let possible = named("# possible first bad commit: [");
        if !possible.is_empty() {
            return Ok(Next::Undecided(possible));
        }
        let range = ["rev-list", "--count", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*"];
        let left = output(self.git().args(range))?.trim().parse().unwrap_or_default();
        Ok(Next::Test { commit: commit_of(&self.checkout, "HEAD")?, left })
    }

    /// The log, in the form that `git bisect replay` reads.
    ///
    /// # Errors
    /// There is none.
    pub fn log(&self) -> Result<String, String> {
        output(self.git().args(["bisect", "log"]))
    }

    /// Short hash, date and first line of a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn describe(&self, commit: &str) -> Result<String, String> {
        let form = ["log", "-1", "--date=short", "--format=%h (\"%s\", %an, %ad)", "--abbrev=12", commit];
        Ok(output(self.git().args(form))?.trim().to_string())
    }

    fn git(&self) -> Command {
        let mut command = git(&self.checkout);
        // Hooks of the user are for the user's own checkouts, and the words of git are read here.
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]).env("LC_ALL", "C");
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository of `count` commits, each with its number in a file; returns their hashes.
    fn repository(at: &Path, count: usize) -> Vec<String> {
        std::fs::create_dir_all(at).unwrap();
        run(Command::new("git").args(["init", "-q"]).arg(at)).unwrap();
        let commit = |n: usize| {
            std::fs::write(at.join("number"), n.to_string()).unwrap();
            run(git(at).args(["add", "number"])).unwrap();
            let who = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m"];
            run(git(at).args(who).arg(format!("commit {n}"))).unwrap();
            commit_of(at, "HEAD").unwrap()
        };
        (0..count).map(commit).collect()
    }

    /// The verdict on the commit that is checked out, if those from `first` on are bad and `broken` cannot be judged.
    fn verdict(b: &Bisection, first: usize, broken: &[usize]) -> Verdict {
        let n: usize = std::fs::read_to_string(b.checkout().join("number")).unwrap().parse().unwrap();
        match n {
            _ if broken.contains(&n) => Verdict::Skip,
            _ if n >= first => Verdict::Bad,
            _ => Verdict::Good,
        }
    }

    fn end(b: &Bisection, mut next: Next, first: usize, broken: &[usize]) -> (Next, usize) {
        let mut tested = 0;
        while let Next::Test { commit, left } = next {
            assert!(left > 0);
            tested += 1;
            next = b.judge(&commit, verdict(b, first, broken)).unwrap();
        }
        (next, tested)
    }

    fn snapshot(at: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut out = Vec::new();
        let mut folders = vec![at.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => out.push((path.clone(), std::fs::read(&path).unwrap())),
                }
            }
        }
        out.sort();
        out
    }

    #[test]
    fn the_first_bad_commit_is_found_and_the_tree_stays_as_it_was() {
        if !crate::probe::test_has(&["git"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (tree, checkout) = (directory.path().join("tree"), directory.path().join("checkout"));
        let commits = repository(&tree, 20);
        std::fs::write(tree.join("number"), "an edit of the user").unwrap();
        let before = snapshot(&tree);
        let b = Bisection::open(&tree, &checkout).unwrap();
        assert!(!b.is_started());
        b.check_out(&commits[0]).unwrap();
        let next = b.start(&commits[0], &commits[19]).unwrap();
        let (next, tested) = end(&b, next, 13, &[9, 10]);
        assert_eq!(next, Next::Found(commits[13].clone()));
        assert!(tested <= 7, "{tested} commits");
        assert!(b.describe(&commits[13]).unwrap().contains("commit 13"));
        assert_eq!(snapshot(&tree), before);
        // Asked again, it knows.
        assert_eq!(Bisection::open(&tree, &checkout).unwrap().next().unwrap(), next);
    }

    #[test]
    fn a_bisection_that_was_stopped_goes_on() {
        if !crate::probe::test_has(&["git"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (tree, checkout) = (directory.path().join("tree"), directory.path().join("checkout"));
        let commits = repository(&tree, 16);
        let b = Bisection::open(&tree, &checkout).unwrap();
        b.check_out(&commits[0]).unwrap();
        let Next::Test { commit, .. } = b.start(&commits[0], &commits[15]).unwrap() else { panic!("nothing to do") };
        let after_one = b.judge(&commit, verdict(&b, 3, &[])).unwrap();
        drop(b);
        let b = Bisection::open(&tree, &checkout).unwrap();
        assert!(b.is_started());
        assert_eq!(b.next().unwrap(), after_one);
        assert_eq!(end(&b, after_one, 3, &[]).0, Next::Found(commits[3].clone()));
    }

    #[test]
    fn commits_that_cannot_be_judged_are_named() {
        if !crate::probe::test_has(&["git"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (tree, checkout) = (directory.path().join("tree"), directory.path().join("checkout"));
        let commits = repository(&tree, 5);
        let b = Bisection::open(&tree, &checkout).unwrap();
        b.check_out(&commits[0]).unwrap();
        let next = b.start(&commits[0], &commits[4]).unwrap();
        let (Next::Undecided(possible), _) = end(&b, next, 2, &[1, 2, 3]) else { panic!("decided") };
        assert!(possible.contains(&commits[2]) && possible.contains(&commits[4]), "{possible:?}");
        let e = Bisection::open(&directory.path().join("none"), &directory.path().join("c")).unwrap_err();
        assert!(e.contains("git"), "{e}");
    }
}
