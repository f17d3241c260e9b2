//! Policies from settings in JSON, and policies with some settings changed.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Level, Policy};
use crate::error::{Result, SettingProblem, shown};
use crate::store::nearest;

/// Settings by name.
pub type Settings = Map<String, Value>;

/// A window that is given without a reserve limits the reserve: see [`Policy::in_window`].
const WINDOW: &str = "window";
const RESERVE: &str = "reserve_output";

/// The setting whose values are settings themselves.
const LEVELS: &str = "levels";

impl Policy {
    /// Returns the policy with some settings changed. A new value replaces the old one. A `window` without a
    /// `reserve_output` keeps the reserve, but at most a quarter of the window. `levels` may be a list, the new ladder,
    /// or an object that changes some levels by number: `{"2": {"recent": 0.5}}`.
    ///
    /// # Errors
    /// `Settings` with every setting that is unknown, cannot be read, is out of range or contradicts another.
    pub fn replace(&self, mut changes: Settings) -> Result<Policy> {
        let mut problems = Vec::new();
        let levels = changes.shift_remove(LEVELS);
        let has_usual_reserve = changes.contains_key(WINDOW) && !changes.contains_key(RESERVE);
        let mut policy = replaced(self, "", changes, &mut problems);
        if has_usual_reserve {
            let window = policy.window;
            policy = policy.in_window(window);
        }
        if let Some(levels) = levels {
            policy.levels = self.ladder(levels, &mut problems);
        }
        policy.without_problems(problems)
    }

    /// Returns the ladder after a change. A wrong setting of a level stays unchanged and is added to `problems`.
    fn ladder(&self, value: Value, problems: &mut Vec<SettingProblem>) -> Vec<Level> {
        let mut levels = self.levels.clone();
        match value {
            Value::Array(given) => {
                let given = given.into_iter().enumerate();
                return given.map(|(index, value)| level(&Level::default(), index, value, problems)).collect();
            }
            Value::Object(changes) => {
                for (number, value) in changes {
                    if let Some((index, known)) = number.parse().ok().and_then(|n: usize| Some((n, levels.get_mut(n)?)))
                    {
                        *known = level(known, index, value, problems);
                    } else {
                        let problem = format!("there is no such level; the policy has {}", self.levels.len());
                        problems.push(SettingProblem { path: format!("{LEVELS}[{number}]"), problem });
                    }
                }
            }
            other => {
                let problem =
                    format!("must be a list of levels, or changes by the number of a level; got {}", got(&other));
                problems.push(SettingProblem { path: LEVELS.to_owned(), problem });
            }
        }
        levels
    }
}

/// Returns a level with some settings changed.
fn level(ground: &Level, index: usize, value: Value, problems: &mut Vec<SettingProblem>) -> Level {
    let path = format!("{LEVELS}[{index}]");
    if let Value::Object(changes) = value {
        return replaced(ground, &format!("{path}."), changes, problems);
    }
    problems.push(SettingProblem { path, problem: format!("must hold the settings of a level; got {}", got(&value)) });
    ground.clone()
}

/// Returns `ground` with all changes that can be read. The paths of problems begin with `within`.
fn replaced<T: Clone + Serialize + DeserializeOwned>(
    ground: &T,
    within: &str,
    changes: Settings,
    problems: &mut Vec<SettingProblem>,
) -> T {
    let Ok(Value::Object(mut settings)) = serde_json::to_value(ground) else { return ground.clone() };
    for (name, value) in changes {
        let path = format!("{within}{}", shown(&name));
        if !settings.contains_key(&name) {
            let near = nearest(&name, settings.keys().map(String::as_str)).join(", ");
            problems.push(SettingProblem { path, problem: format!("there is no such setting; the nearest: {near}") });
            continue;
        }
        let found = wrong_in::<T>(&name, &value);
        if found.is_empty() {
            settings.insert(name, value);
        }
        problems.extend(found.into_iter().map(|(index, problem)| {
            let index = index.map(|index| format!("[{index}]")).unwrap_or_default();
            SettingProblem { path: format!("{path}{index}"), problem }
        }));
    }
    // OK because each setting was read by itself, and none depends on another.
    serde_json::from_value(Value::Object(settings)).expect("settings that can be read")
}

/// Returns why the value of a setting cannot be read: the problem, and the index of the wrong element of a list.
fn wrong_in<T: DeserializeOwned>(name: &str, value: &Value) -> Vec<(Option<usize>, String)> {
    let refused = |value: &Value| {
        let one = Map::from_iter([(name.to_owned(), value.clone())]);
        serde_json::from_value::<T>(Value::Object(one)).err()
    };
    let Some(error) = refused(value) else { return Vec::new() };
    let elements = value.as_array().into_iter().flatten().enumerate();
    let wrong: Vec<_> = elements
        .filter_map(|(index, element)| {
            let error = refused(&Value::Array(vec![element.clone()]))?;
            Some((Some(index), in_words(&error, element)))
        })
        .collect();
    if wrong.is_empty() { vec![(None, in_words(&error, value))] } else { wrong }
}

/// States the allowed values, from the error's "expected" part, and the actual value.
fn in_words(error: &serde_json::Error, value: &Value) -> String {
    let text = error.to_string();
    let must = match text.rsplit_once("expected ").map_or(text.as_str(), |(_, expected)| expected) {
        "usize" => "a whole number, 0 or more",
        "f64" => "a number",
        "string or map" => "a text",
        "a sequence" => "a list",
        other => other,
    };
    format!("must be {must}; got {}", got(value))
}

fn got(value: &Value) -> String {
    shown(&value.to_string()).into_owned()
}
