//! Finds repeated outputs. The newest copy stays.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{RemainingForm, SupersededOutput, successor};
use crate::edit::ItemPlace;
use crate::message::{Item, Part, Text};
use crate::store::is_superseded;
use crate::working_copy::WorkingCopy;

/// A shorter output is not longer than the line that would replace it.
const LEAST: usize = 120;

/// Returns every output with a later copy, oldest first. O(length), or less if the host knows the digests of its texts.
pub(super) fn find<T: Text>(working_copy: &WorkingCopy<'_, T>) -> Vec<SupersededOutput> {
    let mut newest: HashMap<u128, usize, RandomState> = HashMap::default();
    let mut found = Vec::new();
    for (message, content) in working_copy.conversation.messages.iter().enumerate().rev() {
        if working_copy.is_removed(message) {
            continue;
        }
        for (part, block) in content.parts.iter().enumerate().rev() {
            let Part::Result { items, .. } = block else { continue };
            for (item, content) in items.iter().enumerate().rev() {
                let (Item::Text(text) | Item::Json(text)) = content else { continue };
                if text.len() < LEAST || is_superseded(text) {
                    continue;
                }
                let place = ItemPlace { message, part, item };
                match newest.get(&text.digest()) {
                    Some(copy) => {
                        let by = successor(*copy, "the same output further down");
                        found.push(SupersededOutput { place, by, form: RemainingForm::Copied });
                    }
                    // An output that will be shortened is no longer a copy.
                    None if working_copy.is_cut(place) => {}
                    None => {
                        newest.insert(text.digest(), message);
                    }
                }
            }
        }
    }
    found.reverse();
    found
}
