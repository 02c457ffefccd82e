//! Statements that are sent together and answered in order: one round trip.

use std::future::poll_fn;
use std::task::Poll;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use store::Key;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::connection::Lease;
use crate::failure::Failure;
use crate::key_columns::space_number;
use crate::shard;

/// The statements of one round trip.
pub(crate) struct Pipeline<'a> {
    connection: &'a Lease,
    requests: Vec<MaybeDone<Request<'a>>>,
}

type Request<'a> = BoxFuture<'a, Result<Vec<Row>, Failure>>;

impl<'a> Pipeline<'a> {
    pub(crate) fn new(connection: &'a Lease) -> Pipeline<'a> {
        Pipeline { connection, requests: Vec::new() }
    }

    /// A statement that begins or ends a transaction.
    pub(crate) fn command(&mut self, text: &'a str) {
        let connection = self.connection;
        let request = async move {
            connection.batch_execute(text).await?;
            Ok(Vec::new())
        };
        self.requests.push(maybe_done(request.boxed()));
    }

    pub(crate) fn statement<const COUNT: usize>(
        &mut self,
        statement: &'a Statement,
        parameters: [Parameter<'a>; COUNT],
    ) {
        let connection = self.connection;
        let request = async move {
            let parameters = parameters.each_ref().map(Parameter::as_sql);
            Ok(connection.query(statement, &parameters).await?)
        };
        self.requests.push(maybe_done(request.boxed()));
    }

    /// A statement whose parameters are the columns of a key: shard, space, partition, sort.
    pub(crate) fn of_key(&mut self, statement: &'a Statement, key: &'a Key) {
        self.statement(statement, key_parameters(key));
    }

    /// Sends everything and waits for all answers, in the order of the statements. The error is the first
    /// one: what came after it was not carried out.
    pub(crate) async fn send(mut self) -> Result<Vec<Vec<Row>>, Failure> {
        // The first poll of a request sends it. Answers come in the same order, so waiting for one after
        // the other costs nothing.
        poll_fn(|context| {
            for request in &mut self.requests {
                let _ = request.poll_unpin(context);
            }
            Poll::Ready(())
        })
        .await;
        let mut answers = Vec::with_capacity(self.requests.len());
        let mut failure = None;
        for mut request in self.requests {
            (&mut request).await;
            let answer = std::pin::Pin::new(&mut request).take_output().expect("the request is done");
            match answer {
                Ok(rows) => answers.push(rows),
                Err(error) if failure.is_none() => failure = Some(error),
                Err(_) => {}
            }
        }
        failure.map_or(Ok(answers), Err)
    }
}

/// A parameter of a statement, owned or borrowed for as long as the pipeline.
pub(crate) enum Parameter<'a> {
    Small(i16),
    Number(i64),
    Bytes(&'a [u8]),
    Smalls(Vec<i16>),
    Numbers(Vec<i64>),
    /// Several byte strings.
    Strings(Vec<&'a [u8]>),
}

impl Parameter<'_> {
    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Parameter::Small(number) => number,
            Parameter::Number(number) => number,
            Parameter::Bytes(bytes) => bytes,
            Parameter::Smalls(numbers) => numbers,
            Parameter::Numbers(numbers) => numbers,
            Parameter::Strings(strings) => strings,
        }
    }
}

/// The columns of a key, as every statement on one row has them.
pub(crate) fn key_parameters(key: &Key) -> [Parameter<'_>; 4] {
    [
        Parameter::Small(shard::of_partition(&key.position.partition)),
        Parameter::Number(space_number(key.space)),
        Parameter::Bytes(&key.position.partition.0),
        Parameter::Bytes(&key.position.sort),
    ]
}

/// The value of the row that a statement on one key found.
pub(crate) fn value_of(rows: &[Row]) -> Result<Option<Bytes>, Failure> {
    rows.first().map(|row| Ok(Bytes::copy_from_slice(row.try_get(0)?))).transpose()
}
