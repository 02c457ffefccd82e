//! The server as a client meets it: bytes in, bytes out, over a real socket.

mod answers;
mod audit;
mod compression;
mod cors;
mod database;
mod encrypted;
mod flood;
mod health;
mod host;
mod keep_alive;
mod limits;
mod order;
mod pieces;
mod shutdown;
mod signature;
mod slow_clients;
mod support;
