#!/bin/sh
# Runs one target for tools/test_all.sh, from the Makefile or, as FOLDER/TARGET, from the one in that folder:
#     sh tools/test_part.sh LOG_DIR TARGET
# LOG_DIR/TARGET.log has its output, and TARGET.result a line for the summary, with FAILED if it failed. A
# slash becomes -.
set -u

logs=$1 part=$2
name=$(echo "$part" | tr / -) folder=.
case $part in */*) folder=${part%/*} ;; esac
# Waits until one of the other jobs has made a file.
waited=0
wait_for() { while [ ! -e "$logs/$1" ] && [ $waited -lt 1800 ]; do sleep 1 && waited=$((waited + 1)); done; }
# Some checks need nothing but Rust; all parts but these use the output of libs, which starts first.
case $part in
libs | lint | docs) ;;
remote/lint) wait_for libs.result ;;
*) wait_for installed && wait_for libs.result ;;
esac
start=$(date +%s)
echo "-- $part begins"
limit=
! command -v timeout >/dev/null || limit="timeout -k 30 ${ZT_PART_LIMIT:-2400}"
# With a limit, timeout starts a process group, so this script must forward signals to it.
$limit "${MAKE:-make}" --no-print-directory -C "$folder" "${part##*/}" </dev/null >"$logs/$name.log" 2>&1 &
trap 'kill $!; exit 130' HUP INT TERM
wait $!
status=$?
trap - HUP INT TERM
seconds=$(($(date +%s) - start))
# Its processor time, which is more meaningful than wall time on a busy machine.
times >"$logs/$name.times"
processor=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4 + 0.5) }' "$logs/$name.times")
case $part in
libs | lint | remote/lint | docs | msrv) counted='done' ;;
*) counted=$(sh tools/count_tests.sh "$logs/$name.log") || [ "$status" != 0 ] || status=1 ;;
esac
case $status in
0) verdict='' ;;
124 | 137) verdict=": FAILED, stopped after the limit of ${ZT_PART_LIMIT:-2400} s" ;;
*) verdict=": FAILED with status $status" ;;
esac
echo "$part: $counted in $seconds s, $processor s of processor time$verdict" >"$logs/$name.result"

# The output of two parts must not mix.
exec 9>"$logs/printing"
! command -v flock >/dev/null || flock 9
echo "== $part ($seconds s)$verdict"
cat "$logs/$name.log"
