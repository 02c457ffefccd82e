//! How much the clients of `lodestone serve` may take.

use std::time::Duration;

use clap::Args;
use server::Limits;

use crate::memory::MemoryShares;

const BOUNDS: &str = "How much clients may take";

#[derive(Args)]
pub struct BoundArguments {
    /// Connections at once. When all are taken, a new one replaces the one that has rested longest
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().connections_max,
          value_parser = count(), help_heading = BOUNDS)]
    max_connections: usize,

    /// Requests in flight at once. Further ones get a 503, which SDKs try again
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().requests_max,
          value_parser = count(), help_heading = BOUNDS)]
    max_requests: usize,

    /// Memory for large requests and large answers together, in MiB. What finds no room within 10 seconds gets a 503
    /// [default: 512, or a quarter of less than 2 GiB]
    #[arg(long, value_name = "MIB",
          value_parser = clap::value_parser!(u64).range(64..=8192), help_heading = BOUNDS)]
    max_request_memory: Option<u64>,

    /// How much of these bounds the clients of one address may take together, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = Limits::default().address_share_percent as u64,
          value_parser = clap::value_parser!(u64).range(1..=100), help_heading = BOUNDS)]
    address_share: u64,

    /// How long a client may take to send a request, in seconds; to send its head it never gets more than 10
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().body_timeout.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = BOUNDS)]
    send_timeout: u64,
}

fn count() -> impl clap::builder::TypedValueParser<Value = usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=1_000_000)
}

impl BoundArguments {
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        let memory_mib = self.max_request_memory.unwrap_or_else(|| MemoryShares::of_process().requests_mib);
        let half = (memory_mib as usize) << 19;
        let body_timeout = Duration::from_secs(self.send_timeout);
        Limits {
            connections_max: self.max_connections,
            requests_max: self.max_requests,
            address_share_percent: self.address_share as usize,
            bodies_bytes_max: half,
            answers_bytes_max: half,
            head_timeout: usual.head_timeout.min(body_timeout),
            body_timeout,
            ..usual
        }
    }
}
