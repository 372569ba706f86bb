//! What backs a mapping.

use crate::mm::object::Backing;

/// What backs a mapping and how it is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmaKind {
    /// Private anonymous.
    PrivateAnon,
    /// A thread stack (private anonymous).
    Stack,
    /// Shared anonymous.
    SharedAnon,
    /// Private mapping of a file that may be written (data segment).
    CowData,
    /// Private read-only mapping of a file.
    FileRead,
    /// Shared writable mapping of a file.
    FileShared,
}

impl VmaKind {
    /// `VM_SHARED`: stores reach the object.
    #[inline]
    pub fn is_shared(self) -> bool {
        matches!(self, Self::SharedAnon | Self::FileShared)
    }
    /// Pages come from a file.
    #[inline]
    pub fn is_file(self) -> bool {
        matches!(self, Self::CowData | Self::FileRead | Self::FileShared)
    }
    /// Stores to clean pages are notified to the file system, so entries of clean pages are write-protected.
    #[inline]
    pub fn notifies_writes(self) -> bool {
        self == Self::FileShared
    }
    /// The object behind it; `None` for memory that starts as the mapping's own.
    pub fn backing(self) -> Option<Backing> {
        match self {
            Self::PrivateAnon | Self::Stack => None,
            Self::SharedAnon => Some(Backing::Shmem),
            Self::CowData | Self::FileRead | Self::FileShared => Some(Backing::File),
        }
    }
}
