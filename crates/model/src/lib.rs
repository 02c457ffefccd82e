//! The workbench: a data model in one readable file, and everything that can be known about it before
//! a table exists.
//!
//! [`file::read`] turns YAML text into a [`Model`] or into diagnostics. A `Model` is checked: every name
//! refers to something, every template and quantity is parsed, and each part knows the [`Span`] of text it
//! came from. [`plan`] decides which request an access pattern becomes; rules, proofs, costs and code all
//! start from that decision, so they can't disagree about it.
//!
//! Pure: no input or output, no clock, no chance.

pub mod cache;
pub mod check;
pub mod cost;
pub mod demand;
pub mod design;
pub mod diagnostic;
pub mod draft;
pub mod dynamodb_json;
pub mod editor;
pub mod facts;
pub mod file;
pub mod heat;
pub mod learn;
pub mod meaning;
pub mod migrate;
pub mod model;
pub mod plan;
pub mod predicate;
pub mod predict;
pub mod request;
pub mod sample;
pub mod schema;
pub mod simulate;
mod span;
pub mod table_shape;
pub mod template;
pub mod traffic;

pub use diagnostic::{Diagnostic, Level, RuleId};
pub use model::Model;
pub use span::{Source, Span, Spanned};

/// A small model to start from; no rule finds anything in it.
pub const STARTER: &str = include_str!("starter.yaml");
