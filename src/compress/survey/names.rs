//! Field names of logs, spans and metrics, in lower case and without separators.
//!
//! They come from the APIs of Google Cloud (Logging, Trace, Monitoring), OpenTelemetry, Prometheus, Jaeger, and common
//! log libraries.

pub(super) const TIME: [&str; 12] = [
    "timestamp",
    "time",
    "ts",
    "@timestamp",
    "timeunixnano",
    "observedtimestamp",
    "datetime",
    "eventtime",
    "receivetimestamp",
    "createdat",
    "date",
    "t",
];

pub(super) const SEVERITY: [&str; 6] = ["severity", "level", "severitytext", "loglevel", "levelname", "lvl"];

pub(super) const MESSAGE: [&str; 10] =
    ["message", "textpayload", "msg", "jsonpayload", "protopayload", "log", "text", "body", "payload", "event"];

pub(super) const SOURCE: [&str; 13] = [
    "service",
    "servicename",
    "logger",
    "loggername",
    "container",
    "containername",
    "pod",
    "podname",
    "component",
    "resource",
    "source",
    "hostname",
    "host",
];

/// The same as labels of a Loki stream.
pub(super) const STREAM_SEVERITY: [&str; 5] = ["level", "severity", "detectedlevel", "severitytext", "lvl"];
pub(super) const STREAM_SOURCE: [&str; 9] =
    ["servicename", "service", "app", "container", "component", "pod", "job", "host", "filename"];

pub(super) const TRACE_ID: [&str; 2] = ["traceid", "trace"];
pub(super) const SPAN_ID: [&str; 1] = ["spanid"];
pub(super) const PARENT: [&str; 4] = ["parentspanid", "parentid", "parent", "parentspan"];
pub(super) const NAME: [&str; 8] =
    ["name", "displayname", "operationname", "spanname", "operation", "rootspanname", "rootspan", "endpoint"];
pub(super) const START: [&str; 8] =
    ["starttime", "starttimeunixnano", "start", "starttimestamp", "startedat", "starttimens", "starttimems", "begin"];
pub(super) const END: [&str; 8] =
    ["endtime", "endtimeunixnano", "end", "endtimestamp", "endedat", "endtimens", "endtimems", "finish"];
pub(super) const STATUS: [&str; 5] = ["status", "statuscode", "httpstatuscode", "httpstatus", "code"];
pub(super) const ERROR: [&str; 4] = ["error", "iserror", "haserror", "errormessage"];

/// Fields that hold durations, with the milliseconds in their unit; `None` if the name has no unit.
pub(super) const DURATIONS: [(&str, Option<f64>); 16] = [
    ("durationms", Some(1.0)),
    ("latencyms", Some(1.0)),
    ("elapsedms", Some(1.0)),
    ("durationmillis", Some(1.0)),
    ("totaldurationms", Some(1.0)),
    ("durationus", Some(0.001)),
    ("durationmicros", Some(0.001)),
    ("durationns", Some(0.000_001)),
    ("durationnano", Some(0.000_001)),
    ("durationnanos", Some(0.000_001)),
    ("durationseconds", Some(1_000.0)),
    ("durations", Some(1_000.0)),
    ("latencyseconds", Some(1_000.0)),
    ("duration", None),
    ("latency", None),
    ("elapsed", None),
];

pub(super) const POINTS: [&str; 7] = ["points", "values", "datapoints", "samples", "pointdata", "data", "timeseries"];
pub(super) const POINT_TIME: [&str; 8] = ["timestamp", "time", "interval", "endtime", "ts", "t", "date", "datetime"];
pub(super) const INTERVAL: [&str; 2] = ["endtime", "starttime"];
pub(super) const VALUE: [&str; 7] = ["value", "val", "v", "y", "doublevalue", "int64value", "average"];
pub(super) const TYPED_VALUE: [&str; 4] = ["doublevalue", "int64value", "distributionvalue", "mean"];
pub(super) const METRIC: [&str; 4] = ["metric", "metricname", "metrictype", "name"];
/// Number of names at the beginning of the list that only metrics have.
pub(super) const METRIC_KEYS: usize = 3;
/// Fields that may accompany the name and the value of a metric.
pub(super) const BESIDE_A_VALUE: [&str; 6] = ["unit", "type", "kind", "help", "description", "labels"];
pub(super) const METRIC_NAME: [&str; 4] = ["__name__", "name", "type", "metricname"];
