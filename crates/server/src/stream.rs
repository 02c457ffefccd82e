//! A socket with patience.
//!
//! hyper can time request heads, but with a timer made anew for each request, and it counts the rest
//! between requests as part of the next head. Here one timer a connection, set once and moved only when it
//! runs out, tells the two apart and costs a request next to nothing. Bodies have their own timeout, and
//! while a request is being answered nobody is waiting for the client.

use crate::limits::Limits;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// A client that still sends when the connection is closed gets this long and this much to notice. To
/// close on unread bytes is to reset, and a reset overtakes the answer that explains it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How far the connection's requests are, told by the one who answers them: even between requests, odd
/// while one is answered.
#[derive(Debug, Default)]
pub(crate) struct Progress(AtomicU64);

impl Progress {
    pub(crate) fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the client is expected to send.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// Anything at all, since then.
    Request(Instant),
    /// The rest of a head whose first bytes came then.
    RestOfHead(Instant),
}

/// How far the closing is.
enum Linger {
    NotYet,
    /// Our side is closed; so many bytes have come since and were thrown away.
    Since(Instant, usize),
}

pub(crate) struct PatientStream {
    inner: TokioIo<TcpStream>,
    progress: Arc<Progress>,
    seen: u64,
    awaited: Awaited,
    read_timer: Pin<Box<Sleep>>,
    /// Made when the client first leaves its side full: few ever do.
    write_timer: Option<Pin<Box<Sleep>>>,
    stalled_since: Option<Instant>,
    linger: Linger,
    idle_timeout: Duration,
    head_timeout: Duration,
    write_timeout: Duration,
}

impl PatientStream {
    pub(crate) fn new(stream: TcpStream, progress: Arc<Progress>, limits: &Limits) -> PatientStream {
        let now = Instant::now();
        PatientStream {
            inner: TokioIo::new(stream),
            seen: progress.now(),
            progress,
            // A client that connects and says nothing has less credit than one that was served.
            awaited: Awaited::RestOfHead(now),
            read_timer: Box::pin(sleep_until(now + limits.head_timeout)),
            write_timer: None,
            stalled_since: None,
            linger: Linger::NotYet,
            idle_timeout: limits.idle_timeout,
            head_timeout: limits.head_timeout,
            write_timeout: limits.write_timeout,
        }
    }

    /// Notes whether a request has been answered since; `true` if one is being answered now.
    fn is_answering(&mut self) -> bool {
        let progress = self.progress.now();
        if progress != self.seen {
            self.seen = progress;
            self.awaited = Awaited::Request(Instant::now());
        }
        progress % 2 == 1
    }

    fn poll_read_deadline(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let deadline = match self.awaited {
            Awaited::Request(since) => since + self.idle_timeout,
            Awaited::RestOfHead(since) => since + self.head_timeout,
        };
        // The timer is left as it was set for an earlier wait, unless that is too late for this one; when
        // it runs out too early it is set again. So a busy connection never touches it.
        if deadline < self.read_timer.deadline() {
            self.read_timer.as_mut().reset(deadline);
        }
        loop {
            ready!(self.read_timer.as_mut().poll(context));
            if Instant::now() >= deadline {
                return Poll::Ready(timed_out("the client took too long to send a request"));
            }
            self.read_timer.as_mut().reset(deadline);
        }
    }

    /// Keeps the time of writes that make no progress.
    fn poll_stalled<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled_since = None;
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

impl PatientStream {
    /// Reads on while the client sends, until it stops, closes or outstays its time. A client that is
    /// silent when the connection closes is not waited for.
    fn poll_linger(&mut self, context: &mut Context<'_>, since: Instant, mut bytes: usize) -> Poll<()> {
        let mut discarded = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(self.inner.inner_mut()).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => bytes += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if bytes == 0 => return Poll::Ready(()),
                Poll::Pending => {
                    self.linger = Linger::Since(since, bytes);
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

fn timed_out(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, message)
}

impl Read for PatientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if self.is_answering() {
            return read;
        }
        match read {
            Poll::Ready(result) => {
                if let Awaited::Request(_) = self.awaited {
                    self.awaited = Awaited::RestOfHead(Instant::now());
                }
                Poll::Ready(result)
            }
            Poll::Pending => self.poll_read_deadline(context).map(Err),
        }
    }
}

impl Write for PatientStream {
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
        let (since, bytes) = match self.linger {
            Linger::Since(since, bytes) => (since, bytes),
            Linger::NotYet => {
                ready!(Pin::new(&mut self.inner).poll_shutdown(context))?;
                (Instant::now(), 0)
            }
        };
        self.poll_linger(context, since, bytes).map(Ok)
    }
}
