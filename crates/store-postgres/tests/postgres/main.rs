//! The store on a real PostgreSQL. One binary, so that one server serves all tests.

mod cancelled;
mod conflict;
mod conformance;
mod failover;
mod limits;
mod lost_connection;
mod proxy;
mod scan;
mod schema;
mod sharing;
mod snapshot;
mod support;
mod test_server;
mod tls;
