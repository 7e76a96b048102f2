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
if [ -d /usr/share/datasets/fashion-mnist ]; then
    runs "$build/train_digits" --fashion --quick --statement
    awk '/% \+- / { n++; if ($(NF - 2) + 0 < 55) exit 1 } END { exit n != 4 }' "$tmp/out" && ok ||
        bad "accuracies on Fashion-MNIST"
    [ "$(grep -c '^Privacy statement' "$tmp/out")" = 3 ] && ok || bad "statements"
fi

# Slices from several processes, one killed and resumed; noise without malloc and stdio.
runs "$build/noise_shards"
[ "$(grep -c "the same bytes as from one" "$tmp/out")" = 2 ] && ok || bad "shards"
runs "$build/record" "$tmp/run.txt"
grep -q "^Privacy statement" "$tmp/out" && grep -q "^kind: verified claim" "$tmp/run.txt" && ok || bad "record"
runs "$build/embedded"
grep -q "^BLT: [0-9]* bytes" "$tmp/out" && ok || bad "embedded"
if nm -u "$build/embedded" | grep -Eq " (malloc|calloc|free|[a-z]*printf|puts|fopen|fwrite)(@|\$)"; then
    bad "embedded calls malloc or stdio"
else ok; fi

# A run that is killed after rounds 1, 2, 20 and 40 ends like one that is not; taken back to
# the beginning it can do nothing but the same once more.
mkdir "$tmp/whole" "$tmp/killed"
runs "$build/train_resume" "$tmp/whole"
cp "$tmp/out" "$tmp/model"
cp "$tmp/whole/key" "$tmp/killed/key"
for k in 1 2 2 20 40; do
    if sh -c "\"$build/train_resume\" \"$tmp/killed\" $k; exit \$?" >"$tmp/out" 2>&1; then
        bad "train_resume: not killed in round $k"; fi
done
runs "$build/train_resume" "$tmp/killed"
cmp -s "$tmp/out" "$tmp/model" && cmp -s "$tmp/whole/ledger" "$tmp/killed/ledger" &&
    [ "$(wc -l <"$tmp/killed/ledger")" -eq 40 ] && ok || bad "train_resume: resumed differently"
rm "$tmp/killed/state"
runs "$build/train_resume" "$tmp/killed"
cmp -s "$tmp/out" "$tmp/model" && ok || bad "train_resume: rolled back"
rm "$tmp/killed/state"
head -n 5 "$tmp/whole/ledger" | sed 's/[0-9a-f]$/x/' >"$tmp/killed/ledger"
if "$build/train_resume" "$tmp/killed" >"$tmp/out" 2>&1; then bad "train_resume: another release"; else
    grep -q "ledger did not accept" "$tmp/out" && ok || bad "train_resume: which error"; fi

# One page of training, in one go and in three.
mkdir "$tmp/one" "$tmp/three"
runs "$build/train_minimal" "$tmp/one"
cp "$tmp/out" "$tmp/model"
cp "$tmp/one/key" "$tmp/three/key"
for k in 3 40 500; do runs "$build/train_minimal" "$tmp/three" $k; done
cmp -s "$tmp/out" "$tmp/model" && cmp -s "$tmp/one/state" "$tmp/three/state" &&
    grep -q '^round 120 of 120' "$tmp/out" && ok || bad "train_minimal: resumed differently"
awk '{ exit !($5 > 220) }' "$tmp/out" && ok || bad "train_minimal: accuracy"
lines=$(wc -l <examples/train_minimal.c)
[ "$lines" -le 80 ] && ok || bad "train_minimal has $lines lines"

# Closed forms beside the accountant: never below it.
runs "$build/formulas"
awk '/by its curve/ { s = $NF } /^  (best|sqrt|refined)/ && !(s > 0) { if (!($NF + 0 > 8.05)) exit 1 }
     /best Renyi order/ { renyi = $NF } /^  certified/ { if (!($6 > 2 && $6 + 0 < renyi + 0)) exit 1; n++ }
     /50 sampled/ { n++ } /rests on samples.*1e-09/ { n++ }
     END { exit n != 4 }' "$tmp/out" && ok || bad "formulas"

# Training on shared members and coordinates: the weights of one process.
if [ -x "$build/mpi_train" ] && command -v mpirun >/dev/null; then
    runs mpirun --allow-run-as-root --oversubscribe -n 3 "$build/mpi_train" --check
    grep -q "3 processes: the same bits as one" "$tmp/out" && ok || bad "MPI: training"
    awk '/digits right/ && $1 > 250 { ok = 1 } END { exit !ok }' "$tmp/out" && ok || bad "MPI: accuracy"
else
    echo "examples: mpi_train left out, no MPI"
fi

echo "examples: $passed passed, $failed failed"
[ $failed -eq 0 ]
