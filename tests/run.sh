#!/bin/sh
# Runs test programs and scripts, JOBS at a time, prints each one's output in
# order, and last one line "N passed, N failed" summed over all of them.
#
#     sh tests/run.sh PROGRAM...
#
# Each program ends with "name: N passed, M failed...".  One that crashes, times
# out or ends without that line counts as one failure.  Exit status 1 if anything
# failed or nothing ran.  TEST_WRAPPER (such as valgrind) runs before programs.

BUILD=${BUILD:-build}
JOBS=${JOBS:-2}
export BUILD JOBS

if [ "$1" = --one ]; then
    program=$2
    log=$3/$(basename "$program").log
    limit=
    command -v timeout >/dev/null 2>&1 && limit="timeout ${TEST_TIMEOUT:-600}"
    case $program in
    *.sh) $limit sh "$program" >"$log" 2>&1 ;;
    *)    $limit $TEST_WRAPPER "./$program" >"$log" 2>&1 ;;
    esac
    code=$?
    if ! tail -n 1 "$log" | grep -Eq '^[^ ]+: [0-9]+ passed, [0-9]+ failed'; then
        echo "FAIL $program: no result, exit status $code" >>"$log"
        echo "$(basename "$program"): 0 passed, 1 failed" >>"$log"
    elif [ $code -ne 0 ] && tail -n 1 "$log" | grep -q ' 0 failed'; then
        echo "FAIL $program: exit status $code" >>"$log"
        tail -n 2 "$log" | sed -n 's/: \([0-9]*\) passed, 0 failed.*/: \1 passed, 1 failed/p' >>"$log"
    fi
    exit 0
fi

logs=$BUILD/log.$$
mkdir -p "$logs" || exit 1
trap 'rm -rf "$logs"' EXIT
trap 'exit 1' HUP INT TERM

for program in "$@"; do echo "$program"; done |
    xargs -P "$JOBS" -I '{}' sh "$0" --one '{}' "$logs"

for program in "$@"; do
    cat "$logs/$(basename "$program").log" 2>/dev/null ||
        echo "$(basename "$program"): 0 passed, 1 failed"
done | tee "$logs/all"

for program in "$@"; do
    tail -q -n 1 "$logs/$(basename "$program").log" 2>/dev/null || echo "x: 0 passed, 1 failed"
done | awk '
    { for (i = 2; i < NF; i++) {
        if ($(i + 1) ~ /^passed/) passed += $i
        if ($(i + 1) ~ /^failed/) failed += $i } }
    END { printf "%d passed, %d failed\n", passed, failed
          exit failed > 0 || passed == 0 }'
