//! The database that a command talks to: its address and the credentials.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use client::{Address, Client, Credentials, Environment, ProcessEnvironment};
use proof::{Answer, Endpoint};

use super::{UNREADABLE, output};

#[derive(Args)]
pub struct EndpointArguments {
    /// The URL of the database: http://localhost:8000, https://dynamodb.eu-west-1.amazonaws.com.
    /// By default AWS_ENDPOINT_URL_DYNAMODB, else AWS_ENDPOINT_URL.
    #[arg(long, value_name = "URL")]
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
    /// The endpoint. If there is none, the user is told why and the exit status is returned.
    pub fn open(&self) -> Result<Arc<Http>, ExitCode> {
        self.client().map(|client| Arc::new(Http(client))).map_err(|problem| {
            output::print_error(&problem);
            ExitCode::from(UNREADABLE)
        })
    }

    fn client(&self) -> Result<Client, String> {
        let variable = |names: &[&str]| names.iter().find_map(|name| ProcessEnvironment.variable(name));
        let url = self.endpoint_url.clone();
        let url = url.or_else(|| variable(&["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"]));
        let url = url.ok_or("say where the database is: --endpoint-url http://localhost:8000")?;
        let address: Address = url.parse().map_err(|error: client::AddressError| error.to_string())?;
        let region = self.region.clone().or_else(|| variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
        let region = region.or_else(|| address.region().map(str::to_owned));
        let credentials = match Credentials::find(self.profile.as_deref(), &ProcessEnvironment) {
            // As with DynamoDB Local: a database on this machine accepts any credentials.
            Err(client::CredentialsError::Absent) if address.is_loopback() => Credentials::local(),
            credentials => credentials.map_err(|error| error.to_string())?,
        };
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        Client::new(address, region, credentials).map_err(|error| error.to_string())
    }
}

/// A database behind an address.
pub struct Http(Client);

impl Http {
    pub fn address(&self) -> String {
        self.0.address().to_string()
    }
}

impl Endpoint for Http {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        Box::pin(self.0.send(operation, body))
    }

    /// Databases on this machine answer consistently at once; AWS's global indexes lag behind their tables.
    fn is_immediate(&self) -> bool {
        self.0.address().is_loopback()
    }
}

/// The runtime for requests.
pub fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a process may have sockets and timers")
}

/// An error, and what may help.
pub fn explained(error: &api::Error) -> String {
    let help = match error.kind {
        api::ErrorKind::ServiceUnavailable => ". Is a database running there? `lodestone serve` starts one",
        api::ErrorKind::UnrecognizedClient
        | api::ErrorKind::InvalidSignature
        | api::ErrorKind::AccessDenied => ". Are these the right credentials?",
        _ => "",
    };
    format!("{}{help}", error.message)
}
