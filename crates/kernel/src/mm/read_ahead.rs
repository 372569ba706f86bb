//! Reading state ahead of its use, so that the waits for memory overlap.

/// Asks the CPU to bring the cache line of a value near. Nothing else happens, on some CPUs not even that.
#[inline]
pub(in crate::mm) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint. It reads nothing into the program and cannot fault, whatever the address. Every
    // x86_64 has SSE, which the instruction belongs to.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
