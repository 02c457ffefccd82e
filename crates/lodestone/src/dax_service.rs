//! DAX, mounted beside the server: its port, who may use it, and the cluster as DescribeClusters shows it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::{Error, ErrorKind};
use async_trait::async_trait;
use bytes::Bytes;
use clap::Args;
use dax::{CacheOptions, Claim, Database, Done, Gate, Limits, Service, Session};
use engine::{Caller, Engine, Metric};
use host::Namespace;
use http::header::{AUTHORIZATION, HOST};
use http::request::Parts;
use http::{Method, Request, Response};
use serde_json::{Value, json};
use server::{Answered, Audit, Figures, Verification};
use tokio::net::TcpListener;

use crate::advice;
use crate::neighbour::{Mounted, Permission, Received, json_response, text};
use crate::service_host::{Clock, OfEngine, caller};

const DAX: &str = "A cache in front of the tables, for clients of DAX";

/// The flags of DAX.
#[derive(Args)]
pub struct DaxArguments {
    /// Also serve DAX, on this port; 0 picks a free one and prints it
    ///
    /// Clients of DAX, such as amazon-dax-client and @amazon-dax-sdk/client-dax, take the address that is printed.
    #[arg(long, value_name = "PORT", help_heading = DAX)]
    dax: Option<u16>,

    /// How long an item stays in the cache; 0s for ever
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = humantime::parse_duration, help_heading = DAX)]
    dax_item_ttl: Duration,

    /// How long the result of a Query or Scan stays in the cache; 0s not at all
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = humantime::parse_duration, help_heading = DAX)]
    dax_query_ttl: Duration,

    /// How much memory items may take, and as much the results of Query and Scan, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 20),
          help_heading = DAX)]
    dax_cache: u64,
}

impl DaxArguments {
    /// Takes the port, if there is to be one.
    pub async fn listen(&self, host: &str) -> Result<Option<TcpListener>, String> {
        let Some(port) = self.dax else { return Ok(None) };
        let listener = TcpListener::bind((host, port)).await;
        listener.map(Some).map_err(|error| advice::about_listening(host, port, &error))
    }

    fn cache_options(&self) -> CacheOptions {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        CacheOptions {
            item_ttl_ms: milliseconds(self.dax_item_ttl),
            query_ttl_ms: milliseconds(self.dax_query_ttl),
            bytes_max: self.dax_cache << 20,
        }
    }

    /// The server of a port.
    pub fn open(
        &self,
        listener: TcpListener,
        engine: Arc<Engine>,
        verification: Option<Verification>,
        tls: Option<Arc<server::Tls>>,
        audit: Option<Audit>,
        bounds: &server::Limits,
    ) -> Result<Dax, String> {
        let clock = Arc::new(Clock::OfCapacity(engine.clone()));
        let database = Arc::new(OfEngine(engine.clone()));
        let service = Arc::new(Service::new(database.clone(), database, clock, self.cache_options()));
        let tls = tls.map(|tls| Arc::new(move || tls.acceptor()) as dax::Tls);
        let scheme = if tls.is_some() { "daxs" } else { "dax" };
        let gate = Arc::new(SignatureGate { verification, engine, audit });
        let usual = Limits::default();
        let connections_max = usual.connections_max.min(bounds.connections_max);
        let limits = Limits {
            connections_max,
            address_connections_max: bounds.of_one_address(connections_max),
            network: server::network,
            ..usual
        };
        let server = dax::Server::new(listener, service.clone(), gate, limits, tls);
        let address = server.local_addr().map_err(|error| error.to_string())?;
        let cluster = Cluster { address, scheme };
        let connections = Box::new(server.connections());
        Ok(Dax { server, cluster, figures: Arc::new(DaxFigures { service, connections }) })
    }
}

/// DAX on its port, ready to run.
pub struct Dax {
    pub server: dax::Server,
    pub cluster: Cluster,
    pub figures: Arc<DaxFigures>,
}

/// Where clients reach the cache.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    address: SocketAddr,
    scheme: &'static str,
}

impl Cluster {
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }
}

/// Hits and misses, for `GET /metrics`.
pub struct DaxFigures {
    service: Arc<Service>,
    connections: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl std::fmt::Debug for DaxFigures {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("DaxFigures")
    }
}

impl Figures for DaxFigures {
    fn prometheus(&self) -> String {
        dax::Metrics { connections: (self.connections)(), ..self.service.metrics() }.prometheus()
    }
}

/// The engine, asked by the cache itself. At AWS the cluster has a role of its own for this.
#[async_trait]
impl Database for OfEngine {
    async fn call(&self, namespace: &Namespace, request: api::Request) -> Result<api::Response, Error> {
        self.0.call(&caller(namespace), request).await
    }
}

/// Admits the users of the access file; without one, all callers.
struct SignatureGate {
    verification: Option<Verification>,
    engine: Arc<Engine>,
    audit: Option<Audit>,
}

const SERVICE: &str = "dax";

impl Gate for SignatureGate {
    fn admit(&self, claim: &Claim) -> Result<Arc<dyn Session>, Error> {
        let caller = self.caller(claim);
        if let (Err(error), Some(audit)) = (&caller, &self.audit) {
            audit.record(Answered {
                id: request_id(),
                from: claim.source_ip,
                is_encrypted: claim.is_encrypted,
                caller: None,
                service: SERVICE,
                operation: "AuthorizeConnection",
                tables: &[],
                outcome: error.kind.name(),
                took: Duration::ZERO,
            });
        }
        let caller = caller?;
        let (engine, audit) = (self.engine.clone(), self.audit.clone());
        Ok(Arc::new(Client { caller, engine, audit }))
    }
}

impl SignatureGate {
    fn caller(&self, claim: &Claim) -> Result<Caller, Error> {
        let head = signed_request(claim)?;
        let verification = self.verification.as_ref();
        server::caller(verification, &head, SERVICE, &[], claim.source_ip, claim.is_encrypted)
    }
}

/// DAX's requests have no id on the wire.
fn request_id() -> String {
    host::uuid(u128::from(getrandom::u64().unwrap_or(0)) << 64 | u128::from(getrandom::u64().unwrap_or(0)))
}

/// The request that clients of DAX sign in place of theirs: nothing is ever sent to that host.
fn signed_request(claim: &Claim) -> Result<Parts, Error> {
    let incomplete =
        || Error::new(ErrorKind::IncompleteSignature, "The string to sign is not that of a request");
    let mut lines = claim.string_to_sign.split('\n');
    let [Some(algorithm), Some(date), Some(scope)] = [(); 3].map(|()| lines.next()) else {
        return Err(incomplete());
    };
    let Claim { access_key, signature, .. } = claim;
    let authorization = format!(
        "{algorithm} Credential={access_key}/{scope}, SignedHeaders=host;x-amz-date, Signature={signature}"
    );
    let mut request = Request::builder()
        .method(Method::POST)
        .uri("/")
        .header(HOST, "dax.amazonaws.com")
        .header("x-amz-date", date)
        .header(AUTHORIZATION, authorization);
    if let Some(token) = &claim.session_token {
        request = request.header("x-amz-security-token", token);
    }
    if let Some(user_agent) = &claim.user_agent {
        request = request.header(http::header::USER_AGENT, user_agent);
    }
    let (head, ()) = request.body(()).map_err(|_| incomplete())?.into_parts();
    Ok(head)
}

/// A client that was let in.
struct Client {
    caller: Caller,
    engine: Arc<Engine>,
    audit: Option<Audit>,
}

impl Session for Client {
    fn namespace(&self) -> &Namespace {
        &self.caller.namespace
    }

    fn authorize(&self, action: &str) -> Result<(), Error> {
        if !self.caller.is_verified() {
            return Ok(());
        }
        self.caller.authorize(action, &cluster_arn(&self.caller.namespace))
    }

    fn check(&self) -> Result<(), Error> {
        self.audit.as_ref().map_or(Ok(()), Audit::check)
    }

    fn done(&self, done: &Done<'_>) {
        self.engine.count_cluster(&self.caller.namespace, CLUSTER_NAME, NODE_NAME, &figures(done));
        let Some(audit) = &self.audit else { return };
        let outcome = match done.outcome {
            None => "cut off",
            Some(Ok(())) => "ok",
            Some(Err(error)) => error.kind.name(),
        };
        audit.record(Answered {
            id: request_id(),
            from: done.from,
            is_encrypted: done.is_encrypted,
            caller: Some(&self.caller),
            service: SERVICE,
            operation: done.operation,
            tables: done.tables,
            outcome,
            took: done.took,
        });
    }
}

/// What a request adds to the metrics of AWS/DAX.
fn figures(done: &Done<'_>) -> Vec<(Metric, f64)> {
    let mut figures = vec![(Metric::TotalRequestCount, 1.0)];
    let of_operation = match done.operation {
        "GetItem" => Metric::GetItemRequestCount,
        "PutItem" => Metric::PutItemRequestCount,
        "UpdateItem" => Metric::UpdateItemRequestCount,
        "DeleteItem" => Metric::DeleteItemRequestCount,
        "Query" => Metric::QueryRequestCount,
        "Scan" => Metric::ScanRequestCount,
        "BatchGetItem" => Metric::BatchGetItemRequestCount,
        "BatchWriteItem" => Metric::BatchWriteItemRequestCount,
        "TransactGetItems" => Metric::TransactGetItemsCount,
        _ => Metric::TransactWriteItemsCount,
    };
    figures.push((of_operation, 1.0));
    figures.push((Metric::ClientConnections, done.connections as f64));
    let (page_hits, page_misses) = match done.operation {
        "Scan" => (Metric::ScanCacheHits, Metric::ScanCacheMisses),
        _ => (Metric::QueryCacheHits, Metric::QueryCacheMisses),
    };
    let counted = [
        (Metric::ItemCacheHits, done.item_hits),
        (Metric::ItemCacheMisses, done.item_misses),
        (page_hits, done.page_hits),
        (page_misses, done.page_misses),
        (Metric::EvictedSize, done.evicted_bytes),
    ];
    let counted = counted.into_iter().filter(|(_, count)| *count > 0);
    figures.extend(counted.map(|(metric, count)| (metric, count as f64)));
    if let Some(Err(error)) = done.outcome {
        let cause = match error.kind {
            ErrorKind::InternalServerError | ErrorKind::ServiceUnavailable => Metric::FaultRequestCount,
            ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling => Metric::ThrottledRequestCount,
            _ => Metric::ErrorRequestCount,
        };
        figures.extend([(Metric::FailedRequestCount, 1.0), (cause, 1.0)]);
    }
    figures
}

const NODE_NAME: &str = "lodestone-a";
const CLUSTER_NAME: &str = "lodestone";
const DESCRIBE_CLUSTERS: &str = "DescribeClusters";
const JSON_1_1: &str = "application/x-amz-json-1.1";

fn cluster_arn(namespace: &Namespace) -> String {
    format!("arn:aws:dax:{}:{}:cache/{CLUSTER_NAME}", namespace.region, namespace.account)
}

/// DAX's operations on clusters, of which DescribeClusters is served.
pub struct DaxClusters {
    pub cluster: Option<Cluster>,
    /// Since when there is one.
    pub since: SystemTime,
}

impl Mounted for DaxClusters {
    const SERVICE: api::Service = api::Service::Dax;

    fn owns(head: &Parts) -> bool {
        target(head).is_some()
    }

    async fn permission(&self, request: Received<'_>) -> Result<Option<Permission>, Error> {
        let is_request = target(request.head) == Some(DESCRIBE_CLUSTERS) && api::is_json(request.body);
        Ok(is_request.then(|| Permission::one(DESCRIBE_CLUSTERS, cluster_arn(request.namespace))))
    }

    async fn answer(&self, request: Received<'_>) -> Response<Bytes> {
        let Received { namespace, head, body } = request;
        let answer = match target(head) {
            Some(DESCRIBE_CLUSTERS) => self.describe_clusters(namespace, body),
            _ => Err(Error::operation_not_served()),
        };
        match answer {
            Ok(answer) => json_response(200, JSON_1_1, answer.to_string().into()),
            Err(error) => self.refusal(head, &error),
        }
    }

    fn refusal(&self, _head: &Parts, error: &Error) -> Response<Bytes> {
        let mut body = Vec::new();
        error.write_json(api::Service::Dax, &mut body);
        let status = if error.kind == ErrorKind::InternalServerError { 500 } else { 400 };
        json_response(status, JSON_1_1, body)
    }
}

impl DaxClusters {
    fn describe_clusters(&self, namespace: &Namespace, body: &[u8]) -> Result<Value, Error> {
        let input: Value = serde_json::from_slice(body).map_err(|_| Error::unreadable())?;
        let names = input.get("ClusterNames").and_then(Value::as_array);
        let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(other) = names.iter().find(|name| self.cluster.is_none() || **name != CLUSTER_NAME) {
            let message = format!("Cluster not found: {other}");
            return Err(Error::new(ErrorKind::ClusterNotFound, message));
        }
        let clusters: Vec<Value> =
            self.cluster.iter().map(|cluster| self.description(cluster, namespace)).collect();
        Ok(json!({ "Clusters": clusters }))
    }

    fn description(&self, cluster: &Cluster, namespace: &Namespace) -> Value {
        let endpoint = json!({
            "Address": cluster.address.ip().to_string(),
            "Port": cluster.address.port(),
            "URL": cluster.url(),
        });
        let since = self.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let node = json!({
            "NodeId": NODE_NAME,
            "Endpoint": endpoint,
            "NodeCreateTime": since.as_secs(),
            "AvailabilityZone": format!("{}a", namespace.region),
            "NodeStatus": "available",
            "ParameterGroupStatus": "in-sync",
        });
        json!({
            "ClusterName": CLUSTER_NAME,
            "ClusterArn": cluster_arn(namespace),
            "TotalNodes": 1,
            "ActiveNodes": 1,
            "NodeType": "dax.t3.small",
            "Status": "available",
            "ClusterDiscoveryEndpoint": endpoint,
            "Nodes": [node],
            "SSEDescription": { "Status": "DISABLED" },
            "ClusterEndpointEncryptionType": if cluster.scheme == "daxs" { "TLS" } else { "NONE" },
        })
    }
}

/// The operation's name, if the request is for DAX.
fn target(head: &Parts) -> Option<&str> {
    let (prefix, name) = text(&head.headers, "x-amz-target")?.split_once('.')?;
    (Some(prefix) == api::Service::Dax.target_prefix()).then_some(name)
}
