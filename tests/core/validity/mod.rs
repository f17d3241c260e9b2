mod invariants;
mod mending;
mod pairs_by_place;
mod rules;
mod ties;
