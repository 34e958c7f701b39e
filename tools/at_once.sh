#!/bin/sh
# Runs two commands at once, which use one processor each. Prints the second one's output after the first
# one's:
#     sh tools/at_once.sh COMMAND COMMAND
# Exit status 1 if either failed.
set -u

[ $# -eq 2 ] || { echo "usage: at_once.sh COMMAND COMMAND" >&2; exit 2; }
printed=$(mktemp) || exit
trap 'rm -f "$printed"' EXIT
status=0
sh -c "$2" >"$printed" 2>&1 &
second=$!
sh -c "$1" || status=1
wait "$second" || status=1
cat "$printed"
exit "$status"
