//! Time and chance, handed in: the engine reads no clock and no random source of its own, so a run
//! can be replayed from its seed.

/// Where the engine gets the time and its random numbers from.
pub trait Environment: Send + Sync {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
    /// The next random number.
    fn random(&self) -> u128;
}
