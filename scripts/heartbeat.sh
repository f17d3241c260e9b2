#!/bin/sh
# Runs a command and prints a line every ten seconds until it ends, so that a long compilation does not look stuck.
# usage: heartbeat.sh WHAT COMMAND [ARGUMENT...]
what=$1
shift
(
    seconds=0
    while sleep 10 >/dev/null 2>&1; do
        seconds=$((seconds + 10))
        echo "  $what: $seconds s" >&2
    done
) &
beat=$!
trap 'kill "$beat" 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"$@"
