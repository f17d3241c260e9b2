//! A plan as data, from which another process gets the same plan.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::plan::Plan;
use crate::error::{Error, Result};

/// The key of [`Plan::to_json`] with the exact plan.
const REPLAY: &str = "replay";

/// Hexadecimal digits of a fingerprint. It has 128 bits, which do not fit into a JSON number.
const FINGERPRINT_DIGITS: usize = 32;

/// Advice for data that is not a plan.
const REMEDY: &str = "give the dict of `Plan.to_dict` unchanged, or make a new plan";

impl Plan {
    /// Reads a plan that [`Plan::to_json`] wrote, and returns an equal one. Only `replay` is read; the rest is for
    /// programs. The indices are checked against a conversation when the plan is applied. O(length).
    ///
    /// # Errors
    /// `Policy` with the wrong key if the value is not such a plan.
    pub fn from_json(value: &Value) -> Result<Plan> {
        let fields = match value.get(REPLAY) {
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err(refusal(REPLAY, "it is not an object")),
            None => return Err(refusal(REPLAY, "it is missing")),
        };
        let plan = Plan {
            format: field(fields, "format")?,
            spans: field(fields, "spans")?,
            fingerprint: fingerprint(&field::<String>(fields, "fingerprint")?)?,
            budget: field(fields, "budget")?,
            tokens_before: field(fields, "tokens_before")?,
            tokens_after: field(fields, "tokens_after")?,
            unchanged: field(fields, "unchanged")?,
            edits: list(fields, "edits")?,
            artifacts: list(fields, "artifacts")?,
            pending: field(fields, "pending")?,
            summary: field(fields, "summary")?,
            warnings: list(fields, "warnings")?,
            repairs: list(fields, "repairs")?,
        };
        plan.is_whole().map_err(|(key, problem)| refusal(&format!("{REPLAY}.{key}"), problem))?;
        Ok(plan)
    }

    /// Returns the whole plan, for [`Plan::from_json`].
    pub(super) fn exact(&self) -> Value {
        json!({
            "format": self.format,
            "spans": self.spans,
            "fingerprint": format!("{:0FINGERPRINT_DIGITS$x}", self.fingerprint),
            "budget": self.budget,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "unchanged": self.unchanged,
            "edits": self.edits,
            "artifacts": self.artifacts,
            "pending": self.pending,
            "summary": self.summary,
            "warnings": self.warnings,
            "repairs": self.repairs,
        })
    }
}

fn field<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str) -> Result<T> {
    let key = format!("{REPLAY}.{name}");
    read(fields.get(name).ok_or_else(|| refusal(&key, "it is missing"))?, &key)
}

/// A list, so that an error names the element.
fn list<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str) -> Result<Vec<T>> {
    let elements: Vec<&Value> = match fields.get(name) {
        Some(Value::Array(elements)) => elements.iter().collect(),
        Some(_) => return Err(refusal(&format!("{REPLAY}.{name}"), "it is not a list")),
        None => return Err(refusal(&format!("{REPLAY}.{name}"), "it is missing")),
    };
    let elements = elements.into_iter().enumerate();
    elements.map(|(index, element)| read(element, &format!("{REPLAY}.{name}[{index}]"))).collect()
}

fn read<T: DeserializeOwned>(value: &Value, key: &str) -> Result<T> {
    T::deserialize(value).map_err(|error| refusal(key, &error.to_string()))
}

fn fingerprint(text: &str) -> Result<u128> {
    let is_one = text.len() == FINGERPRINT_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fingerprint = is_one.then(|| u128::from_str_radix(text, 16).ok()).flatten();
    fingerprint.ok_or_else(|| {
        refusal(&format!("{REPLAY}.fingerprint"), &format!("it is not {FINGERPRINT_DIGITS} hexadecimal digits"))
    })
}

fn refusal(key: &str, problem: &str) -> Error {
    Error::Policy { setting: key.to_owned(), problem: format!("{problem}; {REMEDY}") }
}
