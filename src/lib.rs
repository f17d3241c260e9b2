//! The core of ullage: a context engine for LLM agents.
//!
//! A conversation that nearly exceeds its model's window goes in, and a [`planner::Plan`] comes out. The plan is a list
//! of edits. They bring the conversation inside its budget, keep it valid for the provider, and name the place of
//! everything that was removed. The core takes values and returns values: it knows no Python, no network, no clock and
//! no environment.
//!
//! This crate is internal. The Python package is the public interface; a module here may change in any release.
//!
//! The modules are floors, and a module uses only floors below its own (`tests/core/floors.rs` checks it):
//!
//! | floor | modules |
//! |---|---|
//! | 1 words | [`numbers`], [`text`], [`anchors`], [`error`], [`parallel`], [`shared`], [`media`], [`tokens`] |
//! | 2 conversation | [`message`] |
//! | 3 reading and judging | [`wire`], [`invariants`], [`ledger`] |
//! | 4 means | [`compress`], [`store`], [`validity`], and above them [`calls`], [`digest`], [`history`] |
//! | 5 decisions as data | [`summary`], [`policy`], [`economics`], [`budget`], [`edit`], [`working_copy`], [`report`] |
//! | 6 stages | [`stages`] |
//! | 7 planner | [`planner`] |
//! | 8 engine | [`engine`], [`replay`] |
//! | 9 view | [`view`] |

pub mod anchors;
pub mod budget;
pub mod calls;
pub mod compress;
pub mod digest;
pub mod economics;
pub mod edit;
pub mod engine;
pub mod error;
pub mod history;
pub mod invariants;
pub mod ledger;
pub mod media;
pub mod message;
pub mod numbers;
pub mod parallel;
pub mod planner;
pub mod policy;
#[cfg(feature = "replay")]
pub mod replay;
pub mod report;
pub mod shared;
pub mod stages;
pub mod store;
pub mod summary;
pub mod text;
pub mod tokens;
pub mod validity;
pub mod view;
pub mod wire;
pub mod working_copy;

#[cfg(feature = "python")]
mod bindings;
