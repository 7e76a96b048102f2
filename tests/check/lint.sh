#!/bin/sh
# Line length, trailing blanks, tabs, function length.  The kernels named in
# tests/check/long_functions.txt may be longer than 80 lines.
. "$(dirname "$0")/lib.sh"

for f in mcamp.h tests/*.[ch] tests/*/*.[ch] examples/*.[ch] bench/*.[ch]; do
    [ -f "$f" ] || continue
    text=$(awk -v f="$f" '
        length($0) > 100 { printf "%s:%d: %d columns\n", f, NR, length($0) }
        /[ \t]$/ { printf "%s:%d: trailing blank\n", f, NR }
        /\t/ { printf "%s:%d: tab\n", f, NR }' "$f")
    if [ -z "$text" ]; then ok; else bad "$f" "$text"; fi
done

# A function's body runs from a "{" in the first column to a "}" there; its name
# is the last word before "(" on the line, or lines, above.
awk -v allow=tests/check/long_functions.txt '
    BEGIN { while ((getline line < allow) > 0) if (line !~ /^#/) long[line] = 1 }
    /^[A-Za-z].*\(/ { s = $0; sub(/\(.*/, "", s); n = split(s, w, /[ *]+/); name = w[n] }
    /^\{/ { start = NR }
    /^\}/ && start { len = NR - start - 1; print len, name; start = 0
        if (len > 80 && !(name in long)) print "LONG", name, len }
' mcamp.h >"$out/lengths"
text=$(grep LONG "$out/lengths")
if [ -z "$text" ]; then ok; else bad "functions over 80 lines" "$text"; fi
grep -v LONG "$out/lengths" | sort -n | awk '
    { len[NR] = $1; name[NR] = $2 }
    END { if (NR) printf "functions: %d, median %d lines, 90%% %d, longest %d (%s)\n", NR,
        len[int((NR + 1) / 2)], len[int(NR * 0.9)], len[NR], name[NR] }'

# The vector kernels, between the one option that contracts and its end, call no function
# of another section: compilers do not inline across that option, and a call in an inner
# loop costs AVX2 several times the loop.
text=$(awk '
    /^#  pragma GCC optimize\("fp-contract=fast"\)/ { on = 1; seen++ }
    on && /^#  pragma GCC pop_options/ { on = 0; lines = NR - first }
    on && !first { first = NR }
    on { s = $0; gsub(/"[^"]*"/, "", s); sub(/\/\*.*/, "", s)
        if (s !~ /^ \*|^ +\*/ && match(s, /mcamp__[a-z0-9_]+\(/))
            printf "mcamp.h:%d: a kernel calls %s\n", NR, substr(s, RSTART, RLENGTH - 1) }
    END { if (seen != 1 || lines < 500) print "the kernels were not found" }' mcamp.h)
if [ -z "$text" ]; then ok; else bad "calls out of the vector kernels" "$text"; fi

# Each planted bug applies: a run of them takes a part alone, and would tell months later.
mkdir -p "$out/rules/examples"
: >"$out/rules/skip"
text=$($CC -std=c99 -O1 -o "$out/make_header" tests/mutants/make_header.c 2>&1 &&
    "$out/make_header" "$out/rules" "$out/rules/skip" tests/mutants/*.rules 2>&1 &&
    cat "$out/rules/refused" || echo "make_header failed")
if [ -z "$text" ]; then ok; else bad "planted bugs that do not apply" "$text"; fi
rm -rf "$out/rules"

if text=$(sh "$(dirname "$0")/numbers.sh" "$out"); then ok; else bad "numbers about privacy" "$text"; fi
done_checks lint
