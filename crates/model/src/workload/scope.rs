//! Names that an expression can use.
//!
//! Problem: a step sees the names of its file, process and thread, and those of the steps around it. With a list for
//! each step, or a search through one for each expression, reading a file took time that grew with the square of its
//! names.
//! Approach: a scope is a frame of its own names inside another scope, and is found by name.

use std::collections::HashSet;
use std::rc::Rc;

/// Names of a place in the file, and of all that is around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope(Rc<Frame>);

#[derive(Clone, Debug, Default)]
struct Frame {
    /// Own names in the order of their declaration, for messages.
    listed: Vec<Rc<str>>,
    own: HashSet<Rc<str>>,
    outer: Option<Scope>,
}

impl Scope {
    /// A scope inside this one, with further names.
    pub fn with(&self, names: &[&str]) -> Self {
        let mut out = Self(Rc::new(Frame { outer: Some(self.clone()), ..Frame::default() }));
        names.iter().for_each(|n| out.add(n));
        out
    }
    /// Adds a name. Scopes inside of this one that exist already do not see it.
    pub fn add(&mut self, name: &str) {
        let frame = Rc::make_mut(&mut self.0);
        let name: Rc<str> = name.into();
        frame.own.insert(name.clone());
        frame.listed.push(name);
    }
    /// Whether the name can be used.
    pub fn contains(&self, name: &str) -> bool {
        self.0.own.contains(name) || self.0.outer.as_ref().is_some_and(|o| o.contains(name))
    }
    /// All names, those of the outermost scope first.
    pub fn names(&self) -> Vec<&str> {
        let mut out = self.0.outer.as_ref().map_or_else(Vec::new, Self::names);
        out.extend(self.0.listed.iter().map(|n| &**n));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_scope_sees_what_is_around_it() {
        let mut file = Scope::default();
        file.add("cpus");
        let process = file.with(&["process"]);
        file.add("late");
        assert_eq!(process.names(), ["cpus", "process"]);
        assert!(process.contains("cpus") && !process.contains("late") && file.contains("late"));
        assert!(!file.contains("process"));
    }
}
