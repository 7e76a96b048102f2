#!/bin/sh
# Which macros the header leaves defined, beyond those of its system headers:
# after the declarations only MCAMP_..., after the implementation no MCAMP__...
. "$(dirname "$0")/lib.sh"

dump() { $CC -std=c99 -dM -E "$@" | awk '{ sub(/\(.*/, "", $2); print $2 }' | sort -u; }

# The system headers alone, each in its own __has_include guard.
sed -n 's/^ *# *include *\(<[a-z0-9_./]*>\).*/\1/p' mcamp.h | sort -u |
while read -r h; do
    echo "#ifdef __has_include"
    echo "#if __has_include($h)"
    echo "#include $h"
    echo "#endif"
    echo "#endif"
done >"$out/system.c"
dump "$out/system.c" >"$out/system.macros"

check() {   # check NAME FILE PATTERN-OF-ALLOWED
    dump "$2" | comm -13 "$out/system.macros" - | grep -Ev "$3" >"$out/leaked"
    if [ -s "$out/leaked" ]; then bad "$1 leaks" "$(cat "$out/leaked")"; else ok; fi
}
check "declarations" tests/compile/decl.c '^MCAMP_[A-Z]'
check "implementation" tests/compile/impl.c '^MCAMP_[A-Z]'
done_checks check-macros
