//! Who sends a request, and what they may do: AWS's signatures and policies.
//!
//! Two questions, each with its own half of the crate:
//! 1. Who is it? [`signature`] reads a request's signature, [`Authority`] verifies it with the keys of the access
//!    file ([`file`], checked and indexed as a [`Directory`]). The answer is an [`Identity`].
//! 2. May they? [`evaluate`] holds an action on a resource against the identity's policies and the resource's own
//!    ([`Policy`]), and says which statement decides.
//!
//! The crate is pure: no clock, no chance, no input or output. It knows no operation of DynamoDB; the engine says which
//! actions, resources and condition keys a request has.
//!
//! | question | file |
//! |---|---|
//! | what may an access file say, and what does it mean? | `file.rs` as written, `directory.rs` checked and indexed by key; `sealed.rs` for secrets that are encrypted in it |
//! | who sent a request? | `signature.rs`: the parts and the checks that need no key; `canonical.rs`: what is signed; `authority.rs` verifies |
//! | what is a policy? | `policy.rs`, with `pattern.rs`, `condition.rs`, `principal.rs`; `canonical_policy.rs` prints it |
//! | may this identity do this? | `evaluate.rs`: the answer names the statement that decides |
//! | which policies look safe and are not? | `weakness.rs` |
//! | where does a running server get keys from? | `lodestone/access_file.rs` loads and follows the file; `lodestone/access.rs` is the command |

#![warn(missing_docs)]

mod authority;
mod canonical;
mod canonical_policy;
mod condition;
mod context;
mod directory;
mod evaluate;
pub mod file;
mod identity;
mod managed;
mod pattern;
mod policy;
mod principal;
mod sealed;
pub mod signature;
mod time;
mod weakness;

pub use authority::{Authority, Claim};
pub use context::{Circumstances, Context, NoContext};
pub use directory::{Directory, DirectoryError};
pub use evaluate::{
    Decision, Denial, Explanation, PolicyKind, Question, ResourcePolicy, StatementName, evaluate,
};
pub use identity::{Identity, IdentityKind};
pub use managed::{MANAGED_POLICIES, managed_policy};
pub use policy::{Effect, POLICY_BYTES_MAX, Policy, PolicyError, PolicyUse};
pub use sealed::{SealError, SealingKey};
pub use signature::SignatureError;
pub use weakness::{Weakness, weaknesses};
