#!/bin/sh
# The training examples, briefly: they run, and their figures are in order.  Ends with
# "examples: N passed, M failed".
build=${BUILD:-build}
tmp=${TMPDIR:-/tmp}/mcamp_examples.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; [ ! -s "$tmp/out" ] || sed 's/^/    /' "$tmp/out"; }
runs() { if "$@" >"$tmp/out" 2>&1 </dev/null; then ok; else bad "$*: status $?"; fi; }

# Accuracies of the four methods at eps 4: guessing gives 10.
runs "$build/train_digits" --quick --svg "$tmp/train.svg"
awk '/no privacy.*inf/ { plain = $(NF - 2) } /DP-SGD, Poisson  / { sgd = $(NF - 2) }
     /banded C, cyclic Poisson  / { band = $(NF - 2) } /BLT, balls in bins  / { blt = $(NF - 2) }
     END { exit !(plain + 0 > 88 && sgd + 0 > 82 && band + 0 > 82 && blt + 0 > 82) }' \
    "$tmp/out" && ok || bad "accuracies"
grep -q '^</svg>' "$tmp/train.svg" && ok || bad "no SVG"

echo "examples: $passed passed, $failed failed"
[ $failed -eq 0 ]
