//! The content types of a text.

/// The content type of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    /// An array of objects in JSON.
    Records,
    /// Any other JSON.
    Json,
    /// Output of compilers and installers.
    Build,
    /// Changes of files.
    Diff,
    /// Output of a test run.
    TestRun,
    /// Stacks of calls, mostly of failures.
    Trace,
    /// An object in JSON a line.
    JsonLines,
    /// HTML, XML and their like.
    Markup,
    /// Metrics as Prometheus exposes them.
    Metrics,
    /// Encoded data in lines.
    Data,
    /// A list of files.
    Listing,
    /// Results of a search, with the files that they are in.
    Search,
    /// Rows with separators or in columns.
    Table,
    /// Source code, or a file of settings.
    Code,
    /// Lines of a program about what it does, which repeat.
    Log,
    /// Anything else.
    Text,
}

impl ContentKind {
    /// The public name.
    pub fn name(self) -> &'static str {
        match self {
            ContentKind::Records => "JSON records",
            ContentKind::Json => "JSON",
            ContentKind::Build => "build output",
            ContentKind::Diff => "diff",
            ContentKind::TestRun => "test run",
            ContentKind::Trace => "stack trace",
            ContentKind::JsonLines => "JSON lines",
            ContentKind::Markup => "markup",
            ContentKind::Metrics => "metrics",
            ContentKind::Data => "encoded data",
            ContentKind::Listing => "listing",
            ContentKind::Search => "search results",
            ContentKind::Table => "table",
            ContentKind::Code => "source code",
            ContentKind::Log => "log",
            ContentKind::Text => "text",
        }
    }
}
