#!/bin/sh
# Static analysis; any finding fails.
. "$(dirname "$0")/lib.sh"

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

if have gcc; then
    # gcc 12 loses track of arrays of vectors; clang's memory sanitizer does not
    try "gcc -fanalyzer" gcc -std=c99 -O1 -fanalyzer -Wno-analyzer-use-of-uninitialized-value \
        -Werror -c tests/compile/impl.c -o "$out/analyze.o"
else skip "gcc -fanalyzer" gcc; fi
done_checks analyze
