#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS (10) each, JOBS at a time, under the sanitizers, from
# the inputs in tests/fuzz/corpus and those found before.  Prints how many executions there were.
script=$0
. "$(dirname "$0")/lib.sh"
seconds=${FUZZ_SECONDS:-10}

# One target: its log ends with "ok" if it was built and found nothing.
if [ "$2" = --one ]; then
    name=$3
    $CLANG -std=c99 -g -O1 -DMCAMP_LIBFUZZER -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all "tests/fuzz/$name.c" -o "$out/$name" -lm || exit 0
    mkdir -p "$out/corpus.$name"
    [ -d "tests/fuzz/corpus/$name" ] && cp -r "tests/fuzz/corpus/$name/." "$out/corpus.$name"
    extra=
    [ -f "tests/fuzz/$name.dict" ] && extra="-dict=tests/fuzz/$name.dict"
    "$out/$name" -max_total_time="$seconds" -verbosity=0 $extra -print_final_stats=1 \
        -artifact_prefix="$out/" "$out/corpus.$name" && echo ok
    exit 0
fi

names=$(cd tests/fuzz && ls fuzz_*.c | sed 's/\.c$//')
if have "$CLANG"; then
    for name in $names; do echo "$name"; done |
        xargs -P "${JOBS:-2}" -I '{}' sh -c 'sh "$1" "$2" --one "$3" >"$2/$3.log" 2>&1' sh "$script" "$out" '{}'
    for name in $names; do
        [ "$(tail -n 1 "$out/$name.log")" = ok ] && ok || bad "$name" "$(cat "$out/$name.log")"
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name.log")
        echo "$name: ${runs:-0} executions"
    done
else skip fuzz clang; fi
done_checks fuzz
