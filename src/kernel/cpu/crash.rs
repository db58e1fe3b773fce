//! Kernels that end their process, or never end: they show that only their own case fails.

/// What thread 3 of every block does in the place of the kernel that is asked for. In the order of
/// `kernels/host/misbehave.cpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Crash {
    /// Writes to an address that nobody owns, near null.
    StoreNearNull = 0,
    /// The same, far from everything.
    StoreFarAway = 1,
    /// Loads four floats at once from an address that is not a multiple of their size. Only x86-64 minds.
    UnalignedLoad = 2,
    Recursion = 3,
    /// Divides an integer by zero. Only x86-64 minds.
    Division = 4,
    /// Executes an instruction that is none.
    Trap = 5,
    Abort = 6,
    /// Frees memory twice, which the C library notices.
    DoubleFree = 7,
    /// Ends the process as if all were well.
    Exit = 8,
    EndlessLoop = 9,
}
