#!/bin/sh
# A section may call only the sections above it.  The header is cut before each
# banner ">>tag", closed, and compiled: a private function from below is then
# undeclared, a public one an undefined symbol.  The sections stand in three parts,
# so nothing in the core calls parts II and III, and nothing in part II part III;
# section exact is also compiled without what samples: with base, rng, gauss and vec alone.
. "$(dirname "$0")/lib.sh"

keep=
echo 'int x;' >"$out/keep.c"
$CC -fkeep-static-functions -Werror -c "$out/keep.c" -o "$out/keep.o" 2>/dev/null &&
    keep=-fkeep-static-functions

# layer NAME: out/layer.c compiles, and nothing in it is defined elsewhere.
layer() {
    try "$1" $CC -std=c99 -O0 $keep -Werror=implicit-function-declaration \
        -Werror=implicit-int -c "$out/layer.c" -o "$out/layer.o"
    text=$(nm -u "$out/layer.o" 2>/dev/null | grep 'mcamp_')
    if [ -z "$text" ]; then ok; else bad "$1 calls a section below" "$text"; fi
}

# What closes the conditions that are open there: the last lines of the header.
ends=$(grep '^#endif /\*' mcamp.h | tail -n 2)

# The banner's first line is the comment opening above the tag's line.
awk '/^ \*  .*>>[a-z]+$/ { tag = $NF; sub(/>>/, "", tag); print NR - 1, tag }' mcamp.h \
    >"$out/tags"
last=$(wc -l <"$out/tags")
i=0
while read -r line tag; do
    i=$((i + 1))
    [ "$tag" = config ] && continue
    above=$(sed -n "$((i - 1))s/.* //p" "$out/tags")
    {
        echo "#define MCAMP_IMPLEMENTATION"
        head -n $((line - 1)) mcamp.h
        echo "$ends"
    } >"$out/layer.c"
    layer "up to $above"
done <"$out/tags"
[ "$last" -gt 5 ] || bad "only $last section banners found"

# Lines "half part tag": the declarations of a section and its functions stand in the
# same part, and there are three parts, in order, in both halves.
awk '
    /^ \*  PART I+: /       { part = $3; sub(/:/, "", part); if (part == "I") half++; print half, part }
    /^ \*  .*\(decl\) [a-z]+$/ { print 1, part, $NF }
    /^ \*  .*>>[a-z]+$/     { tag = $NF; sub(/>>/, "", tag); if (tag != "config") print 2, part, tag }
    ' mcamp.h >"$out/parts"
order=$(awk 'NF == 2 { printf "%s ", $2 }' "$out/parts")
if [ "$order" = "I II III I II III " ]; then ok; else bad "order of the parts" "$order"; fi
text=$(awk 'NF == 3 && $1 == 2 { part[$3] = $2; n++ }
    NF == 3 && $1 == 1 { seen[$3] = $2 }
    END {
        for (t in seen) if (part[t] != seen[t])
            print t ": declared in part " seen[t] ", defined in part " part[t]
        for (t in part) if (part[t] == "") print t ": in no part"
        if (n < 10) print "only " n " sections"
    }' "$out/parts")
if [ -z "$text" ]; then ok; else bad "sections in their parts" "$text"; fi

awk '
    NR == FNR { at[$1] = $2; next }
    FNR in at { tag = at[FNR] }
    FNR == 1 { print "#define MCAMP_IMPLEMENTATION" }
    tag == "" || tag ~ /^(config|base|rng|gauss|vec|exact)$/
    END { print ends }' ends="$ends" "$out/tags" mcamp.h >"$out/layer.c"
layer "exact with base, rng, gauss and vec alone"
done_checks layers
