"""Whether a span failed: by its status, by an error, or by the labels on it.

The rule stands in docs/adk-data.md. src/compress/survey/failure.rs is the same one in the core.
"""

import re
from typing import Any

from ullage.adk.program.reading import first, number, some

# Statuses that are fields of a span, and those that may also be labels on it (Cloud Trace,
# OpenTelemetry and its forerunner), in lower case and without what joins their words. A label
# that is called only "status" or "code" may be about anything.
OWN_STATUSES = {"status", "code"}
STATUSES = {
    "statuscode",
    "status.code",
    "httpstatuscode",
    "httpstatus",
    "http.statuscode",
    "http.response.statuscode",
    "/http/statuscode",
    "otel.statuscode",
    "rpc.grpc.statuscode",
}
# The same of errors (Jaeger, OpenTelemetry, Cloud Trace), and values under these names that say
# that there is none.
OWN_ERRORS = {"iserror", "haserror", "errormessage"}
ERRORS = {"error", "error.type", "error.message", "/error/message", "/error/name"}
NO_ERROR = {"", "0", "no", "none", "null", "false", "[]", "{}"}
# 2 is an error in OpenTelemetry, and gRPC counts to 16. 1 is OK in the one and a cancelled call in
# the other, which has no fault in it. In HTTP, 5xx is the server's fault and 4xx the caller's.
FIRST_OF_RPC, LAST_OF_RPC = 2, 16
FIRST_OF_HTTP, BEHIND_HTTP = 500, 600
# gRPC's names for these, but for "unknown", which elsewhere says nothing.
NAMES_OF_RPC = {
    "invalidargument",
    "deadlineexceeded",
    "notfound",
    "alreadyexists",
    "permissiondenied",
    "resourceexhausted",
    "failedprecondition",
    "aborted",
    "outofrange",
    "unimplemented",
    "internal",
    "unavailable",
    "dataloss",
    "unauthenticated",
}
# What holds labels: a dict in Cloud Trace and Zipkin, a list in OTLP and Jaeger. A value may be in
# {"stringValue": {"value": ...}}, as Cloud Trace has it, or in the outer one alone.
HOLDERS = {"labels", "attributes", "tags"}
WRAPPED = 2


def plain(name: Any) -> str:
    """The name of a field without case and what joins its words."""
    return re.sub("[_-]", "", str(name)).lower()


def members(holder: Any) -> Any:
    """Names and values of what is known."""
    known = holder.items() if isinstance(holder, dict) else ()
    return [(plain(name), value) for name, value in known if value is not None]


def labels(row: Any) -> Any:
    """Names and values of the labels on a span, whatever is around them."""
    found: Any = []
    for name, holder in members(row):
        if name not in HOLDERS:
            continue
        inner = dict(members(holder)).get("attributemap")
        found += members(inner if isinstance(inner, dict) else holder)
        for one in holder if isinstance(holder, list) else ():
            pair = dict(members(one))
            if "key" in pair and "value" in pair:
                found.append((plain(pair["key"]), pair["value"]))
    for name, value in found:
        for _ in range(WRAPPED):
            value = first(value.values()) if isinstance(value, dict) and value else value  # noqa: PLW2901
        yield name, value


def is_failure(status: Any) -> bool:
    """Whether a status, or the code in it, is one of a failure."""
    if isinstance(status, dict):
        known = dict(members(status))
        status = known.get("code", known.get("statuscode"))
    code = None if isinstance(status, bool) else number(status)
    if code is not None:
        return bool(FIRST_OF_RPC <= code <= LAST_OF_RPC or FIRST_OF_HTTP <= code < BEHIND_HTTP)
    if not isinstance(status, str):
        return False
    word = re.sub("[_ -]", "", status).lower()
    negated = re.search("(no|without)(error|fail)", word)
    return word in NAMES_OF_RPC or bool(re.search("error|fail", word) and not negated)


def is_error(value: Any) -> bool:
    """Whether a value under the name of an error is one."""
    if isinstance(value, str):
        return value.strip().lower() not in NO_ERROR
    return bool(value)


def says_failure(name: str, value: Any) -> bool:
    """Whether a field or a label says that a span failed."""
    return (name in STATUSES and is_failure(value)) or (name in ERRORS and is_error(value))


def fails(row: Any) -> bool:
    """Whether a span says that it failed, itself or by its labels."""
    return some(
        (name in OWN_STATUSES and is_failure(value))
        or (name in OWN_ERRORS and is_error(value))
        or says_failure(name, value)
        for name, value in members(row)
    ) or some(says_failure(name, value) for name, value in labels(row))
