//! The chosen items of a digest, in order.

/// An item that can be chosen, by its number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    /// A name without a line.
    Name(u32),
    /// A line.
    Line(u32),
}

/// A chosen item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pick {
    /// The item.
    pub item: Item,
    /// Estimated cost of this pick and all picks before it.
    pub cost_so_far: f64,
}
