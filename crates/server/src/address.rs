//! What the clients of one address have together: connections, requests in flight and memory.
//!
//! One address gets a share of each bound (`Limits::address_share_percent`), so a single machine can't take
//! everything, however many connections it opens. The addresses of one IPv6 /64 network count as one, because
//! a single machine usually owns all of them.

use crate::budget::Room;
use crate::limits::Limits;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) connections: AtomicUsize,
    requests: AtomicUsize,
    pub(crate) totals: Arc<Totals>,
    /// For large bodies.
    pub(crate) bodies: Room,
    /// For large answers.
    pub(crate) answers: Room,
}

/// What all addresses have together, and how often a bound was met since the server started.
#[derive(Debug)]
pub(crate) struct Totals {
    requests: AtomicUsize,
    requests_max: usize,
    address_requests_max: usize,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) requests_refused: AtomicU64,
    pub(crate) slow_disconnected: AtomicU64,
    pub(crate) handshakes_failed: AtomicU64,
}

impl Totals {
    pub(crate) fn new(limits: &Limits) -> Totals {
        Totals {
            requests: AtomicUsize::new(0),
            requests_max: limits.requests_max,
            address_requests_max: limits.of_one_address(limits.requests_max),
            connections_refused: AtomicU64::new(0),
            requests_refused: AtomicU64::new(0),
            slow_disconnected: AtomicU64::new(0),
            handshakes_failed: AtomicU64::new(0),
        }
    }

    /// Requests in flight.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

impl Address {
    pub(crate) fn new(limits: &Limits, totals: Arc<Totals>) -> Address {
        let room = |bytes_max| Room::new(limits.of_one_address(bytes_max));
        Address {
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            totals,
            bodies: room(limits.bodies_bytes_max),
            answers: room(limits.answers_bytes_max),
        }
    }
}

impl Address {
    pub(crate) fn begin_request(&self) {
        self.requests.fetch_add(1, Relaxed);
        self.totals.requests.fetch_add(1, Relaxed);
    }

    pub(crate) fn end_request(&self) {
        self.requests.fetch_sub(1, Relaxed);
        self.totals.requests.fetch_sub(1, Relaxed);
    }

    /// More requests are in flight than may be, from here or from all addresses.
    pub(crate) fn has_too_many_requests(&self) -> bool {
        let is_too_many = self.totals.requests() > self.totals.requests_max
            || self.requests.load(Relaxed) > self.totals.address_requests_max;
        if is_too_many {
            self.totals.requests_refused.fetch_add(1, Relaxed);
        }
        is_too_many
    }
}

/// What counts as one address.
pub fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_eq!(of("::1"), "::1".parse::<IpAddr>().unwrap());
    }
}
