//! Ties between parts that are not a call and a result of the host.

/// The reason why a part must stay with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tie<T> {
    /// A step of this id that the provider runs itself. Its outcome may come in a later message: while a program of the
    /// model waits for a tool of the host, the program's own outcome is due.
    Begins(T),
    /// The outcome of that step.
    Ends(T),
    /// Asks a person whether a call may run.
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
    /// Stands for an item that the provider has stored, which may be a call.
    Refers,
    /// Stands for all that was said before it.
    Replaces,
    /// Came of the signed reasoning before it, and is refused without that.
    Reasoned,
}
