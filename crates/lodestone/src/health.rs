//! `lodestone health`: whether a server serves, as an exit status.

use std::time::Duration;

use clap::Args;

use crate::endpoint::{EndpointArguments, URL_DEFAULT};
use crate::output;

/// Say whether a server can serve: exit status 0 if it can.
///
/// For health checks of containers and scripts that have no other client.
#[derive(Args)]
pub struct CheckHealth {
    #[command(flatten)]
    endpoint: EndpointArguments,

    /// How long the server may take to answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
}

impl CheckHealth {
    pub fn run(self) -> Result<(), String> {
        let url = self.endpoint.url().unwrap_or_else(|| URL_DEFAULT.to_owned());
        let address: client::Address =
            url.parse().map_err(|error: client::AddressError| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("can't start the runtime: {error}"))?;
        let (status, body) =
            runtime.block_on(client::get(&address, "/", Duration::from_secs(self.timeout)))?;
        let body = String::from_utf8_lossy(&body);
        match is_healthy(status, &body) {
            true => {
                output::print(&format!("{url} is healthy\n"));
                Ok(())
            }
            false => Err(format!("{url} answers with status {status}: {}", body.trim_end())),
        }
    }
}

/// A server that behaves as DynamoDB Local refuses a request without a signature, and is healthy if it does.
fn is_healthy(status: u16, body: &str) -> bool {
    match status {
        200 => body.starts_with("healthy: "),
        400 => body.contains("#MissingAuthenticationToken"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dynamodb_is_healthy() {
        assert!(is_healthy(200, "healthy: localhost:8000 "));
        assert!(is_healthy(
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#MissingAuthenticationToken"}"#
        ));
        for (status, body) in [(200, "<html>"), (503, "unhealthy: the disk is gone"), (404, ""), (400, "no")]
        {
            assert!(!is_healthy(status, body), "{status} {body}");
        }
    }
}
