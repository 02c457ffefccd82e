//! A stream that closes on clients that take too long, and that checks what they send.
//!
//! hyper can time request heads, but it makes a timer for each request, and counts the rest between
//! requests as part of the next head. Here a connection has one timer, which is moved only when it runs
//! out. It tells rest and head apart and costs a request next to nothing. Bodies have their own timeout,
//! and while a request is worked on nothing is expected of the client.
//!
//! Over HTTP/2 the bytes between requests may be anything (pings, windows), so there a connection rests until
//! its next request is complete. Its first request has to come as soon as over HTTP/1.1.

use crate::framing::Framing;
use crate::limits::Limits;
use crate::peer::{Awaits, Peer};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// A client that still sends when the connection is closed gets this long and this much to notice. To
/// close a socket with unread bytes is to reset it, and a reset overtakes the answer that explains it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What the bytes of the stream are.
enum Protocol {
    /// Lines and bodies.
    Http1(Framing),
    /// Frames, which hyper checks alone.
    Http2,
}

/// What the client is expected to send.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// A request, since then.
    Request(Instant),
    /// The rest of a head whose first bytes came then.
    RestOfHead(Instant),
}

/// How far the closing is.
enum Closing {
    NotYet,
    /// When our side closed, and how many bytes have come since and were thrown away.
    Since(Instant, usize),
}

pub(crate) struct TimedStream<S> {
    inner: S,
    peer: Arc<Peer>,
    protocol: Protocol,
    /// The peer's steps when they were last looked at.
    steps_seen: u64,
    expected: Expected,
    read_timer: Pin<Box<Sleep>>,
    /// The timer will wake the connection's task.
    timer_runs: bool,
    /// Made when the client first leaves its side full: few ever do.
    write_timer: Option<Pin<Box<Sleep>>>,
    stalled_since: Option<Instant>,
    closing: Closing,
    idle_timeout: Duration,
    head_timeout: Duration,
    write_timeout: Duration,
}

impl<S: AsyncRead + Unpin> TimedStream<S> {
    pub(crate) fn http1(stream: S, peer: Arc<Peer>, limits: &Limits) -> TimedStream<S> {
        TimedStream::new(stream, Protocol::Http1(Framing::new()), peer, limits)
    }

    pub(crate) fn http2(stream: S, peer: Arc<Peer>, limits: &Limits) -> TimedStream<S> {
        TimedStream::new(stream, Protocol::Http2, peer, limits)
    }

    fn new(stream: S, protocol: Protocol, peer: Arc<Peer>, limits: &Limits) -> TimedStream<S> {
        let now = Instant::now();
        TimedStream {
            inner: stream,
            protocol,
            steps_seen: peer.steps(),
            peer,
            // A client that connects and sends nothing gets less time than one that was served.
            expected: Expected::RestOfHead(now),
            read_timer: Box::pin(sleep_until(now + limits.head_timeout)),
            timer_runs: false,
            write_timer: None,
            stalled_since: None,
            closing: Closing::NotYet,
            idle_timeout: limits.idle_timeout,
            head_timeout: limits.head_timeout,
            write_timeout: limits.write_timeout,
        }
    }

    /// Notes whether a request has been answered since; `true` if one is being answered now.
    fn is_answering(&mut self) -> bool {
        let steps = self.peer.steps();
        let is_answering = steps % 2 == 1 || self.peer.streams_open() > 0;
        if steps != self.steps_seen && !is_answering {
            self.steps_seen = steps;
            self.expected = Expected::Request(self.peer.kept_up());
        }
        is_answering
    }

    fn set_awaits(&self, awaits: Awaits, now: Instant) {
        // The client may send its next request before it has read an answer that holds memory.
        if self.peer.awaits() != Awaits::Reading {
            self.peer.await_from(awaits, now);
        }
    }

    fn poll_read_deadline(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let deadline = match self.expected {
            Expected::Request(since) => since + self.idle_timeout,
            Expected::RestOfHead(since) => since + self.head_timeout,
        };
        // The timer stays as it was set for an earlier wait, unless that is too late for this one. When it
        // runs out too early it is set again. So a busy connection never touches it.
        if deadline < self.read_timer.deadline() {
            self.read_timer.as_mut().reset(deadline);
        }
        loop {
            ready!(self.poll_read_timer(context));
            if Instant::now() >= deadline {
                return Poll::Ready(timed_out("the client took too long to send a request"));
            }
            self.read_timer.as_mut().reset(deadline);
        }
    }

    fn poll_read_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let poll = self.read_timer.as_mut().poll(context);
        self.timer_runs = poll.is_pending();
        poll
    }

    /// Has the connection looked at again some time after a request that is worked on now: hyper, which has
    /// found the stream without bytes, does not read again when it has sent the answer.
    fn keep_timer_running(&mut self, context: &mut Context<'_>) {
        if !self.timer_runs || self.read_timer.is_elapsed() {
            self.read_timer.as_mut().reset(Instant::now() + self.idle_timeout);
            let _ = self.poll_read_timer(context);
        }
    }

    /// The client has begun a request and not sent all of it.
    fn is_within_request(&self) -> bool {
        match &self.protocol {
            Protocol::Http1(framing) => framing.is_within_request(),
            Protocol::Http2 => false,
        }
    }

    /// Reads on while the client sends, until it stops, closes or is out of time. A client that has sent whole
    /// requests, and sends nothing when the connection closes, is not waited for.
    fn poll_linger(&mut self, context: &mut Context<'_>, since: Instant, mut bytes: usize) -> Poll<()> {
        let mut discarded = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut self.inner).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => bytes += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if bytes == 0 && !self.is_within_request() => return Poll::Ready(()),
                Poll::Pending => {
                    self.closing = Closing::Since(since, bytes);
                    self.read_timer.as_mut().reset(since + LINGER);
                    return self.read_timer.as_mut().poll(context);
                }
            }
            if bytes > LINGER_BYTES_MAX {
                return Poll::Ready(());
            }
        }
    }
}

impl<S> TimedStream<S> {
    /// Times writes that make no progress, and credits the client with those that do.
    fn poll_stalled(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = &written {
            self.stalled_since = None;
            if let (Ok(bytes), Awaits::Reading) = (result, self.peer.awaits()) {
                self.peer.credit(*bytes);
            }
            return written;
        }
        let since = *self.stalled_since.get_or_insert_with(Instant::now);
        let deadline = since + self.write_timeout;
        let timer = self.write_timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(timed_out("the client took too long to read its answer")))
    }
}

fn timed_out(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, message)
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Protocol::Http1(framing) = &mut self.protocol
            && let Some(end) = framing.end_of_refused()
        {
            let fitting = end.len().min(buffer.remaining());
            buffer.put_slice(&end[..fitting]);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if let Protocol::Http1(framing) = &mut self.protocol {
            framing.check(&mut buffer.filled_mut()[before..]);
        }
        if self.is_answering() {
            if read.is_pending() {
                self.keep_timer_running(context);
            }
            return read;
        }
        match read {
            Poll::Ready(result) => {
                if let (Expected::Request(_), Protocol::Http1(_)) = (self.expected, &self.protocol) {
                    let now = Instant::now();
                    self.expected = Expected::RestOfHead(now);
                    self.set_awaits(Awaits::Head, now);
                }
                Poll::Ready(result)
            }
            Poll::Pending => self.poll_read_deadline(context).map(Err),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.poll_stalled(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.poll_stalled(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (since, bytes) = match self.closing {
            Closing::Since(since, bytes) => (since, bytes),
            Closing::NotYet => {
                ready!(Pin::new(&mut self.inner).poll_shutdown(context))?;
                (Instant::now(), 0)
            }
        };
        self.poll_linger(context, since, bytes).map(Ok)
    }
}
