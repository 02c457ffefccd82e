//! The database that a command of the workbench talks to.

use std::process::ExitCode;
use std::sync::Arc;

use client::Client;
use proof::{Answer, Endpoint};

use super::{UNREADABLE, output};
pub use crate::endpoint::{EndpointArguments, explained};

impl EndpointArguments {
    /// The endpoint. If there is none, the reason is printed and the exit status is returned.
    pub fn open(&self) -> Result<Arc<Http>, ExitCode> {
        self.client(None).map(|client| Arc::new(Http(client))).map_err(|problem| {
            output::print_error(&problem);
            ExitCode::from(UNREADABLE)
        })
    }
}

/// A database behind an address.
pub struct Http(Client);

impl Http {
    pub fn address(&self) -> String {
        self.0.address().to_string()
    }
}

impl Endpoint for Http {
    fn send<'a>(&'a self, operation: &'a str, body: Vec<u8>) -> Answer<'a> {
        Box::pin(self.0.send(operation, body))
    }

    /// Databases on this machine answer consistently at once; AWS's global indexes lag behind their tables.
    fn is_immediate(&self) -> bool {
        self.0.address().is_loopback()
    }
}

/// The runtime for requests.
pub fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a process may have sockets and timers")
}
