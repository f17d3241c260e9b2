//! What a digest takes, and in which order.

/// What can be taken, by its number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    /// A name without a line.
    Name(u32),
    /// A line.
    Line(u32),
}

/// What is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pick {
    /// It.
    pub item: Item,
    /// What it and all picks before it cost, as estimated.
    pub cost_so_far: f64,
}
