//! What backs a mapping.

use crate::mm::object::Backing;

/// What backs a mapping and how it is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmaKind {
    /// Private anonymous memory.
    PrivateAnon,
    /// Stack of a thread: private anonymous memory.
    Stack,
    /// Shared anonymous memory.
    SharedAnon,
    /// Private writable mapping of a file (data segment).
    CowData,
    /// Private read-only mapping of a file.
    FileRead,
    /// Shared writable mapping of a file.
    FileShared,
    /// Private anonymous memory of hugetlb pages (`VM_HUGETLB`).
    Hugetlb,
}

impl VmaKind {
    /// Whether stores reach the object (`VM_SHARED`).
    #[inline]
    pub fn is_shared(self) -> bool {
        matches!(self, Self::SharedAnon | Self::FileShared)
    }
    /// Whether pages come from a file.
    #[inline]
    pub fn is_file(self) -> bool {
        matches!(self, Self::CowData | Self::FileRead | Self::FileShared)
    }
    /// Whether the file system is notified of stores to clean pages, so that their entries are write-protected.
    #[inline]
    pub fn notifies_writes(self) -> bool {
        self == Self::FileShared
    }
    /// Kind of the shared object behind the mapping; `None` for private anonymous memory.
    pub fn backing(self) -> Option<Backing> {
        match self {
            Self::PrivateAnon | Self::Stack | Self::Hugetlb => None,
            Self::SharedAnon => Some(Backing::Shmem),
            Self::CowData | Self::FileRead | Self::FileShared => Some(Backing::File),
        }
    }
}
