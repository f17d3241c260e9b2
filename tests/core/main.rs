//! The tests of the core, as one program: the crate is linked once, and the tests of all modules share the cores.
//!
//! The folders follow those of `src/`. [`support`] has the generated conversations and the oracles.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::similar_names,
    clippy::unwrap_used,
    reason = "a helper of a test fails the test, and may be slow"
)]

mod calls;
mod compress;
mod digest;
mod floors;
mod plan;
mod store;
mod support;
mod tokens;
mod validity;
mod view;
mod wire;
