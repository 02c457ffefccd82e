//! What to do after a failure: try again, and when; or tell the caller.

use std::time::Duration;

/// What a code of FoundationDB means for the call that got it. The codes are those of its documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Another commit changed what this one has read.
    Conflict,
    /// The transaction ran for longer than the cluster remembers versions: five seconds.
    TooOld,
    /// Not one: what a commit needs was written ahead of it.
    WrittenAhead,
    /// The commit may have happened.
    MaybeCommitted,
    /// The cluster does not answer, or recovers.
    Away,
    /// The commit has more bytes than a transaction may have.
    TooLarge,
    /// Trying again changes nothing.
    Refused,
}

impl Fault {
    /// The meaning of a code, of which FoundationDB's library says whether the call may be tried again.
    pub fn of(code: i32, is_retryable: bool) -> Fault {
        match code {
            // not_committed
            1020 => Fault::Conflict,
            // transaction_too_old
            1007 => Fault::TooOld,
            // commit_unknown_result, transaction_timed_out, cluster_version_changed
            1021 | 1031 | 1039 => Fault::MaybeCommitted,
            // transaction_too_large
            2101 => Fault::TooLarge,
            _ if is_retryable => Fault::Away,
            _ => Fault::Refused,
        }
    }
}

/// Conflicts after which an update claims its rows.
pub const CONFLICTS_BEFORE_CLAIM: u32 = 5;

/// Conflicts after which an update ends with an error: with claims, each is a server that died or hangs.
const CONFLICTS_MAX: u32 = 200;
const TOO_OLD_MAX: u32 = 10;
/// A decision that stays the same is written ahead once, and again if others remove the pieces.
const WRITTEN_AHEAD_MAX: u32 = 10;

const PAUSE_MAX: Duration = Duration::from_millis(50);
const PAUSE_AWAY_FIRST: Duration = Duration::from_millis(10);
const PAUSE_AWAY_MAX: Duration = Duration::from_secs(1);

/// The tries of one call.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    wait: Duration,
    conflicts: u32,
    too_old: u32,
    written_ahead: u32,
    away: u32,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try again after this time.
    Again(Duration),
    GiveUp,
}

impl Tries {
    /// The tries of a call that the cluster may keep waiting for so long.
    pub fn new(wait: Duration) -> Tries {
        Tries { wait, conflicts: 0, too_old: 0, written_ahead: 0, away: 0 }
    }

    /// How many were for conflicts.
    pub fn conflicts(&self) -> u32 {
        self.conflicts
    }

    /// Decides after a failure, so long after the call began. `draw` is a random number.
    pub fn after(&mut self, fault: Fault, elapsed: Duration, draw: u64) -> Next {
        // The time that writing ahead takes says nothing about the cluster.
        let in_time = elapsed < self.wait || fault == Fault::WrittenAhead;
        let (tries, tries_max, pause) = match fault {
            Fault::Conflict => {
                self.conflicts += 1;
                // The first is tried again at once: it sees what the other has committed.
                let pause = Duration::from_millis(u64::from(self.conflicts - 1)).min(PAUSE_MAX);
                (self.conflicts, CONFLICTS_MAX, pause)
            }
            Fault::TooOld => {
                self.too_old += 1;
                (self.too_old, TOO_OLD_MAX, Duration::ZERO)
            }
            Fault::WrittenAhead => {
                self.written_ahead += 1;
                (self.written_ahead, WRITTEN_AHEAD_MAX, Duration::ZERO)
            }
            Fault::Away | Fault::MaybeCommitted => {
                self.away += 1;
                let pause = PAUSE_AWAY_FIRST * (1 << (self.away - 1).min(7));
                (self.away, u32::MAX, pause.min(PAUSE_AWAY_MAX))
            }
            Fault::TooLarge | Fault::Refused => return Next::GiveUp,
        };
        match in_time && tries < tries_max {
            true => Next::Again(pause / 2 + pause.mul_f64(unit(draw) / 2.0)),
            false => Next::GiveUp,
        }
    }
}

/// A number in 0..1.
fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(10);

    #[test]
    fn a_conflict_is_tried_again_at_once_and_later_ones_with_growing_pauses() {
        let mut tries = Tries::new(WAIT);
        let pauses: Vec<Next> =
            (0..60).map(|_| tries.after(Fault::Conflict, Duration::ZERO, u64::MAX)).collect();
        assert_eq!(pauses[0], Next::Again(Duration::ZERO));
        let Next::Again(last) = pauses[59] else { panic!("it is given up after 60 conflicts") };
        assert!(last > PAUSE_MAX / 2 && last <= PAUSE_MAX, "{last:?}");
        assert_eq!(tries.conflicts(), 60);
    }

    #[test]
    fn every_kind_of_try_ends() {
        for fault in [Fault::Conflict, Fault::TooOld, Fault::WrittenAhead] {
            let mut tries = Tries::new(WAIT);
            let again = (0..1000).take_while(|_| tries.after(fault, Duration::ZERO, 7) != Next::GiveUp);
            assert!(again.count() < 300, "{fault:?}");
        }
        for fault in [Fault::Away, Fault::MaybeCommitted] {
            let mut tries = Tries::new(WAIT);
            assert!(matches!(tries.after(fault, WAIT / 2, 7), Next::Again(_)));
            assert_eq!(tries.after(fault, WAIT, 7), Next::GiveUp);
        }
        for fault in [Fault::Refused, Fault::TooLarge] {
            assert_eq!(Tries::new(WAIT).after(fault, Duration::ZERO, 7), Next::GiveUp);
        }
    }

    #[test]
    fn codes_mean_what_the_documentation_says() {
        let of = |code| Fault::of(code, false);
        let found = [1020, 1007, 1021, 1031, 2101, 2000].map(of);
        let (unknown, refused) = (Fault::MaybeCommitted, Fault::Refused);
        assert_eq!(found, [Fault::Conflict, Fault::TooOld, unknown, unknown, Fault::TooLarge, refused]);
        assert_eq!(Fault::of(1037, true), Fault::Away);
    }
}
