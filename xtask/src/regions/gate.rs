//! The way from one server to another: an address that stays the same while the server behind it is killed and started
//! again elsewhere, and that can be closed, as a network fails.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes on every byte while it is open.
pub struct Gate {
    pub address: SocketAddr,
    server: Arc<Mutex<Option<SocketAddr>>>,
    is_open: watch::Sender<bool>,
}

impl Gate {
    pub async fn open() -> Result<Gate> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let (is_open, watched) = watch::channel(true);
        let target = server.clone();
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                let target = *target.lock().unwrap_or_else(PoisonError::into_inner);
                let mut watched = watched.clone();
                if let Some(target) = target.filter(|_| *watched.borrow()) {
                    tokio::spawn(async move {
                        tokio::select! {
                            () = pass_on(from, target) => {}
                            // Closed, or the campaign has ended: both ends see a broken connection.
                            _ = watched.wait_for(|is_open| !is_open) => {}
                        }
                    });
                }
            }
        });
        Ok(Gate { address, server, is_open })
    }

    pub fn leads_to(&self, server: SocketAddr) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
    }

    /// Lets connections through, or breaks those that are there and all new ones.
    pub fn set_open(&self, is_open: bool) {
        self.is_open.send_replace(is_open);
    }
}

async fn pass_on(mut from: TcpStream, target: SocketAddr) {
    if let Ok(mut to) = TcpStream::connect(target).await {
        // Whichever side ends first ends both.
        let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
    }
}
