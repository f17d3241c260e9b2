//! The limits of models that the core knows, for `ullage.ModelCatalog`.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::text::PyText;
use crate::policy::Policy;
use crate::tokens::{ModelLimits, by_beginning, limits_of_model};

/// The window, the input limit and the output limit.
type Limits = (usize, usize, Option<usize>);

fn plain(limits: ModelLimits) -> Limits {
    (limits.window, limits.max_input, limits.max_output)
}

#[pyfunction]
pub fn known_limits(model: &Bound<'_, PyString>) -> Option<Limits> {
    limits_of_model(&PyText::of(model)).map(plain)
}

#[pyfunction]
pub fn unknown_limits() -> Limits {
    plain(ModelLimits::UNKNOWN)
}

#[pyfunction]
pub fn longest_beginning(model: &Bound<'_, PyString>, beginnings: Vec<Bound<'_, PyString>>) -> Option<usize> {
    let table: Vec<(String, usize)> =
        beginnings.into_iter().map(|name| PyText::of(&name).to_string()).zip(0..).collect();
    by_beginning(&PyText::of(model), &table).copied()
}

/// Returns the window and the reserve of a policy for a model with these limits.
#[pyfunction]
#[pyo3(signature = (limits, reserve_output = None))]
pub fn window_and_reserve(limits: Limits, reserve_output: Option<usize>) -> (usize, usize) {
    let (window, max_input, max_output) = limits;
    let policy = Policy::for_limits(ModelLimits { window, max_input, max_output }, reserve_output);
    (policy.window, policy.reserve_output)
}
