#!/bin/sh
# The README's example is examples/quickstart.c, compiles as it stands and runs;
# its commands work and give the output shown.  Ends with "readme: N passed, ...".
build=${BUILD:-build}
tmp=${TMPDIR:-/tmp}/mcamp_readme.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }

sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$tmp/readme.c"
sed 's|"../mcamp.h"|"mcamp.h"|' examples/quickstart.c >"$tmp/quickstart.c"
if diff "$tmp/readme.c" "$tmp/quickstart.c"; then ok; else bad "README and quickstart.c differ"; fi
lines=$(grep -c . "$tmp/readme.c")
[ "$lines" -le 26 ] && ok || bad "the example has $lines lines"
# The header's quick start is the same program, apart from comments.
strip() { sed 's|/\*.*\*/||; s|//.*||; s/ *$//; /^$/d; s|"../mcamp.h"|"mcamp.h"|' "$@"; }
sed -n '/^ \* QUICK START/,/^ \* [A-Z][A-Z]* [A-Z]/p' mcamp.h | sed -n 's/^ \*     //p' | strip >"$tmp/header"
strip "$tmp/quickstart.c" >"$tmp/plain"
if diff "$tmp/header" "$tmp/plain"; then ok; else bad "header and quickstart.c differ"; fi
if "$build/quickstart" >"$tmp/out"; then ok; else bad "quickstart fails"; fi
grep -q '^Certified' "$tmp/out" && ok || bad "quickstart certifies nothing"

# Every shown call of the tool works; an answer that is shown agrees with it to 1%.
grep '^    build/mcamp ' README.md | sed 's/^ *//' >"$tmp/commands"
[ -s "$tmp/commands" ] && ok || bad "no command in the README"
while read -r line; do
    eval "set -- $line"
    shift
    if "$build/mcamp" "$@" >"$tmp/out" 2>"$tmp/err"; then ok; else bad "$line: $(cat "$tmp/err")"; fi
    shown=$(grep "^$1 = " README.md | awk '{ print $3 }')
    [ -n "$shown" ] || continue
    got=$(awk 'NR == 1 { print $3 }' "$tmp/out")
    awk -v s="$shown" -v g="$got" 'BEGIN { exit !(g > 0.99 * s && g < 1.01 * s) }' && ok ||
        bad "$line: got $got, README shows $shown"
done <"$tmp/commands"

echo "readme: $passed passed, $failed failed"
[ $failed -eq 0 ]
