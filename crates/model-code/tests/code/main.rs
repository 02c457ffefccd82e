//! Code that is printed: access patterns, modules for applications, single requests.

mod pattern;
mod request;
