//! The studio as a browser, a stranger's page and a script meet it: requests in, responses out, on a real engine.

mod builder;
mod change;
mod code;
mod guard;
mod model;
mod model_files;
mod operate;
mod page;
mod pattern;
mod read_only;
mod support;
