//! Expressions and statements of PartiQL as requests bring them: parsed, refused, evaluated.

mod condition;
mod key_condition;
mod model;
mod partiql_access;
mod partiql_limits;
mod partiql_properties;
mod partiql_statements;
mod partiql_update;
mod partiql_where;
mod placeholders;
mod projection;
mod support;
mod syntax;
mod update;
