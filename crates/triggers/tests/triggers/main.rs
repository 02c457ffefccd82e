//! Triggers as their users meet them: filters, deliveries, functions, the service as a whole.

mod delivery;
mod delivery_property;
mod engine;
mod event;
mod filter;
mod function;
mod service;
mod support;
