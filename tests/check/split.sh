#!/bin/sh
# The header in two, for builds that make the suites once more:
#
#     [THREADS=] sh tests/check/split.sh HEADER OUT COMPILER FLAGS...
#
# OUT/decl/mcamp.h has no bodies of functions; OUT/impl.o is made from OUT/impl/mcamp.h, which
# has them.  Both make visible what is private to a file, so that suites which look into
# the implementation share one object of it: most of the compiler's time is saved.  OUT/flags
# is what a suite is compiled with.  THREADS: empty where there are none.  Lines keep their
# numbers.  Bodies begin and end in column 1, or stand on one line with their function's
# name; one that did not would not link.
header=$1 out=$2
shift 2
mkdir -p "$out/decl" "$out/impl" || exit 1
for what in decl impl; do
    awk -v what=$what '
        /__attribute__\(\(unused\)\) static$/ { sub(/__attribute__.*/, "extern") }
        /define MCAMP__INL MCAMP__PRIV inline$/ { sub(/MCAMP__PRIV/, "static") }
        /^#  ifdef MCAMP_STATIC$/ { print "#  if 0"; next }
        what == "impl" { print; next }
        body { body = !/^}/; print ""; next }
        /^(MCAMP__PRIV|MCAMP_API|MCAMP__APART|MCAMP__ENTRY) / { head = 1 }
        head && /^{/ { head = 0; body = 1; print ";"; next }
        head && / \{ .*\}$/ { sub(/ \{ .*\}$/, ";") }
        head && /;$/ { head = 0 }
        { print }' "$header" >"$out/$what/mcamp.h" || exit 1
done
given="-D_POSIX_C_SOURCE=200809L ${THREADS--DMCAMP_PTHREADS=} -DMCAMP_IMPLEMENTATION="
echo "$given -include $out/decl/mcamp.h" >"$out/flags"
echo '#include "impl/mcamp.h"' >"$out/impl.c"
"$@" $given -c -o "$out/impl.o" "$out/impl.c"
