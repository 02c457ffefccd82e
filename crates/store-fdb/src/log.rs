//! Positions of records, without a place that all writers change.
//!
//! On PostgreSQL an append locks the row that holds the end of its log. An optimistic store has no such queue: writers
//! that read and replace one key make each other's commits fail, and the rate falls to a commit for each round trip.
//! So here an append changes nothing that another append reads, and it is the reader of a log who sees to it that
//! nothing appears behind it:
//!
//! - An append looks at the last record of the log, without a conflict. Its time is the caller's, or just after that
//!   record ([`Ends::commit_time_us`]). So what was acknowledged before an append began is before it in the log,
//!   whatever the clocks say. Only commits that overlap may have positions in another order than that of their commits.
//! - Before a reader is given records up to a position, it *closes* the log through that position: the floor of the
//!   log is raised in a commit that conflicts with exactly those appends under way that are at or below it. They try
//!   again, see the floor and come after it. Appends under way that are later go on. What the reader reads after that
//!   is complete. Nothing has to be closed when nothing was appended since.
//! - Two appends that overlap and have the same time in a log conflict. Those of one server don't come to that:
//!   [`UnderWay`] gives each a time of its own.
//!
//! A log that is not read costs no conflict at all. One that is tailed costs a commit for each look that finds
//! something, and only an append that overlaps that commit and is older than what it closes is made again.

use std::collections::{BTreeSet, HashMap};

use store::{Log, LogPosition};

/// Conflicts of an append after which its time moves ahead of the clock.
const CONFLICTS_BEFORE_LEAD: u32 = 2;
/// How far ahead, for each conflict more: several times what a commit takes.
const LEAD_US: u64 = 20_000;
const LEADS_MAX: u32 = 16;

/// Where a log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The last record that is there.
    pub last: LogPosition,
    /// What was closed, raised, trimmed or carried here.
    pub floor: LogPosition,
}

impl Ends {
    /// The end that the contract speaks of.
    pub fn end(self) -> LogPosition {
        self.last.max(self.floor)
    }

    /// Through where the log has to be closed before it can be read to its end.
    pub fn to_close(self) -> Option<LogPosition> {
        (self.last > self.floor).then_some(self.last)
    }
}

/// The floor that a stored value says. None is before all records.
pub fn decode_floor(value: Option<&[u8]>) -> Option<LogPosition> {
    match value {
        None => Some(LogPosition(0)),
        Some(bytes) => bytes.try_into().ok().map(|bytes| LogPosition(u64::from_be_bytes(bytes))),
    }
}

/// How far the time of an append moves ahead of the clock and of the ends of its logs. A server whose clock lags behind one that writes as much,
/// while a reader closes again and again, could otherwise always be behind the floor.
pub fn lead_us(conflicts: u32) -> u64 {
    LEAD_US * u64::from(conflicts.saturating_sub(CONFLICTS_BEFORE_LEAD).min(LEADS_MAX))
}

/// The times of this server's appends that have not ended.
#[derive(Debug, Default)]
pub struct UnderWay(HashMap<Log, BTreeSet<u64>>);

impl UnderWay {
    /// A time for a commit that appends to these logs, which end there: later than all of them, and than other
    /// appends of this server to the same logs that are under way. The lead comes on top of that: a server that lags behind
    /// the end of a log has to get ahead of that end.
    pub fn begin(&mut self, now_us: u64, lead_us: u64, logs: &[(Log, Ends)]) -> u64 {
        let times = logs.iter().filter_map(|(log, _)| self.0.get(log)?.last());
        let after_own = times.map(|time_us| time_us + 1).max().unwrap_or(0);
        let ends = logs.iter().map(|(_, ends)| ends.end());
        let time_us = LogPosition::commit_time_us(now_us.max(after_own), ends) + lead_us;
        for (log, _) in logs {
            self.0.entry(*log).or_default().insert(time_us);
        }
        time_us
    }

    /// The commit at this time has ended.
    pub fn end(&mut self, time_us: u64, logs: impl Iterator<Item = Log>) {
        for log in logs {
            if let Some(times) = self.0.get_mut(&log) {
                times.remove(&time_us);
                if times.is_empty() {
                    self.0.remove(&log);
                }
            }
        }
    }

    /// Whether no append is under way.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_time_is_that_of_the_clock_or_just_after_what_is_there() {
        let at = |last: u64, floor: u64| Ends {
            last: LogPosition::new(last, 3),
            floor: LogPosition::through(floor),
        };
        let check = |now_us, logs: &[Ends], expected| {
            let logs: Vec<(Log, Ends)> = (0..).map(Log).zip(logs.iter().copied()).collect();
            assert_eq!(UnderWay::default().begin(now_us, 0, &logs), expected, "{logs:?}");
        };
        check(100, &[], 100);
        check(100, &[Ends::default()], 100);
        check(0, &[Ends::default()], 1);
        check(100, &[at(99, 7)], 100);
        check(100, &[at(100, 7)], 101);
        check(100, &[at(7, 100)], 101);
        check(100, &[at(7, 100), at(250, 0), Ends::default()], 251);
    }

    #[test]
    fn only_what_is_above_the_floor_is_closed() {
        let ends = |last, floor| Ends { last: LogPosition(last), floor: LogPosition(floor) };
        assert_eq!(ends(5, 4).to_close(), Some(LogPosition(5)));
        assert_eq!(ends(5, 5).to_close(), None);
        assert_eq!(ends(0, 0).to_close(), None);
        assert_eq!(ends(5, 9).end(), LogPosition(9));
    }

    #[test]
    fn appends_of_one_server_have_times_of_their_own_until_they_end() {
        let mut under_way = UnderWay::default();
        let log = |number| (Log(number), Ends::default());
        assert_eq!(under_way.begin(10, 0, &[log(1)]), 10);
        assert_eq!(under_way.begin(10, 0, &[log(2)]), 10, "another log");
        assert_eq!(under_way.begin(10, 0, &[log(1), log(2)]), 11);
        assert_eq!(under_way.begin(5, 0, &[log(2), log(3)]), 12);
        under_way.end(11, [Log(1), Log(2)].into_iter());
        under_way.end(12, [Log(2), Log(3)].into_iter());
        assert_eq!(under_way.begin(3, 0, &[log(3)]), 3);
        under_way.end(10, [Log(1)].into_iter());
        under_way.end(10, [Log(2)].into_iter());
        under_way.end(3, [Log(3)].into_iter());
        assert!(under_way.is_empty());
    }

    #[test]
    fn an_append_that_is_refused_again_and_again_moves_ahead_but_not_without_bound() {
        let leads: Vec<u64> = [0, 2, 3, 5, 1_000_000].map(lead_us).to_vec();
        assert_eq!(leads, [0, 0, 20_000, 60_000, 320_000]);
    }

    /// What FoundationDB does with these conflicts, in a few lines: versions, read versions, and commits that fail if
    /// what they read was written since.
    #[derive(Default)]
    struct Model {
        version: u64,
        /// Records with the version of their commit.
        records: BTreeMap<LogPosition, u64>,
        floor: LogPosition,
        closings: Vec<(u64, LogPosition)>,
    }

    struct Append {
        read_version: u64,
        time_us: u64,
    }

    impl Model {
        fn ends(&self) -> Ends {
            Ends { last: self.records.keys().last().copied().unwrap_or_default(), floor: self.floor }
        }

        fn begin(&self, now_us: u64, lead_us: u64) -> Append {
            let time_us = UnderWay::default().begin(now_us, lead_us, &[(Log(1), self.ends())]);
            Append { read_version: self.version, time_us }
        }

        fn commit(&mut self, append: &Append) -> bool {
            let from = LogPosition::new(append.time_us, 0);
            let is_closed =
                |(version, through): &(u64, LogPosition)| *version > append.read_version && *through >= from;
            let same_time = self.records.range(from..=LogPosition::through(append.time_us));
            let is_taken = { same_time }.any(|(_, version)| *version > append.read_version);
            if self.closings.iter().any(is_closed) || is_taken {
                return false;
            }
            self.version += 1;
            assert!(self.records.insert(from, self.version).is_none(), "a record is overwritten");
            true
        }

        fn close(&mut self, through: LogPosition) {
            self.version += 1;
            self.floor = self.floor.max(through);
            self.closings.push((self.version, through));
        }
    }

    #[test]
    fn a_reader_that_closes_what_it_reads_misses_nothing_whatever_the_clocks_say() {
        for seed in 0..300 {
            let mut chance = fastrand::Rng::with_seed(seed);
            let (mut model, mut under_way) = (Model::default(), Vec::<Append>::new());
            let (mut seen, mut refused) = (Vec::new(), 0);
            for step in 0..200 {
                match chance.u32(..5) {
                    0 | 1 => under_way.push(model.begin(step + chance.u64(..40), 0)),
                    2 | 3 if !under_way.is_empty() => {
                        let append = under_way.swap_remove(chance.usize(..under_way.len()));
                        if !model.commit(&append) {
                            refused += 1;
                            under_way.push(model.begin(step, 0));
                        }
                    }
                    _ => {
                        let ends = model.ends();
                        // Appends may commit between the look and the closing.
                        if let Some(append) = under_way.pop()
                            && !model.commit(&append)
                        {
                            refused += 1;
                        }
                        if let Some(through) = ends.to_close() {
                            model.close(through);
                        }
                        let after = seen.last().copied().unwrap_or_default();
                        seen.extend(
                            model.records.range(..=ends.end()).map(|(at, _)| *at).filter(|at| *at > after),
                        );
                    }
                }
            }
            let end = seen.last().copied().unwrap_or_default();
            let all: Vec<LogPosition> = model.records.range(..=end).map(|(at, _)| *at).collect();
            assert_eq!(seen, all, "seed {seed}: {refused} appends were refused");
        }
    }

    #[test]
    fn an_append_of_a_server_whose_clock_lags_gets_through_between_others_and_a_reader() {
        let (mut model, mut now_us) = (Model::default(), 10_000_000);
        let mut is_committed = |conflicts: u32| {
            // Its clock is five seconds behind. While it is under way, the other server commits, and a reader closes.
            let append = model.begin(now_us - 5_000_000, lead_us(conflicts));
            now_us += 1_000;
            let other = model.begin(now_us, 0);
            assert!(model.commit(&other));
            model.ends().to_close().into_iter().for_each(|through| model.close(through));
            model.commit(&append)
        };
        assert_eq!((0..10).find(|conflicts| is_committed(*conflicts)), Some(3));
    }
}
