//! A model, applied to a database that others use too: its tables are made or changed there, sample data is
//! loaded, its patterns are proven.
//!
//! First what is there is looked at ([`state`]), then what is to be done is decided ([`change`]), which is
//! all that a plan needs; then it is done, one change at a time ([`carry_out`]). No data is overwritten or
//! deleted, and no index without being asked. Proofs have tables of their own ([`proving_ground`]).

pub mod carry_out;
pub mod change;
pub mod load;
pub mod proving_ground;
pub mod state;

pub use carry_out::{Outcome, carry_out, wait_until_active};
pub use change::{Change, Changes, changes};
pub use load::{Loaded, load_samples};
pub use proving_ground::prove_beside;
pub use state::{State, observe};
