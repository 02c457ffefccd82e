//! Applies a model to a database that others use too: creates or changes its tables there, loads sample data, proves
//! its patterns.
//!
//! [`state`] looks at what is there, [`change`] decides what to do, which is all that a plan needs;
//! [`carry_out`] does it, one change at a time. No data is overwritten or
//! deleted, and no index without being asked. Proofs have tables of their own ([`proving_ground`]).

pub mod carry_out;
pub mod change;
pub mod load;
pub mod proving_ground;
pub mod state;

pub use carry_out::{Outcome, carry_out, wait_until_active};
pub use change::{TableChange, TableChanges, changes};
pub use load::{Loaded, load_samples};
pub use proving_ground::prove_beside;
pub use state::{State, observe};
