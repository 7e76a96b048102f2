#!/bin/sh
# Line and branch coverage of each part of the header by the given test programs, from
# gcov: built without optimisation into $out, run quickly.  A line or branch counts if any
# of them takes it.  Every line of part I with a branch that none takes must be in
# tests/coverage.txt, with a reason; those that are not are printed, and are failures.
#     sh tests/check/coverage.sh OUT SUITE...
case $1 in
--one)      # OUT SUITE: $out/$suite.gcov, or $out/$suite.failed
    out=$2 suite=$3
    mkdir -p "$out/$suite" && rm -f "$out/$suite"/*.gcda "$out/$suite".gcov "$out/$suite".failed
    export MCAMP_TEST_QUICK=1
    $CC -std=c99 -O0 --coverage -I. -pthread "tests/$suite.c" -o "$out/$suite/run" -lm &&
        "$out/$suite/run" >"$out/$suite/log" 2>&1 || { tail -n 3 "$out/$suite/log" >"$out/$suite.failed"; exit 0; }
    gcov -t -b -c -o "$out/$suite" "$out/$suite"/run-*.gcda 2>/dev/null |
        awk '/: *0:Source:/ { on = /mcamp\.h$/ } on' >"$out/$suite.gcov"
    exit 0 ;;
esac
. "$(dirname "$0")/lib.sh"
shift
have gcov || { skip coverage gcov; exit 0; }
export CC
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -n 1 sh "$0" --one "$out"
for suite in "$@"; do
    if [ -s "$out/$suite.gcov" ]; then ok; else bad "$suite" "$(cat "$out/$suite.failed")"; fi
done

# Parts begin at their banners, functions at the last line before their brace that begins
# in column 1; a line of a .gcov file is "count: number:text", followed by its branches.
# Inlined and repeated copies of a line are taken together; those of a kernel are copies for
# constants (a type, a slope or none), in which half of the branches cannot be taken: there
# a line is taken if its conditions went both ways in some copy.
awk '/^ \*  PART (I|II|III):/ { print NR, $3 }' mcamp.h | tr -d : >"$out/parts"
awk '/^[A-Za-z].*\(/ { head = $0; sub(/\(.*/, "", head); n = split(head, w, /[ *]+/); name = w[n]
         kernel = name == "MCAMP__K"
         if (kernel) { name = $0; sub(/.*MCAMP__K\(/, "", name); sub(/\).*/, "", name) } }
     /^\{/ { print NR, name, kernel }' mcamp.h >"$out/functions"
awk -v list="$out/not_taken" '
    FILENAME ~ /parts$/ { from[++parts] = $1; name[parts] = $2; next }
    FILENAME ~ /functions$/ { at[++functions] = $1; called[functions] = $2; kernel[functions] = $3; next }
    FNR == 1 { line = 0 }
    /^ *[0-9#=*-]+\*?: *[0-9]+:/ {
        split($0, field, ":"); count = field[1]; line = field[2] + 0; branch = 0
        if (count ~ /-$/) next
        seen[line] = 1; if (line > last) last = line
        if (count !~ /[#=]/) hit[line] = 1
        t = substr($0, index($0, field[2] ":") + length(field[2]) + 1)
        gsub(/[ \t]+/, " ", t); sub(/^ /, "", t); text[line] = t; next }
    /^branch/ && line {
        key = line " " branch++
        if (branch > most[line]) most[line] = branch
        side = line " " ($0 ~ /fallthrough/)
        sides[side] = 1
        if ($0 ~ /taken [1-9]/) taken[key] = went[side] = 1 }
    END {
        printf "" >list
        for (l = 1; l <= last; l++) {
            while (f < functions && at[f + 1] <= l) f++
            p = missing = 0
            for (i = 1; i <= parts; i++) if (l >= from[i]) p = i
            if (!p || !seen[l]) continue
            lines[p]++; linehit[p] += hit[l]
            for (b = 0; b < most[l]; b++) {
                branches[p]++; branchhit[p] += taken[l " " b]
                missing += !taken[l " " b]
            }
            if (kernel[f]) missing = (sides[l " " 0] && !went[l " " 0]) + (sides[l " " 1] && !went[l " " 1])
            if (name[p] == "I" && missing) print called[f] ": " text[l] >list
        }
        for (i = 1; i <= parts; i++) if (lines[i])
            printf "part %-3s  lines %5.1f%% of %d, branches %5.1f%% of %d\n", name[i],
                100 * linehit[i] / lines[i], lines[i], 100 * branchhit[i] / branches[i], branches[i]
    }' "$out/parts" "$out/functions" "$out"/*.gcov

# "function: text" on a line of its own, its reason (of all since the last reason) indented.
grep -v '^[# ]' tests/coverage.txt | sort -u >"$out/known"
sort -u "$out/not_taken" | grep -vxFf "$out/known" >"$out/unknown"
if [ -s "$out/unknown" ]; then bad "branches that are not taken, without a reason" "$(cat "$out/unknown")"; else ok; fi
done_checks coverage
