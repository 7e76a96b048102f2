#!/bin/sh
# The header in parts, for builds that make the suites once more:
#
#     [THREADS=] sh tests/check/split.sh HEADER OUT [COMPILER FLAGS...]
#
# OUT/decl/mcamp.h has no bodies of functions; OUT/first.c and OUT/last.c have half of them each,
# so that two cores compile them.  All make visible what is private to a file, so that suites
# which look into the implementation share its objects: most of the compiler's time is saved.
# OUT/flags is what a suite is compiled with.  THREADS: empty where there are none.  With a
# compiler, OUT/first.o and OUT/last.o are made too.  Lines keep their numbers.  Bodies begin and
# end in column 1, or stand on one line with their function's name; one that did not would not link.
header=$1 out=$2
shift 2
mkdir -p "$out/decl" "$out/first" "$out/last" || exit 1
middle=$(awk '/^}/ { at[n++] = NR } END { print at[int(n / 2)] }' "$header")
for what in decl first last; do
    awk -v what=$what -v middle="$middle" '
        /__attribute__\(\(unused\)\) static$/ { sub(/__attribute__.*/, "extern") }
        /define MCAMP__INL MCAMP__PRIV inline$/ { sub(/MCAMP__PRIV/, "static") }
        /^#  ifdef MCAMP_STATIC$/ { print "#  if 0"; next }
        what == (NR > middle ? "last" : "first") { print; next }
        body { body = !/^}/; print ""; next }
        /^(MCAMP__PRIV|MCAMP_API|MCAMP__APART|MCAMP__ENTRY) / { head = 1 }
        head && /^{/ { head = 0; body = 1; print ";"; next }
        head && / \{ .*\}$/ { sub(/ \{ .*\}$/, ";") }
        head && /;$/ { head = 0 }
        { print }' "$header" >"$out/$what/mcamp.h" || exit 1
done
given="_POSIX_C_SOURCE=200809L ${THREADS-MCAMP_PTHREADS=} MCAMP_IMPLEMENTATION="
for part in first last; do
    for d in $given; do echo "#define ${d%%=*} ${d#*=}"; done >"$out/$part.c"
    echo "#include \"$part/mcamp.h\"" >>"$out/$part.c"
done
for d in $given; do printf '%s ' "-D$d"; done >"$out/flags"
echo "-include $out/decl/mcamp.h" >>"$out/flags"
[ $# -gt 0 ] || exit 0
rm -f "$out/first.o" "$out/last.o"
"$@" -c -o "$out/first.o" "$out/first.c" &
"$@" -c -o "$out/last.o" "$out/last.c" && wait $!
