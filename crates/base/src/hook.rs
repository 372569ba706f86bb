//! A decision that the caller makes in place of the modelled kernel.
//!
//! Settings are small values that are copied and compared. A [`Hook`] lets such a value hold an object of the caller:
//! it is copied as a reference, and two hooks are equal if they are the same object.

use std::fmt;

/// A reference to an object that answers a question; it lives as long as the program.
pub struct Hook<T: ?Sized + 'static>(pub &'static T);

impl<T: ?Sized> Clone for Hook<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Hook<T> {}

impl<T: ?Sized> PartialEq for Hook<T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.0, other.0)
    }
}

impl<T: ?Sized> Eq for Hook<T> {}

impl<T: ?Sized> fmt::Debug for Hook<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_equals_itself_alone() {
        static A: u8 = 1;
        static B: u8 = 1;
        let (a, b) = (Hook(&A), Hook(&B));
        let copy = a;
        assert!(copy == a && a != b);
        assert_eq!(format!("{a:?}"), "Hook");
    }
}
