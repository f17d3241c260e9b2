//! The content types.

/// The content type of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    /// A JSON array of objects.
    Records,
    /// Any other JSON.
    Json,
    /// Output of compilers and installers.
    Build,
    /// Changes to files.
    Diff,
    /// Output of a test run.
    TestRun,
    /// Stack traces, mostly of failures.
    Trace,
    /// A JSON object on each line.
    JsonLines,
    /// HTML, XML and similar markup.
    Markup,
    /// Metrics in Prometheus' text format.
    Metrics,
    /// Encoded data in lines.
    Data,
    /// A list of files.
    Listing,
    /// Search results by file.
    Search,
    /// Rows with separators or aligned columns.
    Table,
    /// Source code, or a settings file.
    Code,
    /// Repeating lines in which a program reports its work.
    Log,
    /// Anything else.
    Text,
}

impl ContentKind {
    /// Returns the public name.
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
