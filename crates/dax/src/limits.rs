//! How much clients of DAX may ask for, and how long they may take.
//!
//! What they can keep in memory is about
//!
//! ```text
//! connections_max × CONNECTION  +  memory_bytes_max
//!            1024 ×     16 KiB  +           256 MiB  =  272 MiB
//! ```
//!
//! in addition to the caches. The first term is a small request of every connection. The second is all larger requests,
//! each as far as it has come in, and the largest answers that requests under way can have.

use std::net::IpAddr;
use std::time::Duration;

/// The bounds of the server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections served at once. When all are taken, a new one replaces the one that has rested longest.
    pub connections_max: usize,
    /// The same for those that come from one address.
    pub address_connections_max: usize,
    /// What counts as one address.
    pub network: fn(IpAddr) -> IpAddr,
    /// One request. An item has 400 KB, a batch of writes 16 MB.
    pub request_bytes_max: usize,
    /// All large requests and answers together.
    pub memory_bytes_max: usize,
    /// From the connection to the end of its first five values, TLS included.
    pub greeting_timeout: Duration,
    /// How long a connection may rest between requests.
    pub idle_timeout: Duration,
    /// From the first byte of a request to its last.
    pub request_timeout: Duration,
    /// How long a client may take to read an answer.
    pub write_timeout: Duration,
    /// How long a large request or answer waits for its share of memory.
    pub share_timeout: Duration,
    /// How long requests under way may take to finish once the server is asked to stop.
    pub shutdown_timeout: Duration,
    /// How long a client is known after it said who it is. Clients say it again after half that time.
    pub authorization_lifetime: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1024,
            address_connections_max: 768,
            network: |address| address,
            request_bytes_max: 17 << 20,
            memory_bytes_max: 256 << 20,
            greeting_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(180),
            request_timeout: Duration::from_secs(120),
            write_timeout: Duration::from_secs(30),
            share_timeout: Duration::from_secs(10),
            shutdown_timeout: Duration::from_secs(10),
            authorization_lifetime: Duration::from_secs(300),
        }
    }
}
