//! The address of a database and the credentials for it, as commands take them.

use std::time::Duration;

use clap::Args;
use client::{Address, Client, Credentials, Environment, ProcessEnvironment};
use engine::Namespace;
use serde_json::Value;

use crate::administration::OperatorRequest;

#[derive(Args, Default)]
pub struct EndpointArguments {
    /// The URL of the database: http://localhost:8000, https://dynamodb.eu-west-1.amazonaws.com.
    /// By default AWS_ENDPOINT_URL_DYNAMODB, else AWS_ENDPOINT_URL, else (not for `lodestone model`)
    /// http://127.0.0.1:8000.
    #[arg(long, visible_alias = "endpoint", value_name = "URL")]
    endpoint_url: Option<String>,

    /// The Region; else AWS_REGION, AWS_DEFAULT_REGION, the one in the URL, or us-east-1.
    #[arg(long)]
    region: Option<String>,

    /// The profile of ~/.aws/credentials; by default the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
    /// are used. A database on this machine needs neither.
    #[arg(long)]
    profile: Option<String>,
}

impl EndpointArguments {
    /// A client of the endpoint. The default is for commands that work without an endpoint argument.
    pub fn client(&self, default_url: Option<&str>) -> Result<Client, String> {
        let url = self.url().or_else(|| default_url.map(str::to_owned));
        let url = url.ok_or("say where the database is: --endpoint-url http://localhost:8000")?;
        let address: Address = url.parse().map_err(|error: client::AddressError| error.to_string())?;
        let region = self.region().or_else(|| address.region().map(str::to_owned));
        let credentials = match Credentials::find(self.profile.as_deref(), &ProcessEnvironment) {
            // As with DynamoDB Local: a database on this machine accepts any credentials.
            Err(client::CredentialsError::Absent) if address.is_loopback() => Credentials::local(),
            credentials => credentials.map_err(|error| error.to_string())?,
        };
        let region = region.unwrap_or_else(|| REGION_DEFAULT.to_owned());
        Client::new(address, region, credentials).map_err(|error| error.to_string())
    }

    /// The server at this address, with the usual Region and credentials.
    pub fn at(url: &str) -> EndpointArguments {
        EndpointArguments { endpoint_url: Some(url.to_owned()), ..EndpointArguments::default() }
    }

    /// For commands that take the address as an argument of their own.
    pub fn set_url(&mut self, url: &str) {
        self.endpoint_url = Some(url.to_owned());
    }

    /// The address that the user names.
    pub fn url(&self) -> Option<String> {
        let url = self.endpoint_url.clone();
        url.or_else(|| variable(&["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"]))
    }

    /// The account and Region whose tables are meant. As at a server, an access key of 12 digits is an account.
    pub fn namespace(&self) -> Namespace {
        let is_account = |key: &String| key.len() == 12 && key.bytes().all(|byte| byte.is_ascii_digit());
        let account = variable(&["AWS_ACCESS_KEY_ID"]).filter(is_account);
        let region = self.region().unwrap_or_else(|| REGION_DEFAULT.to_owned());
        Namespace::new(account.unwrap_or_else(|| ACCOUNT_DEFAULT.to_owned()), region)
    }

    /// What the server answers to a request of its operator.
    pub fn administer(&self, path: &str, timeout: Duration, body: &Value) -> Result<Value, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        runtime.block_on(self.ask_operator_server(path, timeout, body))
    }

    /// The same, for commands with a runtime of their own.
    pub async fn ask_operator_server(
        &self,
        path: &str,
        timeout: Duration,
        body: &Value,
    ) -> Result<Value, String> {
        let url = self.url().unwrap_or_else(|| URL_DEFAULT.to_owned());
        let region = self.region().unwrap_or_else(|| REGION_DEFAULT.to_owned());
        let usual = match Credentials::find(self.profile.as_deref(), &ProcessEnvironment) {
            Err(client::CredentialsError::Absent) => None,
            credentials => Some(credentials.map_err(|error| error.to_string())?),
        };
        OperatorRequest { url: &url, region: &region, path, body, timeout }.send(usual).await
    }

    /// The Region that the user names.
    fn region(&self) -> Option<String> {
        self.region.clone().or_else(|| variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
    }
}

/// Where `lodestone serve` listens by default.
pub const URL_DEFAULT: &str = "http://127.0.0.1:8000";
const ACCOUNT_DEFAULT: &str = "000000000000";
const REGION_DEFAULT: &str = "us-east-1";

/// The value of the first of these environment variables that is set.
pub fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| ProcessEnvironment.variable(name))
}

/// An error, and what may help.
pub fn explained(error: &api::Error) -> String {
    let help = match error.kind {
        api::ErrorKind::ServiceUnavailable => ". Is a database running there? `lodestone serve` starts one",
        api::ErrorKind::UnrecognizedClient
        | api::ErrorKind::InvalidSignature
        | api::ErrorKind::AccessDenied => ". Are these the right credentials?",
        api::ErrorKind::PointInTimeRecoveryUnavailable => {
            ". Switch it on with: aws dynamodb update-continuous-backups --table-name TABLE \
             --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"
        }
        api::ErrorKind::TableNotFound | api::ErrorKind::ResourceNotFound => {
            ". `aws dynamodb list-tables` lists the tables of an account and Region"
        }
        _ => "",
    };
    format!("{}{help}", error.message)
}
