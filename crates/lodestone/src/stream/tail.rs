//! `lodestone stream tail TABLE`: the change records of a table as they come.
//!
//! Each shard of the stream is read from its own iterator. When a shard ends, its children are read from their
//! beginning, so the changes of an item come in their order. Records of different shards are put in order of time
//! as far as they are read together.

use std::collections::HashSet;
use std::str::FromStr;
use std::time::Duration;

use api::streams::{
    DescribeStreamInput, GetRecordsInput, GetRecordsOutput, GetShardIteratorInput, Record, Response, Shard,
    ShardIteratorType,
};
use api::{
    DescribeTableInput, ErrorKind, StreamSpecification, StreamViewType, TableDescription, UpdateTableInput,
};
use clap::{Args, ValueEnum};

use super::show;
use crate::connection::{Connection, ConnectionArguments};
use crate::endpoint::explained;
use crate::moment::Moment;
use crate::output;

/// The pause after a round without records. AWS allows five reads of a shard each second.
const PAUSE: Duration = Duration::from_millis(250);
/// Records of a shard in one round: what is held in memory before it is printed.
const PAGE_RECORDS: i32 = 200;

/// Show the change records of a table as they come: what happened, to which item, and what differs.
///
/// Records are kept for 24 hours. The table needs a stream; --enable switches one on. With --data, where no other
/// process can write, the command ends after the last record.
#[derive(Args)]
#[command(after_help = "Examples:
  lodestone stream tail Songs                       from now on, until Ctrl-C
  lodestone stream tail Songs --enable              switches a stream on first if there is none
  lodestone stream tail Songs --from start          everything of the last 24 hours, then what comes
  lodestone stream tail Songs --from 10m --no-follow --json | jq .dynamodb.NewImage")]
pub struct Tail {
    /// The table
    table: String,

    /// Where to begin: `now`, `start`, or a time: 2026-11-17T02:00:00Z (UTC), seconds since 1970, 10m ago
    /// [default: now; with --data: start]
    #[arg(long, value_name = "TIME")]
    from: Option<Start>,

    /// Switch a stream on if the table has none
    #[arg(long)]
    enable: bool,

    /// With --enable: what records hold of an item
    #[arg(long, value_enum, default_value_t = View::Both, requires = "enable")]
    view: View,

    /// End after the records that are there
    #[arg(long)]
    no_follow: bool,

    /// End after this many records
    #[arg(long, value_name = "RECORDS")]
    count: Option<u64>,

    /// Print each record as one line of JSON, as GetRecords has it
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum View {
    /// The item before and after
    Both,
    /// The item after
    New,
    /// The item before
    Old,
    /// Its key alone
    Keys,
}

/// Where to begin in a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    Now,
    Oldest,
    At(Moment),
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Start, String> {
        match text {
            "now" => Ok(Start::Now),
            "start" => Ok(Start::Oldest),
            time => {
                time.parse().map(Start::At).map_err(|error| format!("`now`, `start`, or a time; {error}"))
            }
        }
    }
}

impl Tail {
    pub fn run(self) -> Result<(), String> {
        self.connection.run(async |connection| self.follow(connection).await)
    }

    async fn follow(&self, connection: &Connection) -> Result<(), String> {
        let default = if connection.is_exclusive() { Start::Oldest } else { Start::Now };
        let start = self.from.unwrap_or(default);
        let arn = self.stream_arn(connection, start).await?;
        let mut reader = Reader::open(connection, arn, start).await?;
        let is_endless = !self.no_follow && !connection.is_exclusive();
        if is_endless {
            let shards = reader.shards.len();
            output::print_note(&format!("following {} ({shards} shards); Ctrl-C ends", self.table));
        }
        let mut left = self.count.unwrap_or(u64::MAX);
        loop {
            let round = reader.read().await?;
            for record in &round.records {
                // The reader of the output may close it early, as `head` does.
                if left == 0 || output::try_print(&self.shown(record)).is_err() {
                    return Ok(());
                }
                left -= 1;
            }
            if left == 0 || reader.shards.is_empty() {
                return Ok(());
            }
            if round.is_idle {
                if !is_endless {
                    return Ok(());
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    fn shown(&self, record: &Record) -> String {
        match self.json {
            true => format!("{}\n", json(record)),
            false => show::record(record),
        }
    }

    /// The table's stream, which is switched on if that is asked for.
    async fn stream_arn(&self, connection: &Connection, start: Start) -> Result<String, String> {
        let described = connection.call(DescribeTableInput { table_name: self.table.clone() }).await?;
        let table = match described.table.unwrap_or_default() {
            table if has_stream(&table) => table,
            _ if self.enable => self.switch_on(connection).await?,
            // A stream that was switched off can be read for a day.
            table if table.latest_stream_arn.is_some() && start != Start::Now => table,
            _ => return Err(self.no_stream()),
        };
        table.latest_stream_arn.ok_or_else(|| self.no_stream())
    }

    async fn switch_on(&self, connection: &Connection) -> Result<TableDescription, String> {
        let view = match self.view {
            View::Both => StreamViewType::NewAndOldImages,
            View::New => StreamViewType::NewImage,
            View::Old => StreamViewType::OldImage,
            View::Keys => StreamViewType::KeysOnly,
        };
        let stream = StreamSpecification { stream_enabled: true, stream_view_type: Some(view) };
        let input = UpdateTableInput {
            table_name: self.table.clone(),
            stream_specification: Some(stream),
            ..Default::default()
        };
        Ok(connection.call(input).await?.table_description.unwrap_or_default())
    }

    fn no_stream(&self) -> String {
        let table = &self.table;
        format!("{table} has no stream. Switch one on with: lodestone stream tail {table} --enable")
    }
}

fn has_stream(table: &TableDescription) -> bool {
    table.stream_specification.as_ref().is_some_and(|stream| stream.stream_enabled)
}

/// The record as GetRecords has it.
fn json(record: &Record) -> serde_json::Value {
    let page = GetRecordsOutput { records: Some(vec![record.clone()]), next_shard_iterator: None };
    let mut json = Vec::new();
    Response::from(page).write_json(&mut json);
    let mut page: serde_json::Value = serde_json::from_slice(&json).unwrap_or_default();
    page["Records"][0].take()
}

/// Reads all shards of a stream, parents before their children.
struct Reader<'a> {
    connection: &'a Connection,
    arn: String,
    start: Start,
    /// The shards that are read now.
    shards: Vec<OpenShard>,
}

struct OpenShard {
    id: String,
    iterator: String,
    /// The sequence number of the last record.
    last: Option<String>,
}

/// One page of each shard.
struct Round {
    records: Vec<Record>,
    /// Whether every shard goes on and had nothing.
    is_idle: bool,
}

impl<'a> Reader<'a> {
    async fn open(connection: &'a Connection, arn: String, start: Start) -> Result<Reader<'a>, String> {
        let mut reader = Reader { connection, arn, start, shards: Vec::new() };
        let listed = reader.list().await?;
        for shard in first_shards(&listed, start) {
            let kind = match start {
                Start::Now => ShardIteratorType::Latest,
                Start::Oldest => ShardIteratorType::TrimHorizon,
                Start::At(_) => ShardIteratorType::AtTimestamp,
            };
            reader.begin(shard, kind).await?;
        }
        Ok(reader)
    }

    /// Every shard of the stream.
    async fn list(&self) -> Result<Vec<Shard>, String> {
        let mut shards = Vec::new();
        let mut after = None;
        loop {
            let input = DescribeStreamInput {
                stream_arn: self.arn.clone(),
                exclusive_start_shard_id: after,
                ..Default::default()
            };
            let page = self.connection.call(input).await?.stream_description.unwrap_or_default();
            shards.extend(page.shards.unwrap_or_default());
            after = page.last_evaluated_shard_id;
            if after.is_none() {
                return Ok(shards);
            }
        }
    }

    async fn begin(&mut self, shard: &Shard, kind: ShardIteratorType) -> Result<(), String> {
        let id = id(shard);
        let iterator = self.iterator(&id, kind, None).await?;
        self.shards.push(OpenShard { id, iterator, last: None });
        Ok(())
    }

    async fn iterator(
        &self,
        shard: &str,
        kind: ShardIteratorType,
        sequence_number: Option<String>,
    ) -> Result<String, String> {
        let timestamp = match self.start {
            Start::At(moment) if kind == ShardIteratorType::AtTimestamp => Some(moment.seconds()),
            _ => None,
        };
        let input = GetShardIteratorInput {
            stream_arn: self.arn.clone(),
            shard_id: shard.to_owned(),
            shard_iterator_type: kind,
            sequence_number,
            timestamp,
        };
        let answer = self.connection.call(input).await?;
        answer.shard_iterator.ok_or_else(|| format!("there is no iterator for the shard {shard}"))
    }

    /// Reads a page of each shard, and begins with the children of those that ended.
    async fn read(&mut self) -> Result<Round, String> {
        let mut records = Vec::new();
        let mut ended = HashSet::new();
        for at in 0..self.shards.len() {
            let page = self.page(at).await?;
            let shard = &mut self.shards[at];
            let found = page.records.unwrap_or_default();
            shard.last = found.last().and_then(sequence_number).or(shard.last.take());
            records.extend(found);
            match page.next_shard_iterator {
                Some(next) => shard.iterator = next,
                None => drop(ended.insert(shard.id.clone())),
            }
        }
        records.sort_by_key(order);
        let is_idle = records.is_empty() && ended.is_empty();
        if !ended.is_empty() {
            self.shards.retain(|shard| !ended.contains(&shard.id));
            self.begin_children(&ended).await?;
        }
        Ok(Round { records, is_idle })
    }

    async fn page(&self, at: usize) -> Result<GetRecordsOutput, String> {
        let shard = &self.shards[at];
        match self.connection.try_call(get_records(&shard.iterator)).await {
            // This process may have slept for longer than an iterator is good for.
            Err(error) if error.kind == ErrorKind::ExpiredIterator => {
                let (kind, last) = match &shard.last {
                    Some(last) => (ShardIteratorType::AfterSequenceNumber, Some(last.clone())),
                    None => (ShardIteratorType::TrimHorizon, None),
                };
                let iterator = self.iterator(&shard.id, kind, last).await?;
                self.connection.call(get_records(&iterator)).await
            }
            answer => answer.map_err(|error| explained(&error)),
        }
    }

    async fn begin_children(&mut self, parents: &HashSet<String>) -> Result<(), String> {
        let kind = match self.start {
            Start::At(_) => ShardIteratorType::AtTimestamp,
            Start::Now | Start::Oldest => ShardIteratorType::TrimHorizon,
        };
        for shard in self.list().await? {
            let is_child = shard.parent_shard_id.as_ref().is_some_and(|parent| parents.contains(parent));
            if is_child {
                self.begin(&shard, kind).await?;
            }
        }
        Ok(())
    }
}

/// The shards to begin with: for `now` those that go on, else those without a parent in the list.
fn first_shards(listed: &[Shard], start: Start) -> Vec<&Shard> {
    let ids: HashSet<String> = listed.iter().map(id).collect();
    let has_parent =
        |shard: &Shard| shard.parent_shard_id.as_ref().is_some_and(|parent| ids.contains(parent));
    let is_first = |shard: &&Shard| match start {
        Start::Now => !is_closed(shard),
        Start::Oldest | Start::At(_) => !has_parent(shard),
    };
    listed.iter().filter(is_first).collect()
}

fn id(shard: &Shard) -> String {
    shard.shard_id.clone().unwrap_or_default()
}

fn is_closed(shard: &Shard) -> bool {
    shard.sequence_number_range.as_ref().is_some_and(|range| range.ending_sequence_number.is_some())
}

fn get_records(iterator: &str) -> GetRecordsInput {
    GetRecordsInput { shard_iterator: iterator.to_owned(), limit: Some(PAGE_RECORDS) }
}

fn sequence_number(record: &Record) -> Option<String> {
    record.dynamodb.as_ref().and_then(|change| change.sequence_number.clone())
}

/// The order of records: by time, then by sequence number. Within a shard it is the order of its records.
fn order(record: &Record) -> (u64, u128) {
    let time = record.dynamodb.as_ref().and_then(|change| change.approximate_creation_date_time);
    let number = sequence_number(record).and_then(|number| number.parse().ok());
    ((time.unwrap_or(0.0) * 1000.0) as u64, number.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use api::streams::SequenceNumberRange;

    use super::*;

    fn shard(id: &str, parent: Option<&str>, is_closed: bool) -> Shard {
        let ending_sequence_number = is_closed.then(|| "9".to_owned());
        Shard {
            shard_id: Some(id.to_owned()),
            parent_shard_id: parent.map(str::to_owned),
            sequence_number_range: Some(SequenceNumberRange { ending_sequence_number, ..Default::default() }),
        }
    }

    #[test]
    fn parents_come_before_children_and_closed_shards_are_not_followed() {
        let listed = [
            shard("orphan", Some("trimmed"), true),
            shard("parent", None, true),
            shard("child", Some("parent"), false),
        ];
        let first = |start| first_shards(&listed, start).into_iter().map(id).collect::<Vec<_>>();
        assert_eq!(first(Start::Oldest), ["orphan", "parent"]);
        assert_eq!(first(Start::Now), ["child"]);
    }

    #[test]
    fn a_start_is_now_or_the_beginning_or_a_time() {
        assert_eq!("now".parse(), Ok(Start::Now));
        assert_eq!("start".parse(), Ok(Start::Oldest));
        assert!(matches!("10m".parse(), Ok(Start::At(_))));
        assert!("sometime".parse::<Start>().is_err());
    }
}
