//! The service as its clients meet it, and what it does with tables each minute.

mod api;
mod scaling;
mod schedule;
mod support;
