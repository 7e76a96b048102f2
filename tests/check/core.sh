#!/bin/sh
# Part I of the header compiled alone, with nothing hidden: an unused private
# function is an error.  A driver verifies a claim and runs a session from it.
# Prints the lines of function bodies of each section (the kernels
# count once); more than CORE_MOST in all are refused.
. "$(dirname "$0")/lib.sh"

most=${CORE_MOST:-6000}
core=$out/mcamp_core.h

# Part I is what stands before the banners of part II, which are two, over the
# declarations and over the functions, with what closes each of the two halves;
# without the kernels that only parts II and III call.
awk '
    /^ \*  PART II: / { cut = 1; parts++ }
    /^\/\* ---- for part II/ { apart = 1 }
    apart && /^\/\* ---- / && !/for part II/ { apart = 0 }
    /^MCAMP_EXTERN_C_END/ { last = NR }
    { line[NR] = $0; skip[NR] = cut || apart }
    /MCAMP_H_INCLUDED \*\/$/ { for (i = last; i <= NR; i++) skip[i] = 0; cut = 0 }
    END {
        for (i = last; i <= NR; i++) skip[i] = 0
        for (i = 1; i <= NR; i++)
            if (!skip[i] && !(skip[i + 1] && line[i] ~ /^\/\* ####/)) print line[i]
        exit parts != 2
    }' mcamp.h >"$out/part1.h" || bad "part I is cut out" "not two banners of part II"

# Private functions lose the attribute that hides those that nobody calls.
sed -e 's/^\(# *define MCAMP__PRIV\) __attribute__((unused)) static$/\1 static/' \
    -e 's/"mcamp\.h"$/"mcamp_core.h"/' "$out/part1.h" >"$core"
if grep -q '^# *define MCAMP__PRIV static' "$core" && ! grep -q 'PRIV.*unused' "$core"
then ok; else bad "unused functions show" "MCAMP__PRIV still hides them"; fi

try "core compiles alone" $CC -std=c99 -O1 -Wall -Wextra -Werror -Wunused-function \
    -I"$out" -o "$out/driver" tests/core/driver.c -lm

# The same of parts II and III: what is private and unused anywhere goes.
sed 's/^\(# *define MCAMP__PRIV\) __attribute__((unused)) static$/\1 static/' mcamp.h >"$out/whole.h"
printf '#define MCAMP_IMPLEMENTATION\n#include "whole.h"\n' >"$out/whole.c"
try "nothing private is unused" $CC -std=c99 -O0 -Wall -Wextra -Werror -Wunused-function \
    -I"$out" -c "$out/whole.c" -o "$out/whole.o"

# Compilers say nothing of unused inline functions: a kernel's name stands at least
# where it is defined and where it is called.  (The same awk tells what is used by
# functions alone that are themselves unused.)
text=$(sed 's/mcamp__k1_\([a-z0-9_]*\)(/MCAMP__K(\1)/g; s/MCAMP__DISPATCH([^,]*, *\([a-z0-9_]*\)/MCAMP__K(\1)/' "$core" |
    awk '/^MCAMP__[A-Z]+ .*MCAMP__K\([a-z0-9_]+\)\(/ { s = $0; sub(/.*MCAMP__K\(/, "", s); sub(/\).*/, "", s); made[s] = 1 }
        { while (match($0, /MCAMP__K\([a-z0-9_]+\)/)) { n[substr($0, RSTART + 9, RLENGTH - 10)]++; $0 = substr($0, RSTART + RLENGTH) } }
        END { for (k in made) if (n[k] < 2) print k }')
if [ -z "$text" ]; then ok; else bad "kernels that nobody calls" "$text"; fi

if [ -x "$out/driver" ]; then try "a claim and a session in the core alone" "$out/driver"; fi

# Lines between the "{" and the "}" in the first column, by section; a kernel whose
# whole body stands on its line counts as one.
awk -v most="$most" '
    /^ \*  .*>>[a-z]+$/ { tag = $NF; sub(/>>/, "", tag) }
    tag != seen[n] { seen[++n] = tag }
    /^\{/ || /^    \{ \\$/ { start = NR }
    /^MCAMP__[A-Z]+ .*\{.*\}$/ { lines[tag]++; count[tag]++ }
    (/^\}/ || /^    \}( \\)?$/) && start {
        if (/^\}/ || line ~ /\\$/) { lines[tag] += NR - start - 1; count[tag]++; start = 0 }
    }
    { line = $0 }
    END {
        for (i = 1; i <= n; i++) if (count[seen[i]]) {
            printf "core: %-8s %5d lines in %3d functions\n", seen[i], lines[seen[i]],
                count[seen[i]]
            all += lines[seen[i]]; functions += count[seen[i]]
        }
        printf "core: %-8s %5d lines in %3d functions, at most %d\n", "in all", all,
            functions, most
        exit all > most || all < 1000
    }' "$core" && ok || bad "size of the core" "more than $most lines (or none found)"
done_checks core
