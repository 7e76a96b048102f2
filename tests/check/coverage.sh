#!/bin/sh
# Line and branch coverage of each part of the header by the given test programs, from
# gcov: built without optimisation into $out, run quickly.  A line or branch counts if any
# of them takes it.  Branches of part I that none takes are listed in $out/not_taken.
#     sh tests/check/coverage.sh OUT SUITE...
. "$(dirname "$0")/lib.sh"
shift
have gcov || { skip coverage gcov; exit 0; }
export MCAMP_TEST_QUICK=1
for suite in "$@"; do
    mkdir -p "$out/$suite"
    $CC -std=c99 -O0 --coverage -I. -pthread "tests/$suite.c" -o "$out/$suite/run" -lm || exit 1
    "$out/$suite/run" >"$out/$suite/log" 2>&1 || { bad "$suite" "$(tail -n 3 "$out/$suite/log")"; continue; }
    ok
    gcov -t -b -c -o "$out/$suite" "$out/$suite"/run-*.gcda 2>/dev/null |
        awk '/: *0:Source:/ { on = /mcamp\.h$/ } on' >"$out/$suite.gcov"
done

# Parts begin at their banners; a line of a .gcov file is "count: number:text", followed by
# its branches.  Inlined and repeated copies of a line are taken together.
awk '/^ \*  PART (I|II|III):/ { print NR, $3 }' mcamp.h | tr -d : >"$out/parts"
awk -v list="$out/not_taken" '
    FILENAME ~ /parts$/ { from[++parts] = $1; name[parts] = $2; next }
    FNR == 1 { line = 0 }
    /^ *[0-9#=*-]+\*?: *[0-9]+:/ {
        split($0, field, ":"); count = field[1]; line = field[2] + 0; branch = 0
        if (count ~ /-$/) next
        seen[line] = 1; if (line > last) last = line
        if (count !~ /[#=]/) hit[line] = 1
        text[line] = substr($0, index($0, field[2] ":") + length(field[2]) + 1); next }
    /^branch/ && line {
        key = line " " branch++
        outcome[key] = 1; if (branch > most[line]) most[line] = branch
        if ($0 ~ /taken [1-9]/) taken[key] = 1 }
    END {
        for (l = 1; l <= last; l++) {
            p = 0
            for (i = 1; i <= parts; i++) if (l >= from[i]) p = i
            if (!p || !seen[l]) continue
            lines[p]++; linehit[p] += hit[l]
            for (b = 0; b < most[l]; b++) {
                branches[p]++; branchhit[p] += taken[l " " b]
                if (name[p] == "I" && !taken[l " " b]) print l ":" b ":" text[l] >list
            }
        }
        for (i = 1; i <= parts; i++) if (lines[i])
            printf "part %-3s  lines %5.1f%% of %d, branches %5.1f%% of %d\n", name[i],
                100 * linehit[i] / lines[i], lines[i], 100 * branchhit[i] / branches[i], branches[i]
    }' "$out/parts" "$out"/*.gcov
done_checks coverage
