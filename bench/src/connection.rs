//! A connection that does the minimum of a client: it writes prepared request bytes and reads one reply. HTTP is
//! kept alive, and a reply without a Content-Length is refused.

use std::io::{ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::protocol::{Frame, HEADERS_MAX, Protocol, malformed};

pub struct Connection<S = TcpStream> {
    protocol: Protocol,
    stream: S,
    /// The reply being read; its storage is kept from one exchange to the next.
    buffer: Vec<u8>,
}

/// A reply, borrowed from its connection until the next exchange.
pub struct Reply<'a> {
    pub status: u16,
    pub headers: Vec<(&'a str, &'a [u8])>,
    pub body: &'a [u8],
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Connection> {
        Connection::greet(Protocol::DynamoDb, address).await
    }

    /// Ready for requests of a protocol; the tables are there.
    pub async fn open_for(protocol: Protocol, address: SocketAddr) -> Result<Connection> {
        let mut connection = Connection::greet(protocol, address).await?;
        connection.exchange_all(protocol.preparation()).await?;
        Ok(connection)
    }

    /// Not prepared for requests yet.
    pub async fn greet(protocol: Protocol, address: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut connection = Connection { protocol, ..Connection::over(stream) };
        connection.exchange_all(protocol.greeting()).await?;
        Ok(connection)
    }

    /// A new connection to the same address.
    pub async fn again(&self) -> Result<Connection> {
        Connection::open_for(self.protocol, self.address()?).await
    }

    /// Sends messages that must succeed.
    pub async fn exchange_all(&mut self, messages: Vec<Vec<u8>>) -> Result<()> {
        for message in messages {
            match self.exchange(&message).await? {
                (200, _) => {}
                (_, body) => return Err(malformed(String::from_utf8_lossy(body))),
            }
        }
        Ok(())
    }

    /// Where it leads to, while it is open.
    pub fn address(&self) -> Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Over a stream that is open already.
    pub fn over(stream: S) -> Connection<S> {
        Connection { protocol: Protocol::DynamoDb, stream, buffer: Vec::with_capacity(32 * 1024) }
    }

    /// Sends a request and returns the status and the body of its reply.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        let frame = self.round_trip(request).await?;
        Ok((frame.status, &self.buffer[frame.body_start..]))
    }

    /// Like [`Connection::exchange`], with the headers.
    pub async fn exchange_whole(&mut self, request: &[u8]) -> Result<Reply<'_>> {
        let frame = self.round_trip(request).await?;
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        response.parse(&self.buffer[..frame.body_start]).map_err(malformed)?;
        let headers = response.headers.iter().map(|header| (header.name, header.value)).collect();
        Ok(Reply { status: frame.status, headers, body: &self.buffer[frame.body_start..] })
    }

    /// Afterwards the buffer holds exactly one reply.
    async fn round_trip(&mut self, request: &[u8]) -> Result<Frame> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let Some(frame) = self.protocol.frame(&self.buffer)? else { continue };
            let missing = (frame.body_start + frame.body_length).saturating_sub(self.buffer.len());
            if missing > 0 {
                let filled = self.buffer.len();
                self.buffer.resize(filled + missing, 0);
                self.stream.read_exact(&mut self.buffer[filled..]).await?;
            }
            return Ok(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Serves one connection: after each request of `request_length` bytes, the parts of the next reply.
    async fn serve(request_length: usize, replies: Vec<Vec<&'static str>>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            for pieces in replies {
                stream.read_exact(&mut vec![0; request_length]).await.unwrap();
                for piece in pieces {
                    stream.write_all(piece.as_bytes()).await.unwrap();
                    tokio::task::yield_now().await;
                }
            }
        });
        address
    }

    #[tokio::test]
    async fn replies_arrive_whole_however_they_are_cut() {
        let whole = vec!["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"];
        let cut = vec!["HTTP/1.1 400 Bad", " Request\r\ncontent-length: 5\r\n\r", "\n12", "345"];
        let mut connection = Connection::open(serve(4, vec![whole, cut]).await).await.unwrap();

        assert_eq!(connection.exchange(b"one!").await.unwrap(), (200, &b"{}"[..]));
        assert_eq!(connection.exchange(b"two!").await.unwrap(), (400, &b"12345"[..]));
        assert!(connection.exchange(b"gone").await.is_err(), "a closed connection is an error");
    }

    #[tokio::test]
    async fn a_reply_without_a_length_is_refused() {
        let mut connection =
            Connection::open(serve(1, vec![vec!["HTTP/1.1 200 OK\r\n\r\n"]]).await).await.unwrap();
        assert_eq!(connection.exchange(b"x").await.unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
