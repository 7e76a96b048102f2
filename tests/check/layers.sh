#!/bin/sh
# A section may call only the sections above it.  The header is cut before each
# banner ">>tag", closed, and compiled: a private function from below is then
# undeclared, a public one an undefined symbol.
. "$(dirname "$0")/lib.sh"

keep=
echo 'int x;' >"$out/keep.c"
$CC -fkeep-static-functions -Werror -c "$out/keep.c" -o "$out/keep.o" 2>/dev/null &&
    keep=-fkeep-static-functions

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
        echo "#endif"
    } >"$out/layer.c"
    try "up to $above" $CC -std=c99 -O0 $keep -Werror=implicit-function-declaration \
        -Werror=implicit-int -c "$out/layer.c" -o "$out/layer.o"
    text=$(nm -u "$out/layer.o" 2>/dev/null | grep 'mcamp_')
    if [ -z "$text" ]; then ok; else bad "$above calls a section below" "$text"; fi
done <"$out/tags"
[ "$last" -gt 5 ] || bad "only $last section banners found"
done_checks layers
