//! Peers: servers that have other Regions of global tables. They send each other the messages of the engine's
//! replication, as JSON on the port where clients are, signed like any other request:
//!
//! ```text
//! POST / HTTP/1.1
//! X-Amz-Target: LodestoneReplication.Tell
//! {"account": "000000000000", "table": "Orders", "from": "us-east-1", "to": "eu-west-1", "news": {"Beat": {…}}}
//! ```
//!
//! Where signatures are verified, policies decide: `dynamodb:WriteDataForReplication` for items and
//! `dynamodb:ReplicateSettings` for all else, on the table. A server without an access file is open to every
//! client that can reach it, so to peers as well.

use std::path::PathBuf;
use std::sync::Arc;

use api::{Error, ErrorKind, Service};
use bytes::Bytes;
use clap::Args;
use client::{Address, Client, Credentials, CredentialsError, ProcessEnvironment};
use engine::{Answer, Caller, Engine, Message, Peer, Peers};
use http::request::Parts;
use http::{Request, Response};
use server::{NeighbourService, PageAnswer};

use crate::neighbour::{json_response, text};

const TARGET: &str = "LodestoneReplication.Tell";
const HEADING: &str = "Regions of other servers";

#[derive(Args)]
pub struct PeerArguments {
    /// The Region of this server: requests for any other are refused [default: every Region is served]
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    region: Option<String>,

    /// A server that has another Region: eu-west-1=https://db.example:8000. May be given several times
    ///
    /// A global table can then have a replica there. Both servers name each other.
    #[arg(long, value_name = "REGION=URL", value_parser = PeerAddress::parse, requires = "region", help_heading = HEADING)]
    peer: Vec<PeerAddress>,

    /// The profile of ~/.aws/credentials that signs messages to peers, where they verify signatures [default: the
    /// variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY]
    #[arg(long, value_name = "NAME", requires = "peer", help_heading = HEADING)]
    peer_profile: Option<String>,

    /// A PEM file with the certificates of the authorities that peers' certificates come from: these are trusted and no
    /// others [default: those that the system trusts]
    #[arg(long, value_name = "FILE", requires = "peer", help_heading = HEADING)]
    peer_ca: Option<PathBuf>,
}

/// Where another Region is.
#[derive(Clone)]
struct PeerAddress {
    region: String,
    address: Address,
}

impl PeerAddress {
    fn parse(text: &str) -> Result<PeerAddress, String> {
        let (region, url) = text.split_once('=').ok_or("a peer is REGION=URL: eu-west-1=http://db:8000")?;
        crate::region::check_name(region)?;
        let address = url.parse().map_err(|error: client::AddressError| error.to_string())?;
        Ok(PeerAddress { region: region.to_owned(), address })
    }
}

impl PeerArguments {
    /// The Region that is served; none if all are.
    pub fn region(&self) -> Option<String> {
        self.region.clone()
    }

    /// How the peers are reached.
    pub fn open(&self) -> Result<Peers, String> {
        if let Some(region) = &self.region {
            crate::region::check_name(region)?;
        }
        let credentials = match Credentials::find(self.peer_profile.as_deref(), &ProcessEnvironment) {
            // A peer that verifies no signatures takes any.
            Err(CredentialsError::Absent) => Credentials::local(),
            credentials => credentials.map_err(|error| error.to_string())?,
        };
        let authorities = self.peer_ca.as_ref().map(|path| {
            std::fs::read(path).map_err(|error| format!("can't read {} (--peer-ca): {error}", path.display()))
        });
        let authorities = authorities.transpose()?;
        let mut peers: Vec<(String, Arc<dyn Peer>)> = Vec::new();
        for PeerAddress { region, address } in &self.peer {
            if self.region.as_ref() == Some(region) || peers.iter().any(|(known, _)| known == region) {
                return Err(format!("{region} is the Region of one server"));
            }
            let (address, signer) = (address.clone(), credentials.clone());
            let client = match &authorities {
                Some(authorities) => Client::trusting(authorities, address, region.clone(), signer),
                None => Client::new(address, region.clone(), signer),
            };
            let client = client.map_err(|error| error.to_string())?;
            peers.push((region.clone(), Arc::new(HttpPeer(client))));
        }
        Ok(peers.into_iter().collect())
    }
}

/// A peer behind an address.
struct HttpPeer(Client);

impl Peer for HttpPeer {
    fn send<'a>(
        &'a self,
        message: &'a Message,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Answer, String>> + Send + 'a>> {
        Box::pin(async move {
            let body = serde_json::to_vec(message).map_err(|error| error.to_string())?;
            let answer = self.0.send_once(TARGET, body).await.map_err(|error| error.message)?;
            serde_json::from_slice(&answer)
                .map_err(|error| format!("{}: no answer of a peer: {error}", self.0.address()))
        })
    }
}

/// Receives the messages of peers.
pub struct ReplicationService(pub Arc<Engine>);

impl std::fmt::Debug for ReplicationService {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ReplicationService")
    }
}

impl ReplicationService {
    async fn receive(&self, caller: &Caller, body: &[u8]) -> Result<Vec<u8>, Error> {
        let message: Message = serde_json::from_slice(body)
            .map_err(|error| Error::validation(format!("this is no message of a peer: {error}")))?;
        if caller.is_verified() {
            authorize(caller, &message)?;
        }
        let answer = self.0.receive(message).await.map_err(Error::validation)?;
        serde_json::to_vec(&answer).map_err(|_| Error::internal())
    }
}

/// Refuses a message that policies do not allow.
fn authorize(caller: &Caller, message: &Message) -> Result<(), Error> {
    let engine::Namespace { account, region } = &caller.namespace;
    if **account != *message.account || **region != *message.to {
        return Err(Error::new(ErrorKind::AccessDenied, "The message is for another account or Region."));
    }
    let action = if message.has_items() { "WriteDataForReplication" } else { "ReplicateSettings" };
    let action = format!("{}:{action}", Service::DynamoDb.action_prefix());
    caller.authorize(&action, &caller.namespace.table_arn(&message.table))
}

impl NeighbourService for ReplicationService {
    fn service(&self) -> Service {
        Service::DynamoDb
    }

    fn owns(&self, head: &Parts) -> bool {
        text(&head.headers, "x-amz-target") == Some(TARGET)
    }

    fn answer(&self, caller: Caller, request: Request<Bytes>) -> PageAnswer<'_> {
        Box::pin(async move {
            match self.receive(&caller, request.body()).await {
                Ok(answer) => response(200, answer),
                Err(error) => refusal(&error),
            }
        })
    }

    fn refuse(&self, _head: &Parts, error: &Error) -> Response<Bytes> {
        refusal(error)
    }
}

fn refusal(error: &Error) -> Response<Bytes> {
    let mut body = Vec::new();
    error.write_json(Service::DynamoDb, &mut body);
    response(error.kind.status(), body)
}

fn response(status: u16, body: Vec<u8>) -> Response<Bytes> {
    json_response(status, "application/x-amz-json-1.0", body)
}
