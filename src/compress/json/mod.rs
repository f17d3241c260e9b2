//! JSON: records become a table, anything else becomes smaller JSON.

mod cut;
mod failing;
mod grow;
mod points;
mod records;
mod row;
mod tape;
mod tree;

pub(super) use cut::shortened;
pub(super) use records::{
    claims as claims_records, claims_lines, outline as records, outline_of_lines as records_of_lines,
};
pub(super) use tape::{Kind, Tape};
pub(super) use tree::{claims, is_shortened, shrink};
