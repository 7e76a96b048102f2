#!/bin/sh
# The papers again, the cheap ones in quick form: the numbers that are printed, the same bytes
# twice, cut and damaged runs, bad use.  Ends with "reproduce: N passed, M failed".
tool=${BUILD:-build}/reproduce
tmp=${TMPDIR:-/tmp}/mcamp_reproduce.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; [ ! -s "$tmp/err" ] || sed 's/^/    /' "$tmp/err"; }

# runs STATUS ARGUMENTS...
runs() {
    want=$1; shift
    "$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -eq "$want" ]; then ok; else bad "status $code, want $want: $*"; fi
}

# refuses PATTERN ARGUMENTS...: bad use, named
refuses() {
    pattern=$1; shift
    runs 2 "$@"
    grep -q -e "$pattern" "$tmp/err" && [ ! -s "$tmp/out" ] && ok || bad "no \"$pattern\": $*"
}

# verdict ID PRINTED VERDICTS: that the item gives what the paper prints so
verdict() {
    awk -v p="$2" -v v="$3" '
        /"printed": / { split($0, w, "\""); now = w[4] }
        /"verdict": / { split($0, w, "\""); if (now != p) next
                        n++; if (index("," v ",", "," w[4] ",") == 0) no = w[4] }
        END { if (!n || no != "") print "verdict on " p ": " (n ? no : "none")
              exit !n || no != "" }' \
        "$tmp/a/$1.json" && ok || bad "$1: $2 is not $3"
}

# near ID SERIES X WANT TOLERANCE: y in the CSV
near() {
    awk -v s="\"$2\"," -v x="$3" -v w="$4" -v t="$5" '
        index($0, s) == 1 {
            split(substr($0, length(s) + 1), v, ",")
            if (v[1] - x < 1e-9 && x - v[1] < 1e-9) y = v[2] }
        END { if (y == "" || y - w > t || w - y > t) { print "got " y; exit 1 } }' "$tmp/a/$1.csv" &&
        ok || bad "$1: $2 at $3 is not $4"
}

# ---- bad use -------------------------------------------------------------------
refuses 'reproduce what'
refuses 'did you mean 004-t4' 004-t44
refuses 'unknown id "zebra"' zebra
refuses 'did you mean --quick' --quik
refuses 'either ids or --all' --all 004-t4
refuses '--threads must be' 004-t4 --threads 0
refuses 'either ids or --all or --training' --training 004-t4
refuses '--runs must be' 000-f7 --runs 101
: >"$tmp/file"
refuses '--out.*file' 004-t4 --out "$tmp/file/x"
refuses '--out.*nowhere' 004-t4 --out "$tmp/nowhere/x"
runs 0 --list
[ "$(grep -c '^0' "$tmp/out")" -ge 15 ] && ok || bad "list"
[ "$("$tool" 004-t4 --out "$tmp/a" >/dev/full 2>/dev/null; echo $?)" = 1 ] && ok || bad "full disk"

# ---- the cheap ones, and every number printed -----------------------------------
cheap="000-f1 001-mean 001-T 001-mf 002-f1 002-f2 002-f3 002-eq 004-t4 004-t5 004-k 004-f2 004-f6 004-f7"
runs 0 $cheap --quick --out "$tmp/a"
grep -q ' 0 not explained$' "$tmp/out" && ok || bad "a number is not explained"
for p in 806 1026 1612; do verdict 001-mean $p same; done
verdict 001-mean 1051 differs
verdict 001-T 4 same
for p in 4.22468 2.23048 1.19352 0.65294 0.36861 2.51352 1.34498 0.73579 0.41539; do
    verdict 004-t4 $p same
done
verdict 004-t4 0.65293 differs
grep -q 4.76079 "$tmp/a/004-t4.json" && ! grep -q '"printed": "4.76079' "$tmp/a/004-t4.json" && ok ||
    bad "a printed number is compared with itself"
for p in 0.37313 0.30481 0.25136 0.20567 0.16876 0.79118 0.64708 0.52224 0.43490; do
    verdict 004-t5 $p same,better
done
for p in 25000 2 1000 100; do verdict 004-t5 $p same; done
verdict 004-k 6.69 same
verdict 004-k 4.35 differs
near 001-mean analytic .501187233627272 804.2 1
near 004-t4 here 1 4.22468 5e-6
near 004-t4 here 16 .36861 5e-6
near 004-t5 'DP-SGD, Poisson' 1 .37313 2e-4
near 004-t5 'banded MF, cyclic Poisson' 8 .43490 3e-4
near 002-f3 'log(1 + c)/c' 2 .549306144334 1e-10
near 002-f1 'p = 0.01' 1 .05153 1e-4
for id in $cheap; do
    head -n 1 "$tmp/a/$id.csv" | grep -q '^series,x,y,lower,.*,samples,seconds$' &&
        tail -n 1 "$tmp/a/$id.svg" | grep -q '^</svg>' && grep -q '"seed": 1,' "$tmp/a/$id.json" &&
        grep -q "<section id=\"$id\">" "$tmp/a/index.html" && ok || bad "files of $id"
done
page=$tmp/a/index.html
tail -n 1 "$page" | grep -q '</html>' && ! grep -Eq 'src=|<script|-0<' "$page" && ok ||
    bad "the page is not self-contained, or has a -0"

# ---- training: seconds of it; nothing is concluded from single runs -------------------
train="000-f7 --quick --images digits"
refuses '--images must be' 000-f7 --images mnist
runs 0 $train --out "$tmp/a"
csv=$tmp/a/000-f7.csv
grep -q 'Not decided.*One run' "$tmp/a/000-f7.json" &&
    ! grep -q '"verdict"' "$tmp/a/000-f7.json" && ok || bad "concluded from single runs"
# Four arms, six tries each, and three without privacy, on images of their own: 237.
[ "$(grep -c '^"tuning' "$csv")" -eq 27 ] && ok || bad "runs of the tuning"
awk -F, '/^"tuning/ { y = $(NF - 7) * 237; d = y - int(y + 0.5)
    if (d > 1e-6 || d < -1e-6) exit 1 }' "$csv" && ok || bad "tuned on other images"
# What was chosen is the first of the best; arms with a promise have its sigma.
awk -F, '{ arm = $0; sub(/^"[a-z]*, /, "", arm); sub(/".*/, "", arm) }
    /^"tuning/ && $(NF - 7) + 0 > best[arm] { best[arm] = $(NF - 7) + 0
        want[arm] = $(NF - 8) "," $(NF - 7) "," $(NF - 3) }
    /^"chosen/ { n++; bad += want[arm] != $(NF - 8) "," $(NF - 7) "," $(NF - 3) }
    /^"runs/ { bad += ($(NF - 4) > 0) == (arm ~ /without privacy/) }
    END { exit bad || n != 5 }' "$csv" && ok || bad "not the best is chosen"

# Cut, with half a line and an edited one left behind: the same bytes at last, and none before.
"$tool" $train --threads 1 --out "$tmp/b" >"$tmp/out" 2>"$tmp/err" </dev/null &
child=$!
list=$tmp/b/parts/training.runs
tries=0
until [ "$(cat "$list" 2>/dev/null | wc -l)" -ge 5 ] || [ $tries -gt 6000 ]; do
    sleep 0.01
    tries=$((tries + 1))
done
kill -TERM $child
wait $child
[ $? -eq 1 ] && [ ! -e "$tmp/b/000-f7.csv" ] && [ ! -e "$tmp/b/parts/000-f7.html" ] && ok ||
    bad "half of a training is shown"
was=$(wc -l <"$list")
sed '2s/|0[.]/|1./' "$list" >"$tmp/cut" && sed -n '1s/....$//p' "$list" | tr -d '\n' >>"$tmp/cut"
cp "$tmp/cut" "$list"
runs 0 $train --out "$tmp/b"
for s in csv json svg; do cmp "$tmp/a/000-f7.$s" "$tmp/b/000-f7.$s"; done >"$tmp/err" 2>&1 && ok ||
    bad "cut and resumed: other bytes"
# 27 to tune, 5 that count; what was whole (but the edited one) was not run again.
[ "$(wc -l <"$list")" -eq $((32 + 2)) ] && [ "$was" -lt 32 ] && ok ||
    bad "runs made: $(wc -l <"$list"), $was when cut"

# More runs: no more tuning, and one run more of each arm; Student's interval of two runs.
runs 0 $train --runs 2 --threads 1 --out "$tmp/b"
[ "$(wc -l <"$list")" -eq $((32 + 2 + 5)) ] && ok || bad "tuned again for more runs"
grep '^"tuning' "$csv" >"$tmp/one" && grep '^"tuning' "$tmp/b/000-f7.csv" | cmp -s - "$tmp/one" &&
    ok || bad "another number of runs or threads, another tuning"
awk -F, 'NR == FNR { if (!/^"runs/) next
        a = $0; sub(/^"runs, epsilon [a-z0-9]*: /, "", a); sub(/".*/, "", a)
        y[a, $(NF - 8)] = $(NF - 7); next }
    /^"runs|^"tuning|^"chosen/ || $(NF - 1) != 2 { next }
    { a = $0; sub(/^"/, "", a); sub(/".*/, "", a); n++
      d = y[a, 1] - y[a, 2]; h = 12.7062047 / 2 * (d < 0 ? -d : d); m = (y[a, 1] + y[a, 2]) / 2
      e = $(NF - 6) - (m - h); f = $(NF - 5) - (m + h); bad += e * e + f * f > 1e-8 }
    END { exit bad || n < 6 }' "$tmp/b/000-f7.csv" "$tmp/b/000-f7.csv" && ok || bad "intervals"

case $tool in /*) here=$tool ;; *) here=$PWD/$tool ;; esac
(cd "$tmp" && "$here" 000-f7 --quick --images digits --out d) >"$tmp/out" 2>"$tmp/err"
[ $? -eq 1 ] && grep -q dataset-fashion-mnist "$tmp/err" && [ ! -e "$tmp/d/000-f7.csv" ] && ok ||
    bad "no images"
if [ ! -d /usr/share/datasets/fashion-mnist ]; then
    runs 1 000-f7 --quick --images fashion-mnist --out "$tmp/d"
    grep -q dataset-fashion-mnist "$tmp/err" && [ ! -e "$tmp/d/000-f7.csv" ] && ok ||
        bad "no Fashion-MNIST"
fi

# ---- the same bytes, whatever the threads ----------------------------------------
some="000-f1 001-mean 004-t4 004-t5"
runs 0 $some --quick --threads 1 --out "$tmp/b"
for id in $some; do
    for s in csv json svg; do cmp "$tmp/a/$id.$s" "$tmp/b/$id.$s" || bad "$id.$s differs"; done
done >"$tmp/err" 2>&1
[ ! -s "$tmp/err" ] && ok || bad "bytes"
runs 0 000-f1 --quick --seed 2 --out "$tmp/b"
cmp -s "$tmp/a/000-f1.csv" "$tmp/b/000-f1.csv" && bad "the seed changes nothing" || ok

# ---- what is there stays; what is damaged, or gone, or of another form, is made again ----
runs 0 $some --quick --out "$tmp/a"
grep -q '(0 now, 4 before)' "$tmp/out" && ok || bad "made again: $(cat "$tmp/out")"
head -c 300 "$tmp/a/parts/004-t4.html" >"$tmp/cut" && cp "$tmp/cut" "$tmp/a/parts/004-t4.html"
rm "$tmp/a/001-mean.svg"
head -c 300 "$tmp/a/004-t5.csv" >"$tmp/cut" && cp "$tmp/cut" "$tmp/a/004-t5.csv"
runs 0 $some --quick --out "$tmp/a"
grep -q '(3 now, 1 before)' "$tmp/out" && cmp -s "$tmp/a/004-t4.csv" "$tmp/b/004-t4.csv" &&
    cmp -s "$tmp/a/004-t5.csv" "$tmp/b/004-t5.csv" && ok ||
    bad "not made again: $(cat "$tmp/out")"
runs 0 001-mean --out "$tmp/a"
grep -q '(1 now, 0 before)' "$tmp/out" && ok || bad "quick was taken for whole"

# ---- cut: the item that ran is not there, the ones before are, and it goes on ------
"$tool" 001-mean 003-f1 --threads 1 --out "$tmp/c" >"$tmp/out" 2>"$tmp/err" </dev/null &
child=$!
tries=0
until [ -f "$tmp/c/parts/001-mean.html" ] || [ $tries -gt 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -TERM $child
wait $child
[ $? -eq 1 ] && grep -q interrupted "$tmp/err" && ok || bad "interrupted: status, message"
page=$tmp/c/index.html
[ ! -e "$tmp/c/003-f1.csv" ] && [ ! -e "$tmp/c/parts/003-f1.html" ] &&
    ! find "$tmp/c" -name '*.part' | grep -q . && ! grep -q 'section id="003-f1"' "$page" &&
    grep -q '003-f1</td>' "$page" && grep -q 'section id="001-mean"' "$page" && ok ||
    bad "half of an item is shown"
runs 0 001-mean 002-f1 --out "$tmp/c"
grep -q '(1 now, 1 before)' "$tmp/out" && ok || bad "did not go on: $(cat "$tmp/out")"

echo "reproduce: $passed passed, $failed failed"
[ $failed -eq 0 ]
