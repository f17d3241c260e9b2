//! The index of a store: a listing of the folder, and nothing else on the disk.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::name::reference_of;
use crate::store::Reference;

/// The files of a folder by reference, at the time of the listing.
#[derive(Debug, Default, Clone)]
pub(super) struct Index {
    /// The file names of each reference, oldest first. There are several if two processes stored the same content in
    /// different seconds.
    files: BTreeMap<Reference, Vec<String>>,
    /// Folders, links and pipes that have the name of an artifact.
    others: BTreeMap<Reference, String>,
}

impl Index {
    /// Lists `folder`; a missing folder is empty. Other files in it belong to others or are incomplete, and are
    /// ignored.
    pub(super) fn of(folder: &Path) -> io::Result<Index> {
        Index::of_names(folder, |_| true)
    }

    /// Lists only the files whose references have this hash. It does not parse the other names, which would take most
    /// of the time in a folder of thousands.
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
            // An entry that was deleted after the listing has no type. Reading it reports the error.
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

    /// Returns the number of references.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the name of the file of `reference`, or of the folder, link or pipe in its place.
    pub(super) fn name(&self, reference: &Reference) -> Option<&str> {
        self.names(reference).first().or_else(|| self.others.get(reference)).map(String::as_str)
    }

    /// Returns all file names of `reference`.
    pub(super) fn names(&self, reference: &Reference) -> &[String] {
        self.files.get(reference).map_or(&[], Vec::as_slice)
    }

    /// Returns every reference with its file names, sorted.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Reference, &[String])> {
        self.files.iter().map(|(reference, names)| (reference, names.as_slice()))
    }

    /// Returns files whose references have the same hash: most likely the same bytes from another tool.
    pub(super) fn of_same_hash(&self, reference: &Reference) -> Vec<String> {
        let same = self.files.iter().filter(|(other, _)| other.hash() == reference.hash());
        same.filter_map(|(_, names)| names.first().cloned()).collect()
    }

    /// Adds files that were found later.
    pub(super) fn merge(&mut self, found: Index) {
        self.files.extend(found.files);
        self.others.extend(found.others);
    }

    /// Removes a reference whose files are gone.
    pub(super) fn remove(&mut self, reference: &Reference) {
        self.files.remove(reference);
        self.others.remove(reference);
    }
}
