//! The workbench: a data model in one readable file, and everything that can be known about it before
//! a table exists.
//!
//! [`file::read`] turns YAML text into a [`Model`] or into diagnostics. A `Model` is checked: every name
//! refers to something, every template and quantity is parsed, and each part knows the [`Span`] of text it
//! came from. [`plan`] decides which request an access pattern becomes; rules, proofs, costs and code all
//! start from that decision, so they can't disagree about it.
//!
//! Pure: no input or output, no clock, no chance.
//!
//! | question | file |
//! |---|---|
//! | how is the file read, and what is wrong with it? | `file/`, one file a section; spans are kept down to the column |
//! | what does a model consist of? | `model/`: the checked types; made by `file/` alone, so what they say holds |
//! | what is a key template, and can two give the same key? | `template.rs`, `template/overlap.rs` |
//! | which request does a pattern become, and what is wrong with it? | `plan.rs`: everything else starts from its answer |
//! | what does an application send for it? | `request.rs`: whole requests; `request/given.rs` and `request/write_case.rs` choose values from example data |
//! | what must a read find? | `meaning.rs`: by attributes alone, apart from keys and plans |
//! | what does it lose by its limit, and what keeps an item unique? | `lost.rs`, `uniqueness.rs` |
//! | what does a request cost? | `predict.rs`: from items (`predict/item.rs`), or from what the file declares (`predict/typical.rs`; `predict/found.rs` says of how many items) |
//! | what do the patterns ask of a table or index each second? | `demand.rs`: costs, rules, heat and designs all sum it |
//! | what follows when an original changes? | `copies.rs`: updates of copies by a stream |
//! | which index keys does a request leave stale? | `index_keys.rs` |
//! | which reads does a cache answer? | `cache.rs`: by `cached` of a pattern |
//! | what does a model cost by the month? | `cost.rs`: patterns to lines (`cost/line.rs`), lines to a bill for each way to pay (`cost/bill.rs`); `cost/scaling.rs` plays auto scaling over a day |
//! | how hot does a key get, and what grows towards a limit? | `heat.rs`: `heat/key.rs` says how requests are distributed over keys, `heat/key_load.rs` the load that each pattern adds, `heat/forecast.rs` the rest |
//! | what cools a hot key, and for how much? | `heat/cure.rs`: R11, `heat` and `design` all ask it |
//! | what is throttled over a day? | `simulate.rs`: `simulate/traffic.rs` says how much there is when, `simulate/flow.rs` sends the requests, `simulate/supply.rs` has the throughput of the `capacity` crate, `simulate/svg.rs` draws |
//! | which prices and limits count? | `facts.rs` and `facts/prices.json`: dated, cited, replaceable |
//! | where does example data come from? | `sample.rs`: made from the templates, the same every time |
//! | what do commands print as JSON? | `results.rs`: the version, and a schema of each; for people, `docs/json.md` |
//! | what is known to go wrong? | `check/`, one file a rule; its page in `docs/rules/`, its models in `tests/workbench/rules/` |
//! | what do editors know of the file? | `schema.rs`, held to the readers by a test; for people, `docs/model-file.md` |
//! | what does a model look like? | `picture.rs` draws its tables, indexes, keys and patterns |
//! | what does an editor say about a place in the text? | `editor.rs`: a `Document` answers hover, completion, definition and quick fixes, also while the text is no model; `lodestone/src/lsp.rs` speaks the protocol |
//! | what cures a finding? | `diagnostic/fix.rs`: a rule names the change, `editor/edit.rs` makes it an edit of the text |
//! | what can assistants ask? | `lodestone/src/mcp.rs`; each tool of `mcp/tool.rs` is a command of `studio::workbench` |
//! | which keys serve given patterns? | `design.rs`: layouts proposed, judged by plans and prices, searched, put together, explained |
//! | how does a model become text again? | `file/write.rs` |
//! | how is a problem shown? | `diagnostic/`: text, JSON, SARIF |
//! | which entities are in given rows? | `learn/infer.rs`: `infer/kind.rs` says which rows are of one kind, the rest how their keys are made; scored on `tests/workbench/rows/` |
//! | how is a model made from something else than its file? | `draft.rs`: the sections of a file, checked like any other; `table_shape.rs` has tables as CreateTable takes them, `learn/table_contents.rs` reads an existing table |
//! | which patterns are in given requests? | `learn.rs`: `learn/shape.rs` counts requests without their values (bounded; a server fills it, `lodestone/src/requests.rs`), `learn/pattern.rs` finds entity and attributes by the key templates; scored by `proof/tests/proofs/learn.rs`; for people, `docs/learn.md` |
//! | what does a command do? | `lodestone/src/model/`, one file a command: arguments in, text or JSON out |
//! | what does a change of a model make worse? | `gate.rs`: two snapshots, what differs (`gate/difference.rs`), and what of it fails (`gate/judge.rs`); for people, `docs/gate.md` |
//! | how does a table get from one model to the next? | `migrate.rs`: what differs (`migrate/change.rs`), what that means for what is stored (`migrate/layout.rs`), the steps in order (`migrate/plan.rs`), their time and cost (`migrate/estimate.rs`); the `proof` crate plays it (`rehearse.rs`) and carries it out |

pub mod cache;
pub mod check;
pub mod copies;
pub mod cost;
pub mod demand;
pub mod design;
pub mod diagnostic;
pub mod draft;
pub mod dynamodb_json;
pub mod editor;
pub mod facts;
pub mod file;
pub mod gate;
pub mod heat;
pub mod index_keys;
pub mod learn;
pub mod lost;
pub mod meaning;
pub mod migrate;
pub mod model;
pub mod picture;
pub mod plan;
pub mod predicate;
pub mod predict;
pub mod request;
pub mod results;
pub mod sample;
pub mod schema;
pub mod simulate;
mod span;
pub mod table_shape;
pub mod template;
pub mod traffic;
pub mod uniqueness;

pub use diagnostic::{Diagnostic, Level, RuleId};
pub use model::Model;
pub use span::{Lines, Source, Span, Spanned};

/// A small model to start from; no rule finds anything in it.
pub const STARTER: &str = include_str!("starter.yaml");
