//! A host of functions: a real HTTP server on a free port that takes Lambda's Invoke.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What the host saw of a call.
pub struct Call {
    pub path: String,
    pub invocation_type: Option<String>,
    pub event: Bytes,
}

pub type Answering = dyn Fn(&Call) -> Response<Full<Bytes>> + Send + Sync;

/// Serves calls until the test ends. The receiver gets each call once it is answered.
pub async fn serve(
    answer: impl Fn(&Call) -> Response<Full<Bytes>> + Send + Sync + 'static,
) -> (SocketAddr, mpsc::UnboundedReceiver<Call>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (sender, receiver) = mpsc::unbounded_channel();
    let answer: Arc<Answering> = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (answer, sender) = (answer.clone(), sender.clone());
            let service = service_fn(move |request| take(request, answer.clone(), sender.clone()));
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    (address, receiver)
}

async fn take(
    request: Request<Incoming>,
    answer: Arc<Answering>,
    calls: mpsc::UnboundedSender<Call>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let invocation_type = head.headers.get("x-amz-invocation-type");
    let call = Call {
        path: head.uri.path().to_owned(),
        invocation_type: invocation_type.map(|text| text.to_str().unwrap_or_default().to_owned()),
        event: body.collect().await.expect("a body").to_bytes(),
    };
    let response = answer(&call);
    // A test that has seen enough no longer listens.
    let _ = calls.send(call);
    Ok(response)
}

/// An answer with status 200.
pub fn ok(body: &'static str) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from_static(body.as_bytes())))
}
