#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS (10) each, under the sanitizers, from the inputs in
# tests/fuzz/corpus and those found before.  Prints how many executions there were.
. "$(dirname "$0")/lib.sh"
seconds=${FUZZ_SECONDS:-10}

for f in tests/fuzz/fuzz_*.c; do
    [ -f "$f" ] || continue
    name=$(basename "$f" .c)
    if have "$CLANG"; then
        try "build $name" $CLANG -std=c99 -g -O1 -DMCAMP_LIBFUZZER \
            -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
            "$f" -o "$out/$name" -lm
        mkdir -p "$out/corpus.$name"
        [ -d "tests/fuzz/corpus/$name" ] && cp -r "tests/fuzz/corpus/$name/." "$out/corpus.$name"
        extra=
        [ -f "tests/fuzz/$name.dict" ] && extra="-dict=tests/fuzz/$name.dict"
        try "run $name" "$out/$name" -max_total_time="$seconds" -verbosity=0 $extra \
            -print_final_stats=1 -artifact_prefix="$out/" "$out/corpus.$name"
        runs=$(echo "$try_text" | sed -n 's/^stat::number_of_executed_units: *//p')
        echo "$name: ${runs:-0} executions"
    else skip "$name" clang; fi
done
[ $((passed + failed)) -gt 0 ] || ok
done_checks fuzz
