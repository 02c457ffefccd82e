//! One connection: a greeting, then requests and answers in turn.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api::{Error, ErrorKind};
use bytes::{Bytes, BytesMut};
use host::Namespace;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::cbor::{Malformed, Reader, Scan, Writer};
use crate::limits::Limits;
use crate::metrics::Gauge;
use crate::observed::{Observed, Tally};
use crate::outside::{Claim, Gate, Session};
use crate::refusal::Refusal;
use crate::request::{GREETING_VALUES, MAGIC, Method, Request, SERVICE};
use crate::service::{Peer, Service};

/// What every connection may buffer without asking.
const UNCOUNTED_BYTES: usize = 16 * 1024;

/// Memory is counted in these.
const UNIT_BYTES: usize = 1024;

/// What connections share.
pub struct Shared {
    pub service: Arc<Service>,
    pub gate: Arc<dyn Gate>,
    pub limits: Limits,
    /// Units of memory that are free.
    pub memory: Arc<Semaphore>,
    /// Connections that are open.
    pub open: Gauge,
}

/// Where a connection comes from and where it reached us.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub from: SocketAddr,
    pub reached: SocketAddr,
    pub is_encrypted: bool,
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    #[error("the client closed it")]
    ByClient,
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0} took too long")]
    Timeout(&'static str),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    #[error("there is no memory for a large request")]
    Busy,
}

/// A client that said who it is.
struct Authorized {
    session: Arc<dyn Session>,
    namespace: Arc<Namespace>,
    until: Instant,
}

/// Bytes that came in and are not answered yet.
struct Incoming {
    bytes: BytesMut,
    scan: Scan,
    share: Option<OwnedSemaphorePermit>,
}

/// Serves a connection to its end. `rests` is true between requests.
pub async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    shared: &Shared,
    addresses: Addresses,
    rests: &AtomicBool,
) -> Ended {
    let _open = shared.open.raise();
    let mut incoming = Incoming { bytes: BytesMut::new(), scan: Scan::default(), share: None };
    let greeting = incoming.values(&mut stream, shared, GREETING_VALUES);
    let greeted = match timeout(shared.limits.greeting_timeout, greeting).await {
        Ok(greeted) => greeted.and_then(|end| Ok(check_greeting(&incoming.take(end))?)),
        Err(_) => Err(Ended::Timeout("the greeting")),
    };
    if let Err(ended) = greeted {
        return ended;
    }
    let mut known: Option<Result<Authorized, Error>> = None;
    loop {
        match next_request(&mut stream, &mut incoming, shared, addresses, &mut known, rests).await {
            Ok(()) => {}
            Err(ended) => return ended,
        }
    }
}

fn check_greeting(bytes: &[u8]) -> Result<(), Malformed> {
    match Reader(bytes).text()? == MAGIC {
        true => Ok(()),
        false => Err(Malformed("this is not a client of DAX")),
    }
}

async fn next_request(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    incoming: &mut Incoming,
    shared: &Shared,
    addresses: Addresses,
    known: &mut Option<Result<Authorized, Error>>,
    rests: &AtomicBool,
) -> Result<(), Ended> {
    if incoming.bytes.is_empty() {
        rests.store(true, Ordering::Relaxed);
        let first = incoming.more(stream, shared);
        timeout(shared.limits.idle_timeout, first)
            .await
            .map_err(|_| Ended::Timeout("the next request"))??;
        rests.store(false, Ordering::Relaxed);
    }
    let request = incoming.request(stream, shared);
    let received = timeout(shared.limits.request_timeout, request).await;
    let (method, arguments) = match received.map_err(|_| Ended::Timeout("a request"))? {
        Err(Ended::Malformed(malformed)) => {
            let writer = refused(&shared.service, &malformed.into());
            write(stream, &writer.0, shared).await?;
            return Err(Ended::Malformed(malformed));
        }
        received => received?,
    };
    let request = Request::read(method, &arguments);
    if let Ok(Request::AuthorizeConnection {
        access_key,
        signature,
        string_to_sign,
        session_token,
        user_agent,
    }) = request
    {
        let claim = Claim {
            access_key: access_key.to_owned(),
            signature: signature.to_owned(),
            string_to_sign: string_to_sign.to_owned(),
            session_token: session_token.map(str::to_owned),
            user_agent: user_agent.map(str::to_owned),
            source_ip: addresses.from.ip(),
            is_encrypted: addresses.is_encrypted,
        };
        // It has no answer. If the client is refused, its next request is.
        *known = Some(shared.gate.admit(&claim).map(|session| Authorized {
            namespace: Arc::new(session.namespace().clone()),
            session,
            until: Instant::now() + shared.limits.authorization_lifetime,
        }));
        return Ok(());
    }
    // Given back when the answer is written.
    let _share;
    let answer = match (request, authorized(known)) {
        (Err(malformed), _) => Err(Refusal::Malformed(malformed)),
        (Ok(_), Err(error)) => Err(Refusal::Authentication(error)),
        (Ok(request), Ok(Authorized { session, namespace, .. })) => {
            _share = take_share(shared, method.answer_bytes()).await?;
            observe(shared, session, namespace, addresses, method, request, &arguments).await
        }
    };
    drop(arguments);
    incoming.rest();
    match answer {
        Ok(writer) => write(stream, &writer.0, shared).await,
        Err(refusal) => {
            write(stream, &refused(&shared.service, &refusal).0, shared).await?;
            match refusal {
                Refusal::Malformed(malformed) => Err(malformed.into()),
                _ => Ok(()),
            }
        }
    }
}

/// Has a request answered, and tells of it.
async fn observe(
    shared: &Shared,
    session: &Arc<dyn Session>,
    namespace: &Arc<Namespace>,
    addresses: Addresses,
    method: Method,
    request: Request<'_>,
    arguments: &Bytes,
) -> Result<Writer, Refusal> {
    let reached = addresses.reached;
    let Some(operation) = method.operation() else {
        let peer = Peer { session: &**session, namespace, reached, tally: &Tally::default() };
        return shared.service.answer(&peer, method, request, arguments).await;
    };
    session.check()?;
    let observed = Observed {
        shared,
        session: session.clone(),
        addresses,
        operation,
        tables: request.tables(),
        began: Instant::now(),
        tally: Tally::default(),
        outcome: None,
    };
    let peer = Peer { session: &**session, namespace, reached, tally: &observed.tally };
    let answer = shared.service.answer(&peer, method, request, arguments).await;
    observed.end(&answer);
    answer
}

/// The client, if it said who it is not too long ago.
fn authorized(known: &Option<Result<Authorized, Error>>) -> Result<&Authorized, Error> {
    let missing = |message: &str| Error::new(ErrorKind::MissingAuthenticationToken, message);
    match known {
        None => Err(missing("Missing Authentication Token")),
        Some(Err(error)) => Err(error.clone()),
        Some(Ok(authorized)) if Instant::now() < authorized.until => Ok(authorized),
        Some(Ok(_)) => Err(missing("The authorization of this connection has expired")),
    }
}

fn refused(service: &Service, refusal: &Refusal) -> Writer {
    let mut writer = Writer::default();
    refusal.write(&service.request_id(), &service.lists, &mut writer);
    writer
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8], shared: &Shared) -> Result<(), Ended> {
    let written = async {
        stream.write_all(bytes).await?;
        stream.flush().await
    };
    let written = timeout(shared.limits.write_timeout, written).await;
    Ok(written.map_err(|_| Ended::Timeout("reading an answer"))??)
}

/// Reserves memory; dropping the permit gives it back.
async fn take_share(shared: &Shared, bytes: usize) -> Result<Option<OwnedSemaphorePermit>, Ended> {
    if bytes == 0 {
        return Ok(None);
    }
    let units = bytes.div_ceil(UNIT_BYTES).min(shared.limits.memory_bytes_max / UNIT_BYTES);
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    match timeout(shared.limits.share_timeout, shared.memory.clone().acquire_many_owned(units)).await {
        Ok(Ok(share)) => Ok(Some(share)),
        _ => Err(Ended::Busy),
    }
}

impl Incoming {
    /// The next request: its method and the bytes of its arguments.
    async fn request(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        shared: &Shared,
    ) -> Result<(Method, Bytes), Ended> {
        let end = self.values(stream, shared, 2).await?;
        let mut reader = Reader(&self.bytes[..end]);
        if reader.int()? != SERVICE {
            return Err(Malformed("there is no such service").into());
        }
        let method = Method::from_number(reader.int()?).ok_or(Malformed("there is no such method"))?;
        self.take(end);
        let end = self.values(stream, shared, method.argument_count()).await?;
        Ok((method, self.take(end)))
    }

    /// Waits until this many values have arrived, and returns where they end.
    async fn values(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        shared: &Shared,
        count: usize,
    ) -> Result<usize, Ended> {
        self.scan = Scan::default();
        for _ in 0..count {
            self.scan.next_value();
            while !self.scan.value_is_complete(&self.bytes)? {
                if self.scan.at.max(self.bytes.len()) > shared.limits.request_bytes_max {
                    return Err(Malformed("the request is too large").into());
                }
                self.more(stream, shared).await?;
            }
        }
        Ok(self.scan.at)
    }

    async fn more(&mut self, stream: &mut (impl AsyncRead + Unpin), shared: &Shared) -> Result<(), Ended> {
        let room = self.bytes.len().clamp(UNCOUNTED_BYTES / 4, UNCOUNTED_BYTES * 16);
        let counted = self.share.as_ref().map_or(0, |share| share.num_permits() * UNIT_BYTES);
        let wanted = (self.bytes.len() + room).saturating_sub(UNCOUNTED_BYTES + counted);
        if let Some(further) = take_share(shared, wanted).await? {
            match &mut self.share {
                Some(share) => share.merge(further),
                None => self.share = Some(further),
            }
        }
        self.bytes.reserve(room);
        match stream.read_buf(&mut self.bytes).await? {
            0 => Err(Ended::ByClient),
            _ => Ok(()),
        }
    }

    fn take(&mut self, end: usize) -> Bytes {
        self.bytes.split_to(end).freeze()
    }

    /// After an answer: gives back the memory of a large request.
    fn rest(&mut self) {
        if self.bytes.is_empty() && self.share.is_some() {
            self.bytes = BytesMut::new();
            self.share = None;
        }
    }
}

#[cfg(test)]
mod tests;
