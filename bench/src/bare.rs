//! The floor: hyper, configured as in Lodestone. It reads every request to its end and answers with a
//! reply that Lodestone once gave to a request of the same workload, and does no other work.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::ValueEnum;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::connection::Connection;
use crate::contender::serve as serve_lodestone;
use crate::data::{self, Data};
use crate::load::{Clients, Until};
use crate::table;
use crate::workload::{Requests, Source, Workload};

/// A reply for each workload; requests carry the workload's name as their `User-Agent`.
type Replies = HashMap<String, Response<Full<Bytes>>>;

/// Lets Lodestone answer one request of each workload and writes its replies to a file.
pub async fn record_replies(lodestone: &Path, data: Data, file: &Path) -> Result<()> {
    let server = serve_lodestone(lodestone, ["--in-memory".into()]).await?;
    table::create(&mut Connection::open(server.address).await?, &data::table()).await?;
    let mut clients = Clients::connect(server.address, 1).await?;
    clients.drive(&Requests::of(Workload::Load, data), Until::Walked).await?;
    record(server.address, data, file).await.context("recording replies for the bare server")?;
    server.kill().await
}

async fn record(address: SocketAddr, data: Data, file: &Path) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    let mut replies = serde_json::Map::new();
    for &workload in Workload::value_variants() {
        let reply = connection.exchange_whole(&Requests::of(workload, data).next().1).await?;
        workload
            .check(reply.status, reply.body)
            .with_context(|| format!("{workload:?} is answered wrongly"))?;
        let headers: HashMap<&str, &str> = reply
            .headers
            .iter()
            .filter(|(name, _)| !is_written_by_hyper(name))
            .map(|(name, value)| Ok((*name, std::str::from_utf8(value)?)))
            .collect::<Result<_>>()?;
        let body = std::str::from_utf8(reply.body)?;
        replies.insert(workload.slug(), json!({"headers": headers, "body": body}));
    }
    std::fs::write(file, Value::Object(replies).to_string())?;
    Ok(())
}

fn is_written_by_hyper(header: &str) -> bool {
    ["content-length", "date", "connection"].iter().any(|name| header.eq_ignore_ascii_case(name))
}

/// Serves the recorded replies until the process is killed. `ready` is called with the address.
pub async fn serve(file: &Path, ready: impl FnOnce(SocketAddr)) -> Result<()> {
    let replies: &'static Replies = Box::leak(Box::new(read(file)?));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    ready(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = hyper::service::service_fn(|request| answer(request, replies));
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
        );
    }
}

fn read(file: &Path) -> Result<Replies> {
    let recorded: HashMap<String, Value> = serde_json::from_slice(&std::fs::read(file)?)?;
    recorded.into_iter().map(|(workload, recorded)| Ok((workload, reply(&recorded)?))).collect()
}

fn reply(recorded: &Value) -> Result<Response<Full<Bytes>>> {
    let body = recorded["body"].as_str().context("a reply has a body")?;
    let mut response = Response::builder();
    for (name, value) in recorded["headers"].as_object().context("a reply has headers")? {
        response = response.header(name, value.as_str().context("a header is text")?);
    }
    Ok(response.body(Full::new(Bytes::copy_from_slice(body.as_bytes())))?)
}

async fn answer(request: Request<Incoming>, replies: &Replies) -> Result<Response<Full<Bytes>>, Infallible> {
    let workload = request.headers().get("user-agent").and_then(|agent| agent.to_str().ok());
    let known = workload.and_then(|workload| replies.get(workload)).cloned();
    let body_arrived = request.into_body().collect().await.is_ok();
    Ok(known.filter(|_| body_arrived).unwrap_or_else(|| {
        let mut refusal = Response::new(Full::default());
        *refusal.status_mut() = StatusCode::BAD_REQUEST;
        refusal
    }))
}
