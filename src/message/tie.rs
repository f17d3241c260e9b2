//! Ties between parts other than a call and its result.

/// The reason why a part must stay with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tie<T> {
    /// A step with this id that the provider runs itself. Its outcome may come in a later message, for example while
    /// the model's program waits for a tool of the host.
    Begins(T),
    /// The outcome of that step.
    Ends(T),
    /// Asks a person for approval of a call.
    Asks {
        /// Identifier that the decision repeats.
        request: T,
        /// Identifier of the call.
        call: T,
    },
    /// The person's decision.
    Decides {
        /// Identifier of the request.
        request: T,
    },
    /// Refers to an item that the provider has stored, which may be a call.
    Refers,
    /// Replaces everything that was said before it.
    Replaces,
    /// Results from the signed reasoning before it, and is refused without it.
    Reasoned,
}
