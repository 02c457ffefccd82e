//! The database that a command works on: one behind an address, or a data folder that no server has open.
//!
//! Both answer the same typed requests. A folder is opened in this process, and closed when the command is done.

use std::path::{Path, PathBuf};
use std::time::Duration;

use api::{Error, Input, Operation, Service};
use clap::Args;
use client::Client;
use engine::{Caller, Engine, Namespace, TaskState};
use lodestone::{CACHE_BYTES, Database, Durability, MEMTABLE_BYTES, OpenError, Options, Storage};
use serde_json::Value;
use store_lsm::OpenError as FolderError;

use crate::endpoint::{EndpointArguments, URL_DEFAULT, explained};
use crate::{advice, places};

#[derive(Args, Default)]
#[command(next_help_heading = "Which database")]
pub struct ConnectionArguments {
    #[command(flatten)]
    endpoint: EndpointArguments,

    /// Open this data folder in place of asking a server; no server may be using it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["endpoint_url", "profile"])]
    data: Option<PathBuf>,

    /// With --data: where backups are kept, as for `lodestone serve` [default: `backups` in the data folder]
    #[arg(long, value_name = "PLACE", requires = "data")]
    backups: Option<String>,

    /// With --data: what s3://bucket/… means, as for `lodestone serve`: a folder whose sub-folders are the
    /// buckets, or an S3-compatible endpoint
    #[arg(long, value_name = "PLACE", requires = "data")]
    s3: Option<String>,
}

/// An open connection.
pub enum Connection {
    Remote(Box<Client>),
    Local { database: Database, caller: Caller },
}

impl ConnectionArguments {
    /// Runs a command on the database and closes it, whatever the command's result is.
    pub fn run<T>(&self, command: impl AsyncFnOnce(&Connection) -> Result<T, String>) -> Result<T, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        runtime.block_on(async {
            let connection = self.open().await?;
            let result = command(&connection).await;
            connection.close().await?;
            result
        })
    }

    /// What the operator's request to a server is answered with, or what `local` answers if a folder is opened. The
    /// body is made from the account and Region.
    pub fn administer(
        &self,
        path: &str,
        timeout: Duration,
        body: impl FnOnce(&Namespace) -> Value,
        local: impl AsyncFnOnce(&Engine, &[u8]) -> Result<Value, String>,
    ) -> Result<Value, String> {
        let body = body(&self.endpoint.namespace());
        if self.data.is_some() {
            return self.run(async |connection| match connection {
                Connection::Local { database, .. } => {
                    local(&database.engine(), body.to_string().as_bytes()).await
                }
                Connection::Remote(_) => Err("a folder is opened here".to_owned()),
            });
        }
        self.endpoint.administer(path, timeout, &body)
    }

    async fn open(&self) -> Result<Connection, String> {
        match &self.data {
            None => {
                self.endpoint.client(Some(URL_DEFAULT)).map(|client| Connection::Remote(Box::new(client)))
            }
            Some(data) => self.open_folder(data).await,
        }
    }

    async fn open_folder(&self, data: &Path) -> Result<Connection, String> {
        if !data.is_dir() {
            return Err(format!("there is no folder {}. Name the data folder with --data.", data.display()));
        }
        let s3 = places::buckets(self.s3.as_deref())?;
        let (durability, cache_bytes, memtable_bytes) = (Durability::Fsync, CACHE_BYTES, MEMTABLE_BYTES);
        let storage = Storage::Folder { path: data, durability, cache_bytes, memtable_bytes };
        // The store first: it refuses a folder with other files in it.
        let store = storage.open(None).await.map_err(|error| about_opening(&error))?;
        let backups = places::backups(self.backups.as_deref(), Some(data)).await?;
        let options = Options { backups: Some(backups), s3, ..Options::default() };
        let database = Database::on(store, options).await.map_err(|error| about_opening(&error))?;
        Ok(Connection::Local { database, caller: self.caller() })
    }

    fn caller(&self) -> Caller {
        let Namespace { account, region } = self.endpoint.namespace();
        Caller::new(account, region)
    }
}

/// A folder that is in use has a server that can be asked instead.
fn about_opening(error: &OpenError) -> String {
    match error {
        OpenError::Folder(taken @ FolderError::Taken { .. }) => format!(
            "{taken}. If that is a server, ask it: leave out --data, or give its address with --endpoint-url \
             {URL_DEFAULT}. Else stop that process first."
        ),
        error => advice::about_opening(error),
    }
}

impl Connection {
    /// Carries out one operation: the input's type says which. The error says what may help.
    pub async fn call<I>(&self, input: I) -> Result<I::Output, String>
    where
        I: Input,
        I::Request: ServiceRequest<Response = I::Response>,
    {
        self.try_call(input).await.map_err(|error| explained(&error))
    }

    /// The same, with DynamoDB's error.
    pub async fn try_call<I>(&self, input: I) -> Result<I::Output, Error>
    where
        I: Input,
        I::Request: ServiceRequest<Response = I::Response>,
    {
        let request = input.into_request();
        match self {
            Connection::Remote(client) => {
                let (service, operation) = (I::Request::SERVICE, request.operation_name());
                I::read_output(&client.send_to(service, operation, request.json()).await?)
            }
            Connection::Local { database, caller } => {
                let response = request.carry_out(&database.engine(), caller).await?;
                I::output(response).ok_or_else(Error::internal)
            }
        }
    }

    /// Any operation of DynamoDB, JSON in and JSON out.
    pub async fn send(&self, operation: Operation, body: Vec<u8>) -> Result<Vec<u8>, Error> {
        match self {
            Connection::Remote(client) => client.send(operation.name(), body).await,
            Connection::Local { database, caller } => {
                let request = api::Request::decode(operation, &body)?;
                let mut json = Vec::new();
                database.engine().call(caller, request).await?.write_json(&mut json);
                Ok(json)
            }
        }
    }

    /// Whether only this process can write to the database.
    pub fn is_exclusive(&self) -> bool {
        matches!(self, Connection::Local { .. })
    }

    /// Why the background job on this table or ARN stopped for good. A server keeps that in its own log.
    pub fn job_failure(&self, subject: &str) -> Option<String> {
        let Connection::Local { database, .. } = self else { return None };
        let stopped = database.engine().tasks().into_iter().find(|task| task.subject.ends_with(subject));
        match stopped?.state {
            TaskState::GaveUp(reason) => Some(reason),
            TaskState::Waiting | TaskState::Working => None,
        }
    }

    async fn close(&self) -> Result<(), String> {
        match self {
            Connection::Remote(_) => Ok(()),
            Connection::Local { database, .. } => {
                database.close().await.map_err(|error| format!("can't close the database cleanly: {error}"))
            }
        }
    }
}

/// A request to one of the services: it can be sent, or carried out here.
pub trait ServiceRequest: Send + Sized {
    const SERVICE: Service;
    type Response;

    fn operation_name(&self) -> &'static str;

    fn json(&self) -> Vec<u8>;

    fn carry_out(
        self,
        engine: &Engine,
        caller: &Caller,
    ) -> impl Future<Output = Result<Self::Response, Error>> + Send;
}

impl ServiceRequest for api::Request {
    const SERVICE: Service = Service::DynamoDb;
    type Response = api::Response;

    fn operation_name(&self) -> &'static str {
        self.operation().name()
    }

    fn json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        self.write_json(&mut json);
        json
    }

    async fn carry_out(self, engine: &Engine, caller: &Caller) -> Result<api::Response, Error> {
        engine.call(caller, self).await
    }
}

impl ServiceRequest for api::streams::Request {
    const SERVICE: Service = Service::DynamoDbStreams;
    type Response = api::streams::Response;

    fn operation_name(&self) -> &'static str {
        self.operation().name()
    }

    fn json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        self.write_json(&mut json);
        json
    }

    async fn carry_out(self, engine: &Engine, caller: &Caller) -> Result<api::streams::Response, Error> {
        engine.call_streams(caller, self).await
    }
}
