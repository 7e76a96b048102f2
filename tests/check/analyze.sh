#!/bin/sh
# Static analysis; any finding fails.
. "$(dirname "$0")/lib.sh"

# finds_nothing COMMAND...: fails if it prints a warning.
finds_nothing() {
    "$@" >"$out/findings" 2>&1 || { cat "$out/findings"; return 1; }
    ! grep -A 20 'warning:' "$out/findings"
}

# This one takes as long as the others together: beside them.
# gcc 12 loses track of arrays of vectors; clang's memory sanitizer does not.
rm -f "$out/analyzer.code"
if have gcc; then
    (
        gcc -std=c99 -O1 -fanalyzer -Wno-analyzer-use-of-uninitialized-value \
            -Werror -c tests/compile/impl.c -o "$out/analyze.o" >"$out/analyzer.log" 2>&1
        echo $? >"$out/analyzer.code"
    ) &
fi

if have cppcheck; then
    try cppcheck cppcheck --quiet --std=c99 --error-exitcode=1 --inline-suppr \
        --suppress=incorrectLogicOperator `# comparisons with NaN are meant` \
        --suppress=invalidFunctionArg `# and so is log(0)` \
        --suppress=ctuuninitvar `# wrong about &struct before its fields are set` \
        --enable=warning,portability --suppress=missingIncludeSystem \
        -DMCAMP_IMPLEMENTATION=1 -UMCAMP_CBLAS_HEADER -U__cplusplus \
        -DDBL_MANT_DIG=53 -DFLT_EVAL_METHOD=0 \
        tests/compile/impl.c
else skip cppcheck cppcheck; fi

if have clang-tidy; then
    # Left out: matters of style, and what the compilers' warnings decide.
    checks='-*,bugprone-*,clang-analyzer-*'
    for c in bugprone-easily-swappable-parameters bugprone-reserved-identifier \
             bugprone-narrowing-conversions bugprone-integer-division \
             bugprone-implicit-widening-of-multiplication-result bugprone-branch-clone \
             bugprone-macro-parentheses bugprone-assignment-in-if-condition \
             clang-analyzer-security.FloatLoopCounter \
             clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling; do
        checks="$checks,-$c"
    done
    try clang-tidy clang-tidy --quiet --warnings-as-errors='*' --checks="$checks" \
        --header-filter='mcamp.h' tests/compile/impl.c -- -std=c99
else skip clang-tidy clang-tidy; fi

# clang-tidy follows paths through functions of the main file only: here the header is it.
# Left out: what rests on arguments that public functions have checked (pointers, sizes
# above 0, out values where a status is fine); the memory sanitizer watches those.
if have "${CLANG:-clang}"; then
    off=
    for c in core.NullDereference core.NonNullParamChecker core.DivideZero core.CallAndMessage \
             core.UndefinedBinaryOperatorResult core.uninitialized unix.cstring.NullArg; do
        off="$off -Xanalyzer -analyzer-disable-checker=$c"
    done
    try "clang --analyze" finds_nothing "${CLANG:-clang}" --analyze $off --analyzer-output text \
        -std=c99 -DMCAMP_IMPLEMENTATION -x c mcamp.h
else skip "clang --analyze" clang; fi

if have gcc; then
    wait
    cat "$out/analyzer.log"
    try "gcc -fanalyzer" test "$(cat "$out/analyzer.code")" = 0
else skip "gcc -fanalyzer" gcc; fi
done_checks analyze
