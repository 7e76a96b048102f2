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

# Every shown call of the tool works; an answer that is shown agrees with it to 1%.  The plan,
# half a minute as shown, is that of a smaller training unless all is asked for.
plan='/ plan /s/--epochs 16 --batches 128/--epochs 4 --batches 16/'
[ "$MCAMP_CLAIMS" = all ] && plan=
grep '^    build/mcamp ' README.md | sed -e 's/^ *//' -e "$plan" >"$tmp/commands"
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

# The guide, run from top to bottom in one shell: each indented line is a command ("! " before
# one that must fail), each ```c block a program in $run/prog.c, and each other block holds
# what the command above it prints, numbers to 1%.
command -v python3 >/dev/null || echo "SKIPPED: a command of the guide needs python3"
MCAMP_CACHE=$build/python MCAMP_CFLAGS=-O0 PYTHONDONTWRITEBYTECODE=1      # as python_test.sh
export MCAMP_CACHE MCAMP_CFLAGS PYTHONDONTWRITEBYTECODE
awk -v tmp="$tmp" '
    /^```c$/ { c = 1; print "cat >$run/prog.c <<\\EOF_OF_PROGRAM"; next }
    /^```/ && c { c = 0; print "EOF_OF_PROGRAM"; next }
    c { print; next }
    /^```/ { block = !block; next }
    block { print "shows " $1 " " $NF; next }
    /^    ! / { sub(/^    ! /, ""); print "fails " $0; n++; next }
    /^    / { sub(/^    /, ""); print $1 ~ /=/ ? $0 : "works " $0; n++ }
    END { print "commands=" n }' examples/guide.md |
    sed -e "s|mktemp -d|echo $tmp/guide|" -e "s|build/|$build/|g" \
        -e 's/^\(works\|fails\) make /\1 dry /' \
        -e '/python3/{/'"$(command -v python3 >/dev/null || echo python3)"'/d;}' >"$tmp/guide.sh"
mkdir "$tmp/guide"
# What make would do: its targets exist; they are built already, as far as the tests use them.
dry() { MAKEFLAGS= MAKELEVEL=0 make -n BUILD="$build" "$@"; }
for target in $(grep -oh '`make [a-z_-]*' README.md examples/guide.md | cut -d ' ' -f 2 | sort -u); do
    if dry "$target" >"$tmp/out" 2>&1; then ok; else bad "make $target: $(tail -n 1 "$tmp/out")"; fi
done
works() { if eval '"$@"' >"$tmp/out" 2>&1; then ok; else bad "guide: $*: $(tail -n 3 "$tmp/out")"; fi; }
fails() { if "$@" >"$tmp/out" 2>&1; then bad "guide: $*: should fail"; else ok; fi; }
shows() {
    awk -v name="$1" -v want="$2" '$1 == name && NR <= 3 { x = $NF; if ($2 == "from") x = $3
        for (i = 2; i < NF; i++) if ($i == "=") x = $(i + 1)
        if (x > 0.99 * want && x < 1.01 * want) found = 1 } END { exit !found }' "$tmp/out" && ok ||
        bad "guide: not $1 = $2 but $(head -n 2 "$tmp/out")"
}
. "$tmp/guide.sh"
[ "$commands" -gt 15 ] && ok || bad "guide: only $commands commands"

echo "readme: $passed passed, $failed failed"
[ $failed -eq 0 ]
