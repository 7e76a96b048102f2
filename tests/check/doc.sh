#!/bin/sh
# Every public function is named in the header's top comment (from the line with
# "FUNCTIONS" on), and every function named there exists.  Passes with a note as
# long as there is no such list.
. "$(dirname "$0")/lib.sh"

$CC -std=c99 -E -P -DMCAMP_API=MCAMP_DECLARED tests/compile/decl.c |
    tr '\n' ' ' | tr ';{}' '\n\n\n' |
    sed -n 's/.*MCAMP_DECLARED[^(]*[ *]\(mcamp_[a-z0-9_]*\) *(.*/\1/p' | sort -u >"$out/declared"
sed '/\*\//q' mcamp.h | sed -n '/^ \* FUNCTIONS/,/^ \* CHANGELOG/p' | grep -o 'mcamp_[a-z0-9_]*(\{0,1\}' >"$out/words"
sed 's/($//' "$out/words" | sort -u >"$out/listed"

[ -s "$out/declared" ] && ok || bad "no public function found"
if [ -s "$out/listed" ]; then
    text=$(comm -23 "$out/declared" "$out/listed")
    if [ -z "$text" ]; then ok; else bad "declared but not listed" "$text"; fi
    # Types may be named too; a listed name must at least occur in the declarations.
    text=$(comm -13 "$out/declared" "$out/listed" | while read -r w; do
        sed '1,/\*\//d' mcamp.h | grep -qw "$w" || echo "$w"; done)
    if [ -z "$text" ]; then ok; else bad "listed but not declared" "$text"; fi
else
    echo "doc-check: no function list in the top comment yet"
fi
# Every banner over declarations says its level, and below it none comes back that is easier.
text=$(sed '/Stop here if you only want/q' mcamp.h | awk '
    BEGIN { of["easy"] = 1; of["standard"] = 2; of["expert"] = 3 }
    /^ \*  .*\(decl\) [a-z]+$/ { level = of[$(NF - 2)]; n++; if (!level) print "no level: " $0 }
    /^\/\* ---- (easy|standard|expert) level/ { if (of[$3] < level) print "too late: " $0; level = of[$3] }
    END { if (n < 15) print "only " n " banners" }')
if [ -z "$text" ]; then ok; else bad "levels of the declarations" "$text"; fi
# Errors name the argument or the field as its declaration spells it, without a path.
sed '1,/Stop here if you only want/d' mcamp.h | tr '\n' ' ' | tr ';' '\n' |
    grep -oE 'mcamp__(fail|check[a-z_]*|copy_values)\([^"]*"[^"]*"' | sed 's/.*"\(.*\)"/\1/' |
    sort -u >"$out/named"
sed '/Stop here if you only want/q' mcamp.h | sed '1,/\*\//d' | sed 's|/\*.*\*/||; s|/\*.*||' |
    grep -oE '[a-zA-Z_][a-zA-Z_0-9]*' | sort -u >"$out/spelled"
text=$(comm -23 "$out/named" "$out/spelled")
if [ -z "$text" ] && [ -s "$out/named" ]; then ok; else bad "errors name what is not declared" "$text"; fi

# The quick start in the top comment is examples/quickstart.c, line by line.
sed '/\*\//q' mcamp.h | sed -n '/^ \* QUICK START/,/^ \* WHAT/p' | sed '1d;$d' |
    sed -e 's/^ \*$//' -e 's/^ \*     //' | sed -e '$d' >"$out/quick_header"
sed -e '1d' -e 's|/\* \(.*\) \*/|// \1|' examples/quickstart.c >"$out/quick_example"
if diff "$out/quick_header" "$out/quick_example" >"$out/quick_diff"; then ok
else bad "quick start differs from examples/quickstart.c" "$(cat "$out/quick_diff")"; fi
done_checks doc-check
