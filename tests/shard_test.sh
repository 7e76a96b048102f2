#!/bin/sh
# A proof in shares says what one run says, to the bit; files that are not all of one
# question's shares, each once and whole, are refused.  Ends with "shard: N passed, M failed".
tool=${BUILD:-build}/mcamp
tmp=${TMPDIR:-/tmp}/mcamp_shard.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }

# draw SHARES OPTIONS...: the files $tmp/1 .. of all shares
draw() {
    n=$1; shift
    i=1
    while [ $i -le $n ]; do
        if "$tool" verify "$@" --shard $i/$n --tally "$tmp/$i" >"$tmp/out" 2>&1 &&
           grep -q "share $i of $n, which says nothing" "$tmp/out"; then ok
        else bad "share $i/$n of $*: $(cat "$tmp/out")"; fi
        i=$((i + 1))
    done
}

# The answer without what tells the two commands apart.
answer() { sed 's/"\(question\|seconds\|command\|strategy\)": [^,]*,//' "$1" | grep -v '^ *$' |
           sed -n 's/.*"version": //p'; }

# same STATUS SHARES OPTIONS...: merged in another order, with the same record
same() {
    want=$1; n=$2; shift 2
    draw $n "$@"
    "$tool" verify "$@" --json --record "$tmp/one" >"$tmp/verify" 2>"$tmp/err"
    a=$?
    files=
    for i in $(seq $n); do files="$tmp/$i $files"; done
    "$tool" merge $files --json --record "$tmp/all" >"$tmp/merge" 2>>"$tmp/err"
    b=$?
    if [ $a -ne $want ] || [ $b -ne $want ]; then bad "$a and $b, not $want: $*: $(cat "$tmp/err")"
    elif [ "$(answer "$tmp/verify")" != "$(answer "$tmp/merge")" ]; then bad "another answer: $*"
    elif [ -z "$(answer "$tmp/merge")" ]; then bad "no answer: $*"
    elif ! cmp -s "$tmp/one" "$tmp/all"; then bad "another record: $*"
    else ok; fi
}

# refuses PATTERN FILES...: no verdict, not even a word of one
case $tool in /*) here= ;; *) here=$PWD/ ;; esac
refuses() {
    pattern=$1; shift
    (cd "$tmp" && "$here$tool" merge "$@" --json --record never) >"$tmp/out" 2>"$tmp/err"
    code=$?
    if [ $code -ne 2 ] || [ -s "$tmp/out" ] || [ -e "$tmp/never" ]; then bad "taken: $*"
    elif ! grep -q -e "$pattern" "$tmp/err"; then bad "no \"$pattern\": $(cat "$tmp/err")"
    else ok; fi
}

small="--epochs 2 --batches 8 --strategy sqrt:2"
same 0 1 $small --sigma 1.9 --eps 2 --delta 1e-3 --samples 2e4
same 1 2 $small --sigma 0.9 --eps 2 --delta 1e-3 --samples 1e5
same 1 4 $small --sigma 1.5 --eps 0.5 --delta 1e-2 --direction add --samples 1e5 --seed 9
same 0 2 $small --sigma 9 --eps 2 --delta 1e-3
same 0 2 --epochs 2 --batches 8 --examples 80 --limit 30 --strategy sqrt:2 --sigma 1.9 --eps 2 \
    --delta 1e-3 --samples 1e5
same 0 3 --rounds 24 --batching minsep:4,0.2 --strategy sqrt:2 --sigma 2.2 --eps 2 --delta 1e-3 \
    --samples 1e5 --threads 2
# Both directions, and hundreds of blocks, so that the shares of some are not alike.
long="--epochs 4 --batches 8 --strategy sqrt:8 --sigma 4 --eps 0.1 --delta 0.17 --beta 1e-12 --samples 2e5"
same 0 3 $long
for way in remove add; do
    samples=$(sed -n 's/.*"samples_'$way'": \([0-9]*\).*/\1/p' "$tmp/merge")
    [ "${samples:-0}" -gt 5000 ] && ok || bad "only $samples samples: $way"
done

refuses 'missing' 1 3
refuses '"2" is given twice' 1 2 2
refuses '"2" is given twice' 1 2 2 3
refuses 'no tally' one 2 3
head -c 5000 "$tmp/2" >"$tmp/cut";          refuses 'cut.*(checksum)' 1 cut 3
sed '$d' "$tmp/2" >"$tmp/cut";              refuses 'cut.*(checksum)' 1 cut 3
sed 's/^seed: 1/seed: 2/' "$tmp/2" >"$tmp/edited";     refuses 'edited' 1 edited 3
sed 's/^shard: 2/shard: 1/' "$tmp/2" >"$tmp/edited";   refuses 'edited' 1 edited 3
sed '0,/^bin: /s/^bin: \([0-9]*\) [0-9]*/bin: \1 7/' "$tmp/2" >"$tmp/edited"
refuses 'edited' 1 edited 3
for other in "4 5" "0.1 0.2" "0.17 0.171" "1e-12 1e-11" "2e5 3e5" "8 16" "sqrt:8 sqrt:7"; do
    set -- $other
    "$tool" verify $(echo "$long" | sed "s/ $1\( \|$\)/ $2 /") --shard 2/3 --tally "$tmp/other" \
        >"$tmp/out" 2>&1 || bad "$other: $(cat "$tmp/out")"
    refuses '"other" answers another question than "1"' 1 other 3
done
for other in "--seed 2" "--direction add"; do
    "$tool" verify $long $other --shard 2/3 --tally "$tmp/other" >"$tmp/out" 2>&1 || bad "$other"
    refuses '"other" answers another question than "1"' 1 other 3
done
"$tool" verify $long --shard 2/4 --tally "$tmp/other" >"$tmp/out"
refuses 'another question.*shards' 1 other 3
refuses 'which files'
for wrong in 0/3 4/3 3 /3 1/ 1/5000 x/2; do
    if "$tool" verify $long --shard $wrong --tally "$tmp/x" >"$tmp/out" 2>"$tmp/err"; then bad "--shard $wrong"
    elif grep -q -e '--shard must be' "$tmp/err"; then ok; else bad "$(cat "$tmp/err")"; fi
done

echo "shard: $passed passed, $failed failed"
[ $failed -eq 0 ]
