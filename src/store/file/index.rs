//! The index of a store: a listing of the folder, and nothing else on the disk.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::name::reference_of;
use crate::store::Reference;

/// The files of a folder by reference, as they were when they were looked for.
#[derive(Debug, Default, Clone)]
pub(super) struct Index {
    /// The names of each, the oldest first. More than one where two processes stored the same content in different
    /// seconds.
    files: BTreeMap<Reference, Vec<String>>,
    /// Folders, links and pipes with the name of an artifact.
    others: BTreeMap<Reference, String>,
}

impl Index {
    /// Lists `folder`; one that is not there is empty. Other files in it are somebody else's, or half written: no
    /// mistake, and not ours to show.
    pub(super) fn of(folder: &Path) -> io::Result<Index> {
        Index::of_names(folder, |_| true)
    }

    /// The same of the files alone whose references have this hash: without reading the other names, which in a folder of
    /// thousands takes most of the time.
    pub(super) fn of_hash(folder: &Path, hash: &str) -> io::Result<Index> {
        Index::of_names(folder, |name| name.contains(hash))
    }

    fn of_names(folder: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<Index> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Index::default()),
            Err(error) => return Err(error),
        };
        let mut index = Index::default();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some((name, reference)) =
                name.to_str().filter(|name| wanted(name)).and_then(|name| Some((name, reference_of(name)?)))
            else {
                continue;
            };
            // An entry deleted since the listing has no type any more; reading it reports the error.
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                index.files.entry(reference).or_default().push(name.to_owned());
            } else {
                index.others.insert(reference, name.to_owned());
            }
        }
        for names in index.files.values_mut() {
            names.sort();
        }
        Ok(index)
    }

    /// The number of references.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// The name that speaks for `reference`: of a file, or of what is in its place.
    pub(super) fn name(&self, reference: &Reference) -> Option<&str> {
        self.names(reference).first().or_else(|| self.others.get(reference)).map(String::as_str)
    }

    /// All files of `reference`.
    pub(super) fn names(&self, reference: &Reference) -> &[String] {
        self.files.get(reference).map_or(&[], Vec::as_slice)
    }

    /// Every reference that has files, with their names, sorted.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Reference, &[String])> {
        self.files.iter().map(|(reference, names)| (reference, names.as_slice()))
    }

    /// Files whose references have the hash of this one: most likely the same bytes, from another tool.
    pub(super) fn of_same_hash(&self, reference: &Reference) -> Vec<String> {
        let same = self.files.iter().filter(|(other, _)| other.hash() == reference.hash());
        same.filter_map(|(_, names)| names.first().cloned()).collect()
    }

    /// Learns what was found later.
    pub(super) fn merge(&mut self, found: Index) {
        self.files.extend(found.files);
        self.others.extend(found.others);
    }

    /// Forgets what turned out to be gone.
    pub(super) fn remove(&mut self, reference: &Reference) {
        self.files.remove(reference);
        self.others.remove(reference);
    }
}
