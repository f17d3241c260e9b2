//! The items that a digest takes, in order.

/// An item that can be taken, by its number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    /// A name without a line.
    Name(u32),
    /// A line.
    Line(u32),
}

/// An item that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pick {
    /// It.
    pub item: Item,
    /// Estimated cost of this pick and all picks before it.
    pub cost_so_far: f64,
}
