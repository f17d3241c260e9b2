//! TODO
use super::dialect::Entry;
use super::node::{Build, Node};
use super::rewrite::{Composition, EntryEdit};
use crate::error::Result;
use crate::message::Role;
pub(super) fn read<N: Node>(_entry: &N, _index: usize) -> Result<Entry<N::Text>> {
    todo!()
}
pub(super) fn edit<N: Build>(_entry: &N, _edit: &EntryEdit<'_>) -> Result<N::Out> {
    todo!()
}
pub(super) fn message<N: Build>(_like: &N, _role: Role, _text: &str) -> Result<N::Out> {
    todo!()
}
pub(super) fn item<N: Node>(_entry: &N, _part: usize) -> Option<N> {
    todo!()
}
pub(super) fn compose<N: Build>(_composition: &Composition<'_, N>) -> Result<N::Out> {
    todo!()
}
