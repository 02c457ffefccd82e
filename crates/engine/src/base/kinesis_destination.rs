//! A destination of a table: which stream, since when, and in which state.
//!
//! The passing states (ENABLING, DISABLING, UPDATING) are not stored: they follow from the time of the last change
//! and `--state-delay`. Neither is ENABLE_FAILED: it means that the server knows no such stream.

use std::time::Duration;

use api::{ApproximateCreationDateTimePrecision, DestinationStatus, Error};
use serde::{Deserialize, Serialize};

use crate::Namespace;
use crate::base::table::Table;

/// Streams that a table is delivered to at the same time.
pub const DESTINATIONS_ON_MAX: usize = 2;
/// Destinations that a table shows, those that are off included.
const LISTED_MAX: usize = 10;

/// A stream that gets the changes of a table, or got them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KinesisDestination {
    pub stream_arn: String,
    /// Changes after this time are delivered; none while it is off.
    pub since_us: Option<u64>,
    pub precision: Precision,
    /// When it was last changed, and whether that was only an update.
    pub changed_ms: u64,
    #[serde(default)]
    pub was_updated: bool,
}

/// How exact the time of a change is in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    Millisecond,
    Microsecond,
}

impl From<ApproximateCreationDateTimePrecision> for Precision {
    fn from(precision: ApproximateCreationDateTimePrecision) -> Precision {
        match precision {
            ApproximateCreationDateTimePrecision::Millisecond => Precision::Millisecond,
            ApproximateCreationDateTimePrecision::Microsecond => Precision::Microsecond,
        }
    }
}

impl From<Precision> for ApproximateCreationDateTimePrecision {
    fn from(precision: Precision) -> ApproximateCreationDateTimePrecision {
        match precision {
            Precision::Millisecond => ApproximateCreationDateTimePrecision::Millisecond,
            Precision::Microsecond => ApproximateCreationDateTimePrecision::Microsecond,
        }
    }
}

/// The name in the ARN of a stream of this namespace.
pub fn stream_name<'a>(namespace: &Namespace, arn: &'a str) -> Result<&'a str, Error> {
    let Namespace { account, region } = namespace;
    let prefix = format!(":kinesis:{region}:{account}:stream/");
    let rest = arn.strip_prefix("arn:").and_then(|rest| rest.strip_prefix(rest.split(':').next()?));
    let name = rest.and_then(|rest| rest.strip_prefix(prefix.as_str()));
    let is_name = |name: &&str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        (1..=128).contains(&name.len()) && name.bytes().all(is_allowed)
    };
    name.filter(is_name).ok_or_else(|| {
        Error::validation(format!(
            "StreamArn must be the ARN of a Kinesis data stream in account {account} and Region {region}: {arn}"
        ))
    })
}

impl KinesisDestination {
    /// What tells it apart from the table's other readers, also from an earlier one of the same stream.
    pub fn reader(&self) -> Option<String> {
        Some(format!("{}/{}", self.stream_arn, self.since_us?))
    }

    /// The state that clients see, and what it means.
    pub fn status(
        &self,
        namespace: &Namespace,
        is_known: impl Fn(&str) -> bool,
        now_ms: u64,
        state_delay: Duration,
    ) -> (DestinationStatus, Option<String>) {
        let is_passing = u128::from(now_ms.saturating_sub(self.changed_ms)) < state_delay.as_millis();
        let name = stream_name(namespace, &self.stream_arn).unwrap_or(&self.stream_arn);
        let is_known = is_known(name);
        match (self.since_us.is_some(), is_passing) {
            (true, true) if self.was_updated => (DestinationStatus::Updating, None),
            (true, true) => (DestinationStatus::Enabling, None),
            (true, false) if !is_known => {
                let reason = format!(
                    "The server has no destination for the stream {name}. Start it with --kinesis {name}=DESTINATION."
                );
                (DestinationStatus::EnableFailed, Some(reason))
            }
            (true, false) => (DestinationStatus::Active, None),
            (false, true) => (DestinationStatus::Disabling, None),
            (false, false) => (DestinationStatus::Disabled, None),
        }
    }
}

impl Table {
    /// Its destination for a stream, on or off.
    pub fn destination(&self, stream_arn: &str) -> Option<&KinesisDestination> {
        self.destinations.iter().find(|destination| destination.stream_arn == stream_arn)
    }

    /// Takes a destination in, in place of an earlier one of the same stream. Of those that are off, the oldest is
    /// forgotten when there are too many.
    pub fn set_destination(&mut self, destination: KinesisDestination) {
        self.destinations.retain(|other| other.stream_arn != destination.stream_arn);
        self.destinations.push(destination);
        if self.destinations.len() > LISTED_MAX
            && let Some(oldest) = self.destinations.iter().position(|other| other.since_us.is_none())
        {
            self.destinations.remove(oldest);
        }
    }

    /// How many destinations get its changes.
    pub fn destinations_on(&self) -> usize {
        self.destinations.iter().filter(|destination| destination.since_us.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arn_of_a_stream_is_one_of_the_same_account_and_region() {
        let namespace = Namespace::new("123456789012", "eu-west-1");
        let name = |arn: &str| stream_name(&namespace, arn).ok().map(str::to_owned);
        assert_eq!(name("arn:aws:kinesis:eu-west-1:123456789012:stream/orders"), Some("orders".into()));
        assert_eq!(name("arn:aws-cn:kinesis:eu-west-1:123456789012:stream/a.b-c_d"), Some("a.b-c_d".into()));
        for other in [
            "orders",
            "arn:aws:kinesis:us-east-1:123456789012:stream/orders",
            "arn:aws:kinesis:eu-west-1:210987654321:stream/orders",
            "arn:aws:firehose:eu-west-1:123456789012:stream/orders",
            "arn:aws:kinesis:eu-west-1:123456789012:stream/",
            "arn:aws:kinesis:eu-west-1:123456789012:stream/or/ders",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
