//! Finds the nearest known names, for errors about unknown names.

/// Number of names in an error. More would not help to choose.
const NAMED: usize = 3;

/// Number of names that are compared, so that a misspelled key among a million costs milliseconds.
const COMPARED: usize = 10_000;

/// Number of characters of a name that are compared and shown.
const LONGEST: usize = 80;

/// Returns up to three of the `known` names, most similar to `wanted` first. Compares the first 10,000.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = beginning(wanted);
    let mut rated: Vec<(f64, &str)> =
        known.take(COMPARED).map(beginning).map(|name| (strsim::normalized_levenshtein(wanted, name), name)).collect();
    rated.sort_by(|(a, one), (b, two)| b.total_cmp(a).then_with(|| one.cmp(two)));
    rated.into_iter().take(NAMED).map(|(_, name)| name).collect()
}

fn beginning(name: &str) -> &str {
    name.char_indices().nth(LONGEST).map_or(name, |(end, _)| &name[..end])
}
