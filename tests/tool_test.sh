#!/bin/sh
# The command-line tool: answers against known ones, JSON, exit statuses, and
# messages that name the option.  Ends with "tool: N passed, M failed".
tool=${BUILD:-build}/mcamp
tmp=${TMPDIR:-/tmp}/mcamp_tool.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; [ -z "$MCAMP_TEST_STOP" ] || exit 1; }

# expect STATUS PATTERN ARGUMENTS...: the exit status, and a line of standard
# error that matches; standard output stays empty.
expect() {
    want=$1; pattern=$2; shift 2
    "$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -ne "$want" ]; then bad "status $code, want $want: $*"
    elif ! grep -q -e "$pattern" "$tmp/err"; then bad "no \"$pattern\" in: $(cat "$tmp/err")"
    elif [ -s "$tmp/out" ]; then bad "output in spite of bad use: $*"
    else ok; fi
}

# runs STATUS ARGUMENTS...: the output is left in $tmp/out
runs() {
    want=$1; shift
    "$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    code=$?
    if [ $code -eq "$want" ]; then ok
    else bad "status $code, want $want: $* ($(cat "$tmp/err"))"; fi
}

# value KEY: of the JSON object in $tmp/out, not of the question
value() { sed -n "/^  \"question\": /d; s/.*\"$1\": \([^],}]*\).*/\1/p" "${2:-$tmp/out}"; }

# near NAME GOT WANT TOLERANCE
near() {
    if awk -v g="$2" -v w="$3" -v t="$4" 'BEGIN {
            exit !(g != "" && g - w <= t && w - g <= t) }'; then ok
    else bad "$1: got $2, want $3 within $4"; fi
}

shape="--epochs 4 --batches 8"
identity="--strategy identity"

# ---- bad use ----------------------------------------------------------------
expect 2 'which command'
expect 2 'unknown command "foo"' foo
expect 2 'needs --eps' sigma
expect 2 'needs --batches' sigma --eps 1 --delta .1
expect 2 '--eps needs a value' sigma --eps
expect 2 '--eps.*"x"' sigma --eps x
expect 2 '--eps.*"nan"' sigma --eps nan
expect 2 '--eps.*"inf"' sigma --eps inf
expect 2 '--eps.*"1e999"' sigma --eps 1e999
expect 2 '--eps is given twice' sigma --eps 1 --eps 2
expect 2 '--eps must be.*-1' sigma $shape $identity --eps -1 --delta .1
expect 2 '--delta must be.*not 1' sigma $shape $identity --eps 1 --delta 1
expect 2 '--delta must be.*not 0' sigma $shape $identity --eps 1 --delta 0
expect 2 '--sigma must be' delta $shape $identity --eps 1 --sigma 0
expect 2 '--sigma does not apply' sigma $shape $identity --eps 1 --delta .1 --sigma 1
expect 2 'needs --strategy' delta $shape --eps 1 --sigma 1
expect 2 'needs --delta' sigma $shape $identity --eps 1
expect 2 'unknown option "--nonsense"' delta --nonsense 1
expect 2 'unexpected "5"' delta 5
expect 2 '--json takes no value' delta --json=1
expect 2 'either --epochs or --rounds' delta --batches 4 $identity --eps 1 --sigma 1
expect 2 'not both' delta $shape --rounds 32 $identity --eps 1 --sigma 1
expect 2 '--batches must be above 0' delta --epochs 4 --batches 0 $identity --eps 1 --sigma 1
expect 2 '--epochs must be above 0' delta --epochs 0 --batches 4 $identity --eps 1 --sigma 1
expect 2 '--rounds must be above 0' delta --rounds 0 --batches 4 $identity --eps 1 --sigma 1
expect 2 '--epochs.*"1.5"' delta --epochs 1.5 --batches 4 $identity --eps 1 --sigma 1
expect 2 '--batches.*"-4"' delta --epochs 1 --batches -4 $identity --eps 1 --sigma 1
expect 2 'too many rounds' delta --epochs 9999999999999 --batches 9999999999999 $identity \
    --eps 1 --sigma 1
expect 2 '--direction' delta $shape $identity --eps 1 --sigma 1 --direction up
expect 2 '--beta' verify $shape $identity --eps 1 --delta .1 --sigma 1 --beta 1.5
expect 2 '--samples' delta $shape $identity --eps 1 --sigma 1 --samples 0
expect 2 '--threads' delta $shape $identity --eps 1 --sigma 1 --threads 0
expect 2 '--points' curve $shape $identity --sigma 1 --points 1
expect 2 '--out' curve $shape $identity --sigma 1 --eps-max 1 --points 2 --out /no/such/dir/x

for c in nothing sqrt sqrt: sqrt:x toeplitz: toeplitz:1,x toeplitz:1, toeplitz:0,1 toeplitz:-1 \
         toeplitz:@/no/such/file blt:0.5 blt:0.5:1, blt:1.5:1 banded:1 dense:@/no/such/file; do
    expect 2 '--strategy' delta $shape --strategy $c --eps 1 --sigma 1
done
echo '1 2 x' >"$tmp/bad"
expect 2 ':1: "x"' delta $shape --strategy toeplitz:@"$tmp/bad" --eps 1 --sigma 1
printf '1\n1 1\n1 1 1\n' >"$tmp/short"
expect 2 '3 rows, but there are 32' delta $shape --strategy banded:@"$tmp/short" --eps 1 --sigma 1
printf '1\n1\n1 1\n1 1\n' >"$tmp/ragged"
expect 2 'row 1 has 1 entries instead of 2' delta --rounds 4 --batches 2 \
    --strategy banded:@"$tmp/ragged" --eps 1 --sigma 1
printf '1 0\n1 1\n1 1\n' >"$tmp/square"
expect 2 'row 0 has 2 entries instead of 3' delta --rounds 3 --batches 1 \
    --strategy dense:@"$tmp/square" --eps 1 --sigma 1

# ---- help -------------------------------------------------------------------
runs 0 --help
grep -q 'mcamp sigma --epochs' "$tmp/out" && ok || bad "no example in --help"
runs 0 --version
first=$(cat "$tmp/out")
runs 0 version
[ "$(cat "$tmp/out")" = "$first" ] && ok || bad "version and --version differ"
# Each command's own options and examples, all that it takes and no others.
for command in $("$tool" help | sed -n '/^commands/,/^options/s/^  \([a-z]*\) .*/\1/p'); do
    case $command in help|version) continue ;; esac
    runs 0 "$command" --help
    cp "$tmp/out" "$tmp/first"
    runs 0 help "$command"
    cmp -s "$tmp/out" "$tmp/first" && ok || bad "help $command differs from $command --help"
    grep '^  mcamp ' "$tmp/out" >"$tmp/lines"
    case $command in verify) after='merge t' ;; merge) after='verify.*--shard' ;; *) after='verify.*--record' ;; esac
    [ -s "$tmp/lines" ] && ! grep -qv -e "^  mcamp $command\( \|\$\)" -e "^  mcamp $after" "$tmp/lines" &&
        ok || bad "examples in $command --help: $(cat "$tmp/lines")"
    for option in $("$tool" help | sed -n 's/^  --\([a-z-]*\) .*/\1/p'); do
        "$tool" "$command" "--$option=" >"$tmp/none" 2>"$tmp/err" </dev/null
        takes=yes
        grep -q 'does not apply' "$tmp/err" && takes=
        shown=
        grep -q -e "^  --$option " "$tmp/out" && shown=yes
        [ "$takes" = "$shown" ] || bad "$command --help on --$option: shown \"$shown\""
    done
    ok
done
grep -q -e --family "$tmp/out" && bad "report --help shows --family" || ok
expect 2 'no help on "foo"' help foo
expect 2 'did you mean sigma?' sigmo
expect 2 'did you mean --delta?' sigma $shape $identity --eps 1 --detla .1
expect 2 'did you mean --epsilon?' sigma $shape $identity --epsilom 1
expect 2 'unknown option "--qqqqq"$' sigma $shape $identity --qqqqq 1
# Other words for an option; batches from the size of the data.
runs 0 sigma $shape $identity --eps=1 --delta=1e-3
same_answer() { [ "$(head -n 1 "$tmp/out")" = "$answer" ]; }
answer=$(head -n 1 "$tmp/out")
runs 0 sigma $shape $identity --epsilon 1 --delta 1e-3
same_answer && ok || bad "--epsilon is not --eps"
for size in 120 125 133; do
    runs 0 sigma --epochs 4 --examples 1000 --batch-size $size $identity --eps 1 --delta 1e-3
    same_answer && ok || bad "1000 examples by $size are not 8 batches"
    grep -q '8 batches in an epoch, of 125 ' "$tmp/err" && ok || bad "rounding is not said"
done
runs 0 sigma --epochs 4 --examples 1000 --batch-size 134 $identity --eps 1 --delta 1e-3
grep -q ': 7 batches in an epoch, of 142.857 ' "$tmp/err" && ok || bad "134: $(cat "$tmp/err")"
expect 2 'batch-size must be' sigma --epochs 4 --examples 10 --batch-size 11 $identity --eps 1 \
    --delta .1
expect 2 '18446744073709551615 epochs of 10 batches' sigma --epochs 18446744073709551615 \
    --examples 1000 --batch-size 100 $identity --eps 1 --delta .1
expect 2 'either --batches or --batch-size' sigma $shape --examples 100 --batch-size 10 $identity \
    --eps 1 --delta .1
expect 2 'batch-size must be' sigma --epochs 4 --examples 10 --batch-size 0 $identity --eps 1 \
    --delta .1

# ---- closed forms: b = 1 is the Gaussian mechanism ---------------------------
runs 0 delta --epochs 1 --batches 1 $identity --sigma 1 --eps 1 --json
near "Gaussian delta" "$(value delta)" 0.12693673750664397 1e-12
runs 0 epsilon --epochs 1 --batches 1 $identity --sigma 4 --delta 1e-5 --json
eps=$(value epsilon)
runs 0 sigma --epochs 1 --batches 1 $identity --eps "$eps" --delta 1e-5 --json
near "sigma of its epsilon" "$(value sigma)" 4 1e-6
# A strategy and the file of its rows are the same C.
printf '1\n0.5 1\n0 0.5 1\n0 0 0.5 1\n' >"$tmp/dense"
printf '1 0 0 0\n.5 1 0 0\n0, .5, 1, 0 # a comment\n\n0 0 .5 1\n' >"$tmp/full"
printf '1\n0.5 1\n.5,1\n.5 1\n' >"$tmp/banded"
runs 0 delta --rounds 4 --batches 1 --strategy toeplitz:1,0.5 --sigma 3 --eps 1 --json
one=$(value delta)
for f in dense:@"$tmp/dense" dense:@"$tmp/full" banded:@"$tmp/banded"; do
    runs 0 delta --rounds 4 --batches 1 --strategy "$f" --sigma 3 --eps 1 --json
    near "$f" "$(value delta)" "$one" 1e-12
done
runs 0 delta --rounds 4 --batches 1 --strategy toeplitz:1,0.5 --sigma 3 --eps 1 --normalize --json
near "normalized" "$(value delta)" "$(runs 0 delta --rounds 4 --batches 1 --strategy \
    toeplitz:0.8944271909999159,0.4472135954999579 --sigma 3 --eps 1 --json; value delta)" 1e-12

# ---- sampling: against exact values -------------------------------------------
# bib_identity.txt: E.bib.b16.E1.s0.5.e0.5.remove
runs 0 delta --epochs 1 --batches 16 $identity --sigma 0.5 --eps 0.5 --json
cp "$tmp/out" "$tmp/first"
near "delta, b = 16" "$(value delta_remove)" 0.2267272115247802 \
    "$(value stderr_remove | awk '{ print 6 * $1 + 1e-9 }')"
for key in epsilon delta delta_remove delta_add stderr_remove stderr_add upper beta sigma \
           samples order_remove range_remove kind direction seconds seed version; do
    [ -n "$(value $key)" ] && ok || bad "JSON has no \"$key\""
done
runs 0 delta --epochs 1 --batches 16 $identity --sigma 0.5 --eps 0.5 --json --threads 3
near "threads change nothing" "$(value delta)" "$(value delta "$tmp/first")" 0
runs 0 delta --epochs 1 --batches 16 $identity --sigma 0.5 --eps 0.5 --json --direction add
near "--direction add" "$(value delta)" "$(value delta_add)" 0
runs 0 delta --epochs 1 --batches 16 $identity --sigma 0.5 --eps 0.5
grep -q '^delta = ' "$tmp/out" && ok || bad "no answer in the text"

# ---- proofs --------------------------------------------------------------------
runs 0 verify $shape $identity --sigma 4 --eps 1 --delta 1e-3 --json
[ "$(value accepted)" = true ] && ok || bad "a true claim is refused"
runs 1 verify $shape $identity --sigma 0.5 --eps 1 --delta 1e-3 --json --samples 1e5
[ "$(value accepted)" = false ] && ok || bad "a false claim is accepted"
runs 1 verify $shape $identity --sigma 0.5 --eps 1 --delta 1e-3 --samples 1e5
grep -q 'Not certified.  Nothing is claimed' "$tmp/out" && ok || bad "a refusal is not shown"
runs 0 sigma $shape $identity --eps 1 --delta 1e-3 --certify --json
[ "$(value accepted)" = true ] && ok || bad "no certified sigma"

# ---- records: written with a proof, read by the other commands --------------------------------
runs 0 sigma --epochs 3 --batches 5 --strategy sqrt:3 --eps 1 --delta 1e-3 --certify --json \
    --record "$tmp/run.txt"
cp "$tmp/out" "$tmp/proof.json"
runs 0 verify --record "$tmp/run.txt" --json
for key in sigma epsilon delta samples_remove samples_add log_wealth_remove log_wealth_add \
           strategy_digest gram_digest rung seed; do
    [ "$(value $key)" = "$(value $key "$tmp/proof.json")" ] && ok || bad "repeated: $key differs"
done
sigma=$(value sigma "$tmp/proof.json")
runs 0 verify --epochs 3 --batches 5 --strategy sqrt:3 --eps 1 --delta 1e-3 --sigma "$sigma" --json
for key in strategy_digest gram_digest; do
    [ "$(value $key)" = "$(value $key "$tmp/proof.json")" ] && ok || bad "verify: $key differs"
done
runs 0 report --record "$tmp/run.txt"
grep -q "digest $(value strategy_digest "$tmp/proof.json" | tr -d '"')" "$tmp/out" &&
    grep -q '^Privacy statement' "$tmp/out" && grep -q "sigma $sigma" "$tmp/out" && ok || bad "no statement"
runs 0 delta --record "$tmp/run.txt" --eps 1 --sigma "$sigma" --json
awk -v d="$(value lower)" 'BEGIN { exit !(d != "" && d <= 1e-3) }' && ok || bad "delta of a record"
runs 0 error --record "$tmp/run.txt" --json
expect 2 '--strategy' delta --eps 1 --sigma 2 --epochs 3 --batches 5
expect 2 '--batches: C and its shape' delta --record "$tmp/run.txt" --batches 5 --eps 1 --sigma 2
expect 2 '--eps: the claim' verify --record "$tmp/run.txt" --eps 1
sed 's/^epsilon: 1$/epsilon: 2/' "$tmp/run.txt" >"$tmp/edited.txt"
expect 2 'edited or cut (checksum)' verify --record "$tmp/edited.txt"
head -n 20 "$tmp/run.txt" >"$tmp/cut.txt"
expect 2 'edited or cut' report --record "$tmp/cut.txt"
sed 's/^version: .*/version: 9.0.0/' "$tmp/run.txt" >"$tmp/newer.txt"
expect 2 'newer version' report --record "$tmp/newer.txt"
runs 0 plan --rounds 16 --batches 5 --eps 2 --delta 1e-3 --amplification bnb --memory 1 --json \
    --record "$tmp/plan_record.txt"
plan=$(value strategy_digest)
runs 0 verify --record "$tmp/plan_record.txt" --json
[ "$(value strategy_digest)" = "$plan" ] && ok || bad "plan and verify: two digests of one C"
runs 0 sigma --epochs 3 --batches 5 --strategy sqrt:3 --eps 1 --delta 1e-3 --certify --direction add
grep -q 'only with the example added' "$tmp/out" && grep -q 'half of' "$tmp/out" &&
    ! grep -q 'differentially private' "$tmp/out" && ok || bad "one direction is called private"
runs 0 error --rounds 16 --strategy sqrt:3 --sigma 4
grep -q '(0, 0)' "$tmp/out" && bad "error --sigma says (0, 0)" || ok
# What is printed is accepted when it is fed back.
for question in '--epochs 1 --batches 1 --eps 1 --delta 1e-5' '--epochs 1 --batches 1 --eps 0.3 --delta 1e-9' \
                '--epochs 2 --batches 4 --eps 1 --delta 1e-4'; do
    for certify in '' --certify; do
        runs 0 sigma $question $identity $certify
        sigma=$(sed -n 's/.*sigma = \([0-9.e+-]*\).*/\1/p' "$tmp/out" | head -n 1)
        runs 0 verify $question $identity --sigma "$sigma"
    done
done

# ---- the curve --------------------------------------------------------------------
runs 0 curve $shape $identity --sigma 2 --points 9 --out "$tmp/curve.svg"
grep -q '</svg>' "$tmp/curve.svg" && ok || bad "no picture"
[ "$(grep -c 'class="line"' "$tmp/curve.svg")" -eq 6 ] && ok || bad "lines and legend are not 3 each"
runs 0 curve $shape $identity --sigma 2 --points 5 --eps-max 2 --out -
head -n 1 "$tmp/out" | grep -q '<svg' && ok || bad "no picture on standard output"
runs 0 curve $shape $identity --sigma 2 --points 5 --eps-max 2 --json
[ "$(grep -c '"delta_remove": ' "$tmp/out")" -eq 5 ] && ok || bad "no list of values"

# ---- account: certified intervals -----------------------------------------------------
expect 2 'account what' account
expect 2 'no mechanism at "foo"' account foo --eps 1
expect 2 'poisson wants' account poisson:0.1 --eps 1
expect 2 'q = 2' account poisson:2,1,1 --eps 1
expect 2 'give either --eps or --delta' account gaussian:1
expect 2 'give either --eps or --delta' account gaussian:1 --eps 1 --delta .1
expect 2 'give both' account 'gaussian:?' --eps 1
expect 2 'only one parameter' account 'poisson:?,?,1' --eps 1 --delta .1
expect 2 'not a whole number' account 'gaussian:1*1.5' --eps 1
expect 2 'stands for' account 'bnb:1,?,2' --eps 1 --delta .1
expect 2 'mog wants' account mog:1,1,3 --eps 1
expect 2 'or the end expected' account gaussian:1x --eps 1
# inside NAME: the interval of $tmp/out holds the value
inside() {
    lo=$(value lower); hi=$(value upper)
    if awk -v l="$lo" -v h="$hi" -v w="$3" 'BEGIN {
            exit !(l != "" && l <= w * (1 + 1e-9) && h >= w * (1 - 1e-9) && h <= l + 2e-4 * h) }'; then ok
    else bad "$1: [$lo, $hi] should hold $3"; fi
}
# dpsgd_poisson.txt: B.eps.q0.01.n2000.s1.d1e-06; a Gaussian through the composition
runs 0 account poisson:0.01,1,2000 --delta 1e-6 --json
inside "Poisson" epsilon 2.9552459109439457
runs 0 account gaussian:2+gaussian:2 --eps 1 --json
inside "two Gaussians" delta "$(runs 0 account gaussian:1.4142135623730951 --eps 1 --json; value upper)"
runs 0 account 'gaussian:4*4' --delta 1e-5 --json
four=$(value upper)
runs 0 account gaussian:2 --delta 1e-5 --json
inside "repeated" epsilon "$four"
runs 0 account 'poisson:0.01,?,2000' --eps 2.9552459109439457 --delta 1e-6 --json
near "found sigma" "$(value value)" 1 1e-3
runs 0 account 'gaussian:5*?' --eps 2 --delta 1e-6 --json
near "found number of uses" "$(value value)" 5 0
runs 0 account poisson:0.01,1,2000 gaussian:2 --out "$tmp/two.svg" --eps-max 3 --points 5
[ "$(grep -c 'class="line"' "$tmp/two.svg")" -eq 4 ] && ok || bad "not two lines with legends"
for key in mechanism lower upper bounds epsilon delta value seconds version; do
    runs 0 account 'poisson:?,1,2000' --eps 2 --delta 1e-6 --json --rel-error 0.01
    [ -n "$(value $key)" ] && ok || bad "account: JSON has no \"$key\""
done
# Every word of the event language, and all of it in one composition.
for e in gaussian:2,0.5 laplace:3,0.1 response:0.2,1e-9 poisson:0.01,1,100 bnb:2,16,2 \
         truncated:0.01,1,100,700,50000 mog:1,50,0:0.99,1:0.009,2:0.001 \
         group-poisson:0.01,2,100,4 group-fixed:2000,20,3,100,4 bandmf:1.5,1000,342477,2052,9 bandmf-floor:1.5,1000,342478,2052,9 \
         group-bandmf:3,1000,342477,2052,9,4 \
         gaussian:2+laplace:3,0.1*2+response:0.2,1e-9*3+poisson:0.01,1,100+mog:1,50,0:0.99,1:0.01; do
    runs 0 account $e --delta 1e-6 --json --rel-error 0.01
    [ -n "$(value upper)" ] && ok || bad "no answer for $e"
done
# What is calibrated meets its target: each unknown put back in.
runs 0 account 'poisson:?,1,2000' --eps 2 --delta 1e-6 --json
runs 0 account "poisson:$(value value),1,2000" --eps 2 --json
awk -v d="$(value upper)" 'BEGIN { exit !(d != "" && d <= 1e-6) }' && ok || bad "q misses delta"
runs 0 account 'group-poisson:0.01,2,2000,?' --eps 5 --delta 1e-6 --json
near "found group" "$(value value)" 4 0
# Words and JSON name the group.
runs 0 account group-bandmf:3,1000,342477,2052,9,4 --delta 1e-6 --json --rel-error 0.01
[ "$(value unit)" = 4 ] && ok || bad "unit $(value unit)"
runs 0 account group-bandmf:3,1000,342477,2052,9,4+group-poisson:0.01,2,9,3 --eps 3
grep -q 'Unit of privacy: groups of up to 3 examples' "$tmp/out" && ok || bad "unit: $(cat "$tmp/out")"
# One example replaced by another: twice the sensitivity, or its own pair; by name.
runs 0 account gaussian:2 --delta 1e-6 --json
one=$(value upper)
runs 0 account gaussian-replace:4 --delta 1e-6 --json
near "replaced" "$(value upper)" "$one" 1e-9
[ "$(value adjacency)" = '"replace one example"' ] && ok || bad "adjacency $(value adjacency)"
runs 0 account poisson-replace:0.01,1,500 --delta 1e-6
grep -q 'Adjacency: replace one example' "$tmp/out" && ok || bad "replaced: $(cat "$tmp/out")"
expect 2 'replace' account poisson-replace:0.01,1,500+gaussian:5 --delta 1e-6
runs 0 account bnb-replace:1,20,1 --eps 1
grep -q 'Adjacency: replace one example, by conversion' "$tmp/out" && ok || bad "bins: $(cat "$tmp/out")"
# Balls in bins composed: an upper bound, between its parts' and their sum.
runs 0 account allocate:2,16,3 --delta 1e-6 --json
runs 0 sigma --certain --json --epochs 2 --batches 8 --eps 1 --delta 1e-4 --strategy sqrt:2
runs 0 account bnb:2,16,2 --delta 1e-6 --json
one=$(value upper)
runs 0 account 'bnb:2,16,2*2+gaussian:20' --delta 1e-6 --json
awk -v a="$one" -v b="$(value upper)" 'BEGIN { exit !(a != "" && b > a && b < 2.2 * a) }' && ok ||
    bad "twice in bins and a Gaussian: $(value upper), once $one"
runs 0 account bnb:2,16,2 'bnb:2,16,2*2' --out "$tmp/bins.svg" --eps-max 3 --points 4
[ "$(grep -c 'class="line"' "$tmp/bins.svg")" -eq 4 ] && ok || bad "no curve of composed bins"
# The limits of sampling for Laplace noise: log(1 + (e^eps - 1)/q) and the ratio of scales
runs 0 account laplace-limit:0.01 --eps 0.02 --json
near "eps on the sample" "$(value epsilon | head -n 1)" 1.1053012021492625 1e-12
near "ratio of noise" "$(value noise_ratio)" 0.5526506010746313 1e-12
near "its scale" "$(value sigma | tail -n 1)" 0.9047307630313765 1e-12
near "eps of all" "$(value epsilon | tail -n 1)" 0.02 0
expect 2 'above 0' account laplace-limit:0.1 --eps 0
runs 0 account laplace-limit:1 --eps 0.5
grep -q '^noise ratio 1: ' "$tmp/out" && grep -q 'with it (0.5, 0)-DP' "$tmp/out" && ok || bad "no sampling, but a ratio: $(cat "$tmp/out")"
runs 0 account laplace-limit:0.001 laplace-limit:0.01 laplace-limit:0.1 --out "$tmp/limit.svg"
[ "$(grep -c 'class="line"' "$tmp/limit.svg")" -eq 6 ] && ok || bad "not three lines with legends"
expect 2 'sampling rate' account laplace-limit:0 --eps 1
expect 2 'sampling rate' account laplace-limit:x --eps 1
expect 2 'cannot be compared' account laplace-limit:0.1 gaussian:1 --out "$tmp/x.svg"
expect 2 'does not apply' account laplace-limit:0.1 --delta 1e-6
expect 2 'give --eps' account laplace-limit:0.1
# Closed forms side by side: the mean salary's sigmas, one by the curve; composition
runs 0 formula classical --eps 0.5 --delta 1e-6
grep -q 'by its curve  *sigma  *8.057619' "$tmp/out" && grep -q 'refined, 4  *sigma  *10.25537' \
    "$tmp/out" && ok || bad "classical: $(cat "$tmp/out")"
runs 0 formula compose:100 --eps 0.5 --delta 1e-6
awk '/advanced/ { a = $4 } /optimal/ { o = $4 } /Renyi/ { r = $4 } /exactly/ { e = $3 }
    END { exit !(a > o && o > r && r > e && e > 80.57618 && e < 80.5762) }' "$tmp/out" && ok ||
    bad "compose: $(cat "$tmp/out")"
runs 0 formula advanced:0.1,0,100 optimal:0.1,0,100 zcdp:0.5 rdp:gaussian:1*4 --delta 1e-6
awk '/advanced comp/ { a = $4 } /optimal comp/ { o = $4 } /every Renyi/ { z = $6 }
    /best order/ { r = $8 } /upper end/ { u = $6 }
    END { exit !(a > o && o > 4 && z > 5.2 && z < 5.3 && r > u && u > 10.2) }' "$tmp/out" && ok ||
    bad "formulas: $(cat "$tmp/out")"
runs 0 formula group:0.5,1e-8,4 single:2,9.848692e-8,4
awk '/of the group *epsilon/ { g = $5 } /of one example *epsilon/ { s = $5 }
    /of one example *delta/ { d = $5 }
    END { exit !(g >= 2 && g < 2.00001 && s == 0.5 && d <= 1e-8 && d > 0.99e-8) }' "$tmp/out" && ok ||
    bad "groups: $(cat "$tmp/out")"
runs 0 formula zcdp:0.5 --delta 1e-6 --json
expect 2 'needs --delta' formula zcdp:0.5
expect 2 'whole number' formula compose:2.5 --eps 1 --delta 1e-5
expect 2 'no such formula' formula foo --eps 1
expect 2 "wants 3 numbers" formula group:0.5,1e-8
expect 2 'which formula' formula --eps 1
# Sensitivities: of C = I the root of the epochs; strategies that C has, from the tool
runs 0 sensitivity --epochs 4 --batches 10 --strategy identity
[ "$(grep -c ' 2$' "$tmp/out")" -eq 2 ] && ok || bad "sensitivity: $(cat "$tmp/out")"
runs 0 sensitivity --epochs 4 --batches 16 --strategy tree-online --json
grep -q '"upper bound"' "$tmp/out" && ok || bad "sensitivity of a decoder: $(cat "$tmp/out")"
runs 0 sensitivity --epochs 4 --batches 16 --strategy tree
grep -q 'at most' "$tmp/out" && bad "sensitivity of a tree: $(cat "$tmp/out")" || ok
for c in inverse:1,-0.5 inverse-sqrt:8 tree tree-padded; do
    runs 0 error --rounds 20 --strategy $c
done
# Two rounds, by hand: variances 2/3 and 2/3 with the optimal decoder, 1 and 2/3 online.
for c in tree:0.816497 tree-online:0.912871; do
    runs 0 error --rounds 2 --strategy ${c%:*}
    grep -q "${c#*:}" "$tmp/out" && ok || bad "error of ${c%:*}: $(cat "$tmp/out")"
done
seq 20 | sed 's/$/e-1/' >"$tmp/rates"
runs 0 error --rounds 20 --strategy sqrt:0 --workload "momentum:0.9,@$tmp/rates"
cp "$tmp/out" "$tmp/with"
runs 0 error --rounds 20 --strategy sqrt:0 --workload momentum:0.9
cmp -s "$tmp/out" "$tmp/with" && bad "learning rates change nothing" || ok
expect 2 'no learning rates' error --rounds 20 --strategy sqrt:0 --workload "ema:0.9,@$tmp/rates"
expect 2 'no amplification' account bandmf:1,500,50000,2000,101 --delta 1e-5
# Groups: by samples or by conversion, as it says; not where nothing is known
pair="epsilon --epochs 2 --batches 10 --strategy sqrt:3 --sigma 4 --delta 1e-4 --rel-error 0.1"
runs 0 $pair --group 2
grep -q 'any 2 examples or fewer' "$tmp/out" && ok || bad "epsilon of a group: $(cat "$tmp/out")"
grep -q conversion "$tmp/out" && bad "two examples by conversion" || ok
runs 0 $pair --group 4
grep -q 'By conversion' "$tmp/out" && ok || bad "epsilon of four: $(cat "$tmp/out")"
expect 2 'must be above 0' $pair --group 0
expect 2 'known of one example' sigma --epochs 2 --batches 10 --examples 100 --limit 30 --eps 2 \
    --delta 1e-5 --strategy sqrt:3 --group 2
expect 2 'random allocation' epsilon --epochs 2 --batches 10 --strategy identity --sigma 4 \
    --delta 1e-4 --batching allocate:2 --group 2
# A limit on the batches costs sigma
runs 0 sigma --epochs 2 --batches 10 --examples 1000 --limit 130 --eps 2 --delta 1e-5 \
    --strategy identity --certify --json
grep -q '"limit": 130' "$tmp/out" && ok || bad "limit: $(cat "$tmp/out")"
expect 2 'needs --examples' sigma --epochs 2 --batches 10 --limit 130 --eps 2 --delta 1e-5 \
    --strategy identity
# Shuffled batches: an attack and a proof, hardly any amplification but for single examples
runs 0 account shuffle:1,100,500 --eps 0.5
grep -q 'delta from 0.0450[0-9]* to 0.238' "$tmp/out" && ok || bad "shuffle: $(cat "$tmp/out")"
runs 0 account shuffle:2,100000,1 --delta 1e-3 --json
runs 0 account "shuffle:8,100000,1*3" --delta 1e-6
expect 2 'no "?"' account shuffle:?,100,500 --eps 1 --delta 1e-5
expect 2 'wants SIGMA,BATCHES' account shuffle:1,100 --eps 1

# ---- error and optimize ------------------------------------------------------------------
run="--rounds 64 --batches 16"
expect 2 'needs --family' optimize $run --eps 1 --delta .1 --amplification none
expect 2 '--family must be' optimize $run --eps 1 --delta .1 --amplification none --family blt
expect 2 '--family must be' optimize $run --eps 1 --delta .1 --amplification none --family tree
expect 2 'is no number' optimize $run --eps 1 --delta .1 --amplification none --family blt:x
expect 2 '--amplification must be' optimize $run --eps 1 --delta .1 --amplification some --family blt:2
expect 2 'needs --examples' optimize $run --eps 1 --delta .1 --amplification poisson \
    --family toeplitz:4
expect 2 '--scaling must be' optimize $run --eps 1 --delta .1 --amplification none --family blt:2 \
    --scaling x
expect 2 '--inner: only' optimize $run --eps 1 --delta .1 --amplification none --family blt:2 \
    --inner 64
expect 2 '--equal-norms needs' optimize $run --eps 1 --delta .1 --amplification none \
    --family blt:2 --equal-norms
expect 2 '--error must be' optimize $run --eps 1 --delta .1 --amplification none --family blt:2 \
    --error worst
expect 2 '--workload must be' error $run $identity --workload postfix
expect 2 '--workload.*learning rates' error $run $identity --workload lr:@"$tmp/short"
printf '1 1 1\n' >"$tmp/three"
expect 2 '--scale.*3 factors' error --rounds 4 $identity --scale @"$tmp/three"
expect 2 'needs --batches B or --rounds N' error $identity
# rmse.txt: H.sqrt4.n64.rmse and .maxerr; the closed form of the identity
runs 0 error --rounds 64 --strategy sqrt:4 --json
near "rmse of sqrt:4" "$(value error_unit_noise)" 2.7469392081648842 1e-9
near "largest error of sqrt:4" "$(value max_error_unit_noise)" 3.7587164306896876 1e-9
runs 0 error --rounds 256 $identity --sigma 2 --json
near "rmse of the identity" "$(value rmse)" 22.671568097509268 1e-9
runs 0 optimize $run --eps 1 --delta 1e-3 --amplification none --family toeplitz:8 --json
best=$(value rmse)
[ -n "$(value coefficients)" ] && ok || bad "no coefficients"
runs 0 error $run --strategy identity --eps 1 --delta 1e-3 --amplification none --json
awk -v a="$best" -v b="$(value rmse)" 'BEGIN { exit !(a != "" && a < b) }' && ok ||
    bad "optimised $best, identity $(value rmse)"
runs 0 optimize $run --eps 1 --delta 1e-3 --amplification none --family toeplitz:8 \
    --scaling 2 --out "$tmp/opt"
runs 0 error $run --strategy toeplitz:@"$tmp/opt.txt" --scale @"$tmp/opt.scale.txt" --eps 1 \
    --delta 1e-3 --amplification none --json
scaled=$(value rmse)
awk -v a="$scaled" -v b="$best" 'BEGIN { exit !(a != "" && a <= b * 1.0001) }' && ok ||
    bad "scaled $scaled, unscaled $best"
for f in c inverse error maps; do
    grep -q '</svg>' "$tmp/opt.$f.svg" && ok || bad "no picture opt.$f.svg"
done
grep -q '>10<tspan' "$tmp/opt.c.svg" && ! grep -q '>10<tspan' "$tmp/opt.error.svg" && ok ||
    bad "axes of opt.c.svg"
# C = 1 0; 1/2 1: cell (column, row) by its colour, the root of 1/2 being 17 of 24 levels.
runs 0 error --rounds 2 --strategy toeplitz:1,0.5 --out "$tmp/two"
grep -q 'fill="rgb(255,0,0)" d="M0 0h1v1h-1zM1 1h1v1h-1z"' "$tmp/two.maps.svg" &&
    grep -q 'fill="rgb(255,75,75)" d="M0 1h1v1h-1z"' "$tmp/two.maps.svg" &&
    grep -q 'fill="rgb(75,75,255)" d="M0 1h1v1h-1z"' "$tmp/two.maps.svg" && ok ||
    bad "maps: $(cat "$tmp/two.maps.svg")"
runs 0 optimize $run --eps 1 --delta 1e-3 --amplification none --family blt:2 --out "$tmp/blt"
runs 0 error $run --strategy blt:@"$tmp/blt.txt"
runs 0 optimize --rounds 12 --batches 4 --eps 1 --delta 1e-3 --amplification none \
    --family banded:3 --out "$tmp/banded"
runs 0 error --rounds 12 --batches 4 --strategy banded:@"$tmp/banded.txt"
runs 0 optimize --rounds 64 --batches 16 --eps 1 --delta 1e-6 --amplification none --family dense
grep -q 'within 0.0*[1-9]*% of the best in its class: every C whose columns' "$tmp/out" && ok ||
    bad "no word of the optimum: $(cat "$tmp/out")"
runs 0 optimize --rounds 64 --batches 16 --eps 1 --delta 1e-6 --amplification none --family dense --json
awk "BEGIN { x = $(value rmse); y = $(value least_error); p = $(value within_percent)
    exit !(y > 18 && y <= x && x <= 18.622 && p < 0.1 && 100 * (x / y - 1) <= p) }" && ok ||
    bad "bound: $(cat "$tmp/out")"
runs 0 optimize $run --eps 2 --delta 1e-3 --amplification bnb --family blt:1 --iterations 3 --json
[ -n "$(value theta)" ] && [ -n "$(value omega)" ] && ok || bad "no theta and omega"
runs 0 optimize $run --eps 2 --delta 1e-3 --amplification poisson --family toeplitz:4 \
    --examples 1000 --batch-size 10 --json

# ---- schedule, noise ---------------------------------------------------------------------------
expect 2 'needs --examples' schedule --epochs 2 --batches 3
expect 2 '--examples: only' schedule --epochs 2 --batches 3 --examples 1000000
expect 2 '--examples must be above 0' schedule --epochs 2 --batches 3 --examples 0
expect 2 '--batching must be' schedule --epochs 2 --batches 3 --examples 12 --batching some
expect 2 '--batching must be' sigma --epochs 2 --batches 3 --strategy identity --eps 1 --delta .1 \
    --batching shuffle
# k of t rounds: the event's own numbers; found noise is a claim that holds, and a record.
alloc='--epochs 3 --batches 12 --strategy identity'
runs 0 account allocate:2,12,3,3 --delta 1e-5 --json
up=$(value upper)
runs 0 epsilon $alloc --batching allocate:3 --sigma 2 --delta 1e-5 --json
near "allocated epsilon" "$(value value)" "$up" 1e-9
[ "$(value picks)" = 3 ] && grep -q '"sampling": "random allocation"' "$tmp/out" && ok ||
    bad "allocate: $(cat "$tmp/out")"
runs 0 sigma $alloc --batching allocate-anew:1 --eps 1.5 --delta 1e-5 --certify --record "$tmp/alloc"
sigma=$(sed -n 's/^sigma = \([0-9.]*\).*/\1/p' "$tmp/out")
grep -q 'takes part in 1 of the 12 rounds' "$tmp/out" && grep -q 'anew in every' "$tmp/out" && ok ||
    bad "allocate-anew: $(cat "$tmp/out")"
runs 0 verify $alloc --batching allocate-anew:1 --sigma "$sigma" --eps 1.5 --delta 1e-5
runs 1 verify $alloc --batching allocate-anew:2 --sigma "$sigma" --eps 1.5 --delta 1e-5
runs 0 verify --record "$tmp/alloc"
runs 0 report --record "$tmp/alloc"
expect 2 'wants K' delta $alloc --batching allocate:0 --sigma 2 --eps 1
expect 2 'of an epoch of 12' delta $alloc --batching allocate:13 --sigma 2 --eps 1
expect 2 'allocate wants' delta --epochs 3 --batches 12 --strategy sqrt:2 --batching allocate:3 \
    --sigma 2 --eps 1
expect 2 'does not know allocate' curve $alloc --batching allocate:3 --sigma 2
expect 2 'does not apply' sigma $alloc --batching allocate:3 --eps 1 --delta 1e-5 --certain
expect 2 '--out: cannot write' schedule --epochs 2 --batches 3 --examples 12 --out /no/such/dir/x
expect 2 'needs --sigma' noise --rounds 4 --strategy identity
expect 2 'needs --strategy' noise --rounds 4 --sigma 1
expect 2 '--dim must be above 0' noise --rounds 4 --strategy identity --sigma 1 --dim 0
# How often each example takes part, and whether in the same round of both epochs.
uses() { awk '/^round/ { for (i = 3; i <= NF; i++) { n[$i]++; at[$i, $2 % 3]++ } }
    END { for (e = 0; e < 40; e++) { u[n[e] + 0]++; for (k = 0; k < 3; k++) same += at[e, k] == 2 }
          print u[0] + 0, u[1] + 0, u[2] + 0, same }' "$tmp/out"; }
for law in bins shuffle; do
    runs 0 schedule --epochs 2 --batches 3 --examples 40 --batching $law
    [ "$(uses)" = "0 0 40 40" ] && [ "$(grep -c '^round [0-5]:' "$tmp/out")" = 6 ] && ok ||
        bad "schedule $law: $(cat "$tmp/out")"
done
runs 0 schedule --epochs 2 --batches 3 --examples 40 --batching allocate:1
[ "$(uses)" = "0 0 40 40" ] && ok || bad "schedule allocate: $(cat "$tmp/out")"
runs 0 schedule --epochs 2 --batches 3 --examples 40 --batching cyclic:0.5
[ "$(uses)" != "0 0 40 40" ] && [ "$(uses | cut -d' ' -f3)" -gt 0 ] && ok || bad "schedule cyclic"
# The other laws: all questions agree with each other, and a proof with them.
for law in minsep:3,0.3 minsep-warm:3,0.3 "cyclic:0.5 --batches 3"; do
    at="--rounds 12 --strategy sqrt:3 --batching $law"
    runs 0 sigma $at --eps 1 --delta 1e-3 --rel-error 0.02 --json
    s=$(value sigma)
    runs 0 delta $at --sigma "$s" --eps 1 --rel-error 0.02 --json
    near "delta at sigma of $law" "$(value delta)" 1e-3 1.5e-4
    runs 0 epsilon $at --sigma "$s" --delta 1e-3 --rel-error 0.02 --json
    near "epsilon at sigma of $law" "$(value epsilon)" 1 0.05
    runs 0 curve $at --sigma "$s" --points 3 --eps-max 2 --rel-error 0.05 --out -
    runs 0 verify $at --sigma "$s" --eps 1 --delta 1.5e-3
    runs 1 verify $at --sigma "$s" --eps 1 --delta 0.6e-3
    runs 0 sigma $at --eps 1 --delta 1e-3 --certify --json
    near "certified sigma of $law" "$(value sigma)" "$(echo "$s" | awk '{ print $1 * 1.06 }')" 0.2
done
other="delta --sigma 2 --eps 1 --rounds 12 --strategy sqrt:3 --batching"
expect 2 'q must be above 0, at most 1, not "0"' $other minsep:3,0
expect 2 'q must be above 0, at most 1, not "1.5"' $other cyclic:1.5 --batches 3
expect 2 '13 rounds between two uses' $other minsep-warm:13,0.3
expect 2 'C has 3 bands, more than the 2' $other minsep:2,0.3
expect 2 'C has 3 bands, more than the 2' $other cyclic:0.5 --batches 2
expect 2 'balls in bins only' $other cyclic:0.5 --batches 3 --limit 5 --examples 100
expect 2 'no --batches' $other minsep:3,0.3 --batches 4
runs 0 schedule --epochs 2 --batches 3 --examples 40 --limit 5
[ "$(awk '{ print NF }' "$tmp/out" | sort -n | tail -n 1)" = 7 ] && ok || bad "schedule --limit"
# y = C^-1 z: y_t + y_(t-1)/2 + y_(t-2)/4 is white with deviation 2; of 4000 coordinates the variance
# is known to 2.3%, correlations to 0.016, and six times that is never passed.
runs 0 noise --rounds 3 --strategy toeplitz:1,0.5,0.25 --sigma 2 --dim 4000 --out "$tmp/noise"
awk 'NF != 4000 { bad = 1 }
    { for (k = 1; k <= NF; k++) y[NR, k] = $k }
    END { for (k = 1; k <= 4000; k++) for (t = 1; t <= 3; t++)
              x[t, k] = y[t, k] + y[t - 1, k] / 2 + y[t - 2, k] / 4
          for (t = 1; t <= 3; t++) for (u = 1; u <= t; u++) {
              s = 0
              for (k = 1; k <= 4000; k++) s += x[t, k] * x[u, k] / 16000
              if (t == u) s = (s - 1) / 1.4
              if (s > 0.1 || s < -0.1) { print t, u, s; bad = 1 } }
          exit bad || NR != 3 }' "$tmp/noise" >"$tmp/err" && ok || bad "noise"
runs 0 noise --rounds 3 --strategy identity --sigma 2 --seed 2
cp "$tmp/out" "$tmp/seed2"
runs 0 noise --rounds 3 --strategy identity --sigma 2 --seed 1
cmp -s "$tmp/out" "$tmp/seed2" && bad "noise --seed" || ok

# ---- plan ------------------------------------------------------------------------------------
run="--rounds 64 --batches 16 --eps 2 --delta 1e-3"
expect 2 'needs --amplification' plan $run
expect 2 '--amplification must be.*bnb,poisson' plan $run --amplification bnb,some
expect 2 '--amplification must be' plan $run --amplification bnb,
expect 2 'needs --eps' plan --rounds 64 --batches 16 --delta .1 --amplification none
expect 2 '--memory must be above 0' plan $run --amplification none --memory 0
expect 2 '--family does not apply' plan $run --amplification none --family blt:2
expect 2 '65 epochs in 64 rounds' plan --rounds 64 --epochs 65 --eps 1 --delta .1 \
    --amplification none
expect 2 '--out: cannot write' plan $run --amplification none --out /no/such/dir/x --json
expect 2 '--record: --out writes to' plan $run --amplification none --out "$tmp/p" --record "$tmp/p.txt"
# Under a law of batches: given in one way, C of at most b bands, the table as CSV, a record.
law="--rounds 12 --batching minsep:3,0.3 --eps 2 --delta 1e-2 --samples 1024"
expect 2 'not both' plan $law --amplification bnb
expect 2 'says B itself' plan $law --batches 3
expect 2 '12 in all' plan --rounds 12 --batching minsep:13,0.3 --eps 2 --delta 1e-2
expect 2 'at most the 3 bands.*banded:3' optimize $law --family banded:4
expect 2 'at most the 3 bands' optimize $law --family dense
expect 2 'must be none, or some of bnb,poisson,' compare identity $run --amplification all
runs 0 optimize $law --family toeplitz:2 --iterations 3
grep -q 'b-min-sep Poisson sampling' "$tmp/out" && grep -q 'Estimate, not a proof' "$tmp/out" && ok ||
    bad "optimize --batching: $(cat "$tmp/out")"
runs 0 plan $law --memory 1 --out "$tmp/law" --record "$tmp/law_record.txt" --json
[ "$(value sampling)" = '"b-min-sep Poisson"' ] && ok ||
    bad "plan --batching: $(value sampling)"
[ "$(wc -l <"$tmp/law.csv")" -eq 3 ] && grep -q '^"b-min-sep",3,0.3,toeplitz,0,2,' "$tmp/law.csv" &&
    ok || bad "the plan's table: $(cat "$tmp/law.csv")"
runs 0 verify --record "$tmp/law_record.txt"
runs 0 plan $run --amplification none --memory 2 --json
none=$(value rmse)
[ "$(value certified)" = true ] && [ "$(grep -o '"family"' "$tmp/out" | wc -l)" -eq 5 ] && ok ||
    bad "a plan without sampling: $(cat "$tmp/out")"
runs 0 plan --rounds 64 --epochs 4 --eps 2 --delta 1e-3 --amplification none --memory 2 --json
near "batches from rounds and epochs" "$(value rmse)" "$none" 0
runs 0 plan $run --amplification bnb,poisson --memory 1 --out "$tmp/plan"
head -n 1 "$tmp/out" | awk -v n="$none" '{ exit !($1 == "rmse" && $3 > 0 && $3 < n) }' && ok ||
    bad "sampling does not help: $(head -n 1 "$tmp/out")"
[ "$(grep -c '^\* balls in bins' "$tmp/out")" -eq 1 ] && grep -q '^Certified: ' "$tmp/out" && ok ||
    bad "no choice or no proof: $(cat "$tmp/out")"
for f in c inverse error; do
    grep -q '</svg>' "$tmp/plan.$f.svg" && ok || bad "no picture plan.$f.svg"
done
# The files give the same strategy back: same error, and its sigma can be verified.
sigma=$(value sigma "$tmp/plan.json")
text=$(grep -o '"family": "[a-z]*"' "$tmp/plan.json" | head -n 1 | cut -d '"' -f 4)
[ "$text" = identity ] && text=toeplitz
scale=
[ -f "$tmp/plan.scale.txt" ] && scale="--scale @$tmp/plan.scale.txt"
runs 0 error --rounds 64 --strategy "$text":@"$tmp/plan.txt" $scale --sigma "$sigma" --json
near "error of the planned strategy" "$(value rmse)" "$(value rmse "$tmp/plan.json")" 1e-9
runs 0 verify --rounds 64 --batches 16 --strategy "$text":@"$tmp/plan.txt" $scale \
    --sigma "$sigma" --eps 2 --delta 1.05e-3 --json
# ---- Ctrl-C: says so, status 1, nothing on standard output, no file, no claim ---------------
# Waits until the program catches SIGINT, where the system tells.
catches() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sleep 0.1
        case $(sed -n 's/^SigCgt:.*\(.\)$/\1/p' "/proc/$1/status" 2>/dev/null) in
            [2367abef]) return ;;
        esac
    done
}
interrupted() {
    "$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
    pid=$!
    catches $pid
    sleep 0.1
    kill -INT $pid 2>/dev/null
    wait $pid
    code=$?
    if [ $code -ne 1 ]; then bad "Ctrl-C: status $code: $*"
    elif ! grep -q 'interrupted.*claims nothing' "$tmp/err"; then bad "Ctrl-C: $(cat "$tmp/err")"
    elif [ -s "$tmp/out" ]; then bad "Ctrl-C: prints $(head -n 3 "$tmp/out"): $*"
    elif ls "$tmp"/ctrl* >/dev/null 2>&1; then bad "Ctrl-C leaves $(ls "$tmp"/ctrl*): $*"
    else ok; fi
}
long="--epochs 64 --batches 128 --strategy sqrt:0"
interrupted plan --epochs 64 --batches 64 --eps 1 --delta 1e-5 --amplification bnb --out "$tmp/ctrl"
interrupted plan --epochs 64 --batches 64 --eps 1 --delta 1e-5 --amplification bnb --json
interrupted sigma $long --eps 1 --delta 1e-9 --rel-error 1e-6
interrupted sigma $long --eps 1 --delta 1e-9 --rel-error 1e-6 --json --direction add
interrupted epsilon $long --sigma 20 --delta 1e-9 --rel-error 1e-6
interrupted delta $long --sigma 50 --eps 1 --rel-error 1e-6
interrupted curve $long --sigma 40 --out "$tmp/ctrl.svg" --rel-error 1e-6
interrupted curve $long --sigma 40 --json --rel-error 1e-6
interrupted sigma --epochs 16 --batches 1024 --strategy sqrt:16 --eps 0.5 --delta 1e-8 --certify
interrupted error $long --eps 1 --delta 1e-9 --rel-error 1e-6
interrupted optimize --epochs 64 --batches 64 --eps 1 --delta 1e-5 --amplification bnb \
    --family blt:4 --scaling free
# --time: what is known then, marked, status 1; a proof stays one.  With time enough: as without.
runs 1 delta $long --sigma 50 --eps 1 --rel-error 1e-5 --time 0.2
grep -q 'Interrupted by the time given' "$tmp/out" && grep -q 'take about .* samples' "$tmp/out" &&
    grep -q 'delta is at most' "$tmp/out" && ok || bad "--time: $(cat "$tmp/out")"
runs 1 verify --epochs 16 --batches 128 --strategy sqrt:16 --sigma 6.7 --eps 1 --delta 1e-5 \
    --time 1e-9 --json
[ "$(value stopped_by)$(value accepted)" = '"time"false' ] && ok || bad "--time: $(cat "$tmp/out")"
runs 0 sigma $long --eps 1 --delta 1e-9 --certify --time 1e-9
grep -q '^Certified: with noise multiplier' "$tmp/out" &&
    grep -q 'Stopped by the time given' "$tmp/out" && ok || bad "--time: $(cat "$tmp/out")"
timed="sigma --epochs 3 --batches 10 --strategy sqrt:4 --eps 1 --delta 1e-4 --rel-error 0.05 --json"
runs 0 $timed
without=$(value value)
runs 0 $timed --time 600
[ "$(value value)" = "$without" ] && ok || bad "--time 600: $(value value), not $without"
# The best C so far is kept, and nothing said about it.
"$tool" optimize --epochs 64 --batches 64 --eps 1 --delta 1e-5 --amplification bnb \
    --family blt:4 --scaling free --out "$tmp/half" >"$tmp/out" 2>"$tmp/err" </dev/null &
pid=$!
catches $pid
sleep 0.1
kill -INT $pid
wait $pid && bad "Ctrl-C: optimize succeeds" || ok
[ "$(head -n 1 "$tmp/out")" = "wrote $tmp/half.txt" ] && [ ! -e "$tmp/half.error.svg" ] && ok ||
    bad "Ctrl-C: optimize $(cat "$tmp/out")"

# ---- output that cannot be written: status 1 and a message, whatever the command -----------
if [ -c /dev/full ]; then
    small="--epochs 2 --batches 4 $identity"
    while read -r arguments; do
        "$tool" $arguments >/dev/full 2>"$tmp/err" </dev/null
        code=$?
        [ $code -eq 1 ] && grep -q 'cannot write "standard output"' "$tmp/err" && ok ||
            bad "a full disk: status $code: $arguments: $(cat "$tmp/err")"
    done <<EOF
--help
sigma --help
--version
delta $small --sigma 1 --eps 1
delta $small --sigma 1 --eps 1 --json
sigma $small --eps 1 --delta 1e-3
verify $small --sigma 9 --eps 1 --delta 1e-3 --json
curve $small --sigma 1 --points 3 --out -
account gaussian:1 --eps 1
error $small
optimize --rounds 8 --batches 4 --eps 1 --delta .1 --amplification none --family toeplitz:2
plan --rounds 8 --batches 4 --eps 1 --delta .1 --amplification none --memory 1
EOF
    expect 1 'cannot write "/dev/full"' curve $small --sigma 1 --points 3 --out /dev/full --json
    expect 1 'cannot write "/dev/full"' account gaussian:1 --out /dev/full --json
    runs 1 verify $small --sigma 9 --eps 1 --delta 1e-3 --json --record /dev/full
    grep -q 'cannot write "/dev/full"' "$tmp/err" && ok || bad "a record on a full disk"
    for end in txt json c.svg; do
        ln -s /dev/full "$tmp/full$end.$end"
        "$tool" plan --rounds 8 --batches 4 --eps 1 --delta .1 --amplification none --memory 1 \
            --out "$tmp/full$end" >"$tmp/out" 2>"$tmp/err" </dev/null
        [ $? -eq 1 ] && grep -q "cannot write .*$end" "$tmp/err" && ok ||
            bad "a full disk at plan's $end: $(cat "$tmp/err")"
    done
fi
{ sleep 0.2; "$tool" --help 2>"$tmp/err"; echo $? >"$tmp/code"; } | true
sleep 0.4
[ "$(cat "$tmp/code")" = 1 ] && grep -q 'cannot write' "$tmp/err" && ok || bad "a closed pipe"
"$tool" --version >&- 2>"$tmp/err"
[ $? -eq 1 ] && grep -q 'closed' "$tmp/err" && ok || bad "a closed standard output"
# What is there stays, as long as the work is not done.
echo 'earlier work' >"$tmp/kept.txt"
interrupted plan --epochs 64 --batches 64 --eps 1 --delta 1e-5 --amplification bnb --out "$tmp/kept"
grep -q 'earlier work' "$tmp/kept.txt" && ok || bad "an interrupted plan spoils $tmp/kept.txt"

# ---- files of numbers -------------------------------------------------------------------------
file() { printf "$1" >"$tmp/file"; shift
    expect 2 "$1" delta --rounds 4 --batches 2 --strategy toeplitz:@"${2:-$tmp/file}" --eps 1 --sigma 2
}
file '0,5\n' 'file:1: a comma between digits'
file '1\n-0,25 # x\n' 'file:2: a comma between digits'
file '1 0,5e-1\n' 'a comma between digits'
file '\357\273\2771\n0.5\n' 'byte-order mark'
file '\377\3761\0000\000' 'byte-order mark'
file '1\0000.5\n' 'a zero byte'
file '' 'is empty'
file '# nothing\n' 'no numbers'
file '1 x\n' '"x" is not a finite number'
file '' 'Is a directory' /tmp
file '' 'a zero byte' /dev/zero
file '' 'is empty' /dev/null
file '' 'cannot read' /no/such/file
expect 2 '--record.*no text' verify --record /dev/zero
expect 2 '--record.*Is a directory' verify --record /tmp
expect 2 '--record.*empty' verify --record /dev/null
runs 0 delta --rounds 4 --batches 2 --strategy toeplitz:1,0.5,0.25 --eps 1 --sigma 2 --json
one=$(value delta)
for text in '1,0.5,.25' '1, .5,.25' '1 .5 .25' '1\n.5\n.25\n' '1,5e-1,.25,0' '1.,.5,.25#,5'; do
    printf "$text" >"$tmp/file"
    runs 0 delta --rounds 4 --batches 2 --strategy toeplitz:@"$tmp/file" --eps 1 --sigma 2 --json
    near "the file $text" "$(value delta)" "$one" 1e-12
done

# ---- what is said beside the answer --------------------------------------------------------------
runs 0 delta $shape --strategy sqrt:4 --sigma 3 --eps 1 --samples 10 --json
grep -q 'note: --samples 10 is too few.* 1024 were drawn' "$tmp/err" && ok ||
    bad "too few --samples: $(cat "$tmp/err")"
runs 0 delta $shape --strategy sqrt:4 --sigma 3 --eps 1 --samples 1e5 --json
grep -q 'too few' "$tmp/err" && bad "--samples 1e5: $(cat "$tmp/err")" || ok
# A picture of one direction says so, and is of that direction.
runs 0 account poisson:0.3,1,3 --points 3 --eps-max 2 --direction add --out - --json
grep -q 'only with the example added</text>' "$tmp/out" && ! grep -q '"both"' "$tmp/out" && ok ||
    bad "account --direction add --out: $(cat "$tmp/out")"
# What was optimised has the digest that it has everywhere.
shape2="--rounds 24 --batches 8"
runs 0 delta $shape2 --strategy sqrt:3 --sigma 3 --eps 1 --json
strategy=$(value strategy_digest); gram=$(value gram_digest)
for noise in '' '--sigma 4' '--eps 1 --delta 1e-3 --rel-error 0.1'; do
    runs 0 error $shape2 --strategy sqrt:3 $noise --json
    [ "$(value strategy_digest)" = "$strategy" ] && [ "$(value gram_digest)" = "$gram" ] && ok ||
        bad "error $noise: another digest than delta's $strategy, $gram: $(cat "$tmp/out")"
done
runs 0 optimize $shape2 --eps 1 --delta 1e-3 --amplification none --family toeplitz:2 --json
strategy=$(value strategy_digest)
runs 0 delta $shape2 --strategy "toeplitz:$(sed -n 's/.*"coefficients": \[\(.*\)\].*/\1/p' "$tmp/out" | tr -d ' ')" \
    --sigma 3 --eps 1 --json
[ "$(value strategy_digest)" = "$strategy" ] && ok || bad "optimize says $strategy, delta $(value strategy_digest)"
# Noise that was only given is no claim.
runs 0 error $shape2 --strategy sqrt:3 --sigma 4
grep -q 'Nothing is claimed: what sigma 4, as given' "$tmp/out" && ! grep -q 'DP' "$tmp/out" && ok ||
    bad "error --sigma 4 says $(cat "$tmp/out")"
# Pictures do not keep JSON from being printed.
runs 0 account gaussian:1 gaussian:2 --json --points 3 --eps-max 2 --out "$tmp/json.svg"
[ "$(grep -c '"curve": \[' "$tmp/out")" -eq 2 ] && grep -q '</svg>' "$tmp/json.svg" && ok ||
    bad "account --json --out: $(cat "$tmp/out")"
# A curve of one direction: an added example at rate 0.1 costs nothing above -log 0.9.
runs 0 account poisson:0.1,1,1 --direction add --json --points 3 --eps-max 2 --out "$tmp/json.svg"
[ "$(grep -c '"epsilon": [12],.*"value": [0-9.]*e-30[0-9]}' "$tmp/out")" -eq 2 ] && ok ||
    bad "the add direction: $(cat "$tmp/out")"
runs 0 account poisson:0.1,1,1 --direction remove --json --points 3 --eps-max 2 --out "$tmp/json.svg"
[ "$(grep -c '"epsilon": [12],.*"value": \(0\.000207\|2\.355\)[0-9]*' "$tmp/out")" -eq 2 ] && ok ||
    bad "the remove direction: $(cat "$tmp/out")"
runs 0 account laplace-limit:0.1 --json --points 3 --out "$tmp/json.svg"
grep -q '"value": \[1, ' "$tmp/out" && ok || bad "limits --json --out: $(cat "$tmp/out")"
# A file that is named exists; without --out none is.
run="--rounds 64 --batches 16 --eps 1 --delta 1e-3 --amplification none"
runs 0 optimize $run --family blt:1 --scaling 2
grep -q '@' "$tmp/out" && bad "a file that does not exist: $(cat "$tmp/out")" || ok
grep -q 'column factors, which --out PREFIX writes' "$tmp/out" && ok || bad "no word of factors"
runs 0 optimize $run --family blt:1 --scaling 2 --out "$tmp/named"
scale=$(sed -n 's/.*--scale @//p' "$tmp/out")
[ -n "$scale" ] && [ -s "$scale" ] && ok || bad "--scale @$scale is no file"
# Signs of C: the exact sensitivity, by two columns that meet; |C| would give more.
signed="--rounds 12 --batches 4 --strategy toeplitz:1,0.5,0,0,-0.4,0.8"
runs 0 error $signed --json
near "sensitivity of a signed C" "$(value sensitivity)" 2.3130067012440758 1e-12
runs 0 sigma --epochs 1 --batches 1 $identity --eps 1 --delta 1e-3 --json
one=$(value sigma)
runs 0 error $signed --eps 1 --delta 1e-3 --amplification none --json
near "noise for a signed C" "$(value sigma)" "$(awk -v s="$one" 'BEGIN { print 2.3130067012440758 * s }')" 1e-4
runs 0 sigma $signed --eps 1 --delta 1e-3 --json
near "the same, without amplification" "$(value unamplified)" \
    "$(awk -v s="$one" 'BEGIN { print 2.3130067012440758 * s }')" 1e-4

# ---- defaults, and that each option acts ----------------------------------------------------
# same OPTIONS: the answer is the one without them; other OPTIONS: it is another one.
key=value
base() { "$tool" $question --json 2>/dev/null >"$tmp/base" </dev/null; value $key "$tmp/base"; }
given() { "$tool" $question "$@" --json 2>/dev/null >"$tmp/given" </dev/null; value $key "$tmp/given"; }
same() { [ -n "$(base)" ] && [ "$(base)" = "$(given "$@")" ] && ok || bad "$* is not the default of: $question"; }
other() { [ -n "$(given "$@")" ] && [ "$(base)" != "$(given "$@")" ] && ok || bad "$* does nothing to: $question"; }
question="delta $shape --strategy sqrt:4 --sigma 3 --eps 1"
same --seed 1; other --seed 2; same --direction both; other --direction add
same --rel-error 0.01; other --rel-error 0.003; same --samples 67108864; same --threads 2
other --normalize
key=upper; same --beta 1e-6; other --beta 1e-3
key=beta; same --beta 1e-6
question="verify $shape --strategy sqrt:4 --sigma 6 --eps 1 --delta 3e-4"
key=beta; same --beta 3e-4; other --beta 1e-4
key=log_wealth_remove; same --seed 1; other --seed 7; same --direction both
key=direction; other --direction remove
question="sigma $shape --strategy sqrt:4 --eps 1 --delta 1e-3 --certify"
key=sigma; same --seed 1; same --beta 1e-3; same --direction both
key=beta; other --beta 1e-9
question="epsilon $shape --strategy sqrt:4 --sigma 3 --delta 1e-3"
key=value; same --seed 1; same --direction both; other --direction add
question="account poisson:0.1,1,20 --delta 1e-6"
key=value; same --direction both; same --rel-error 1e-4; other --rel-error 0.05
question="error --rounds 32 --batches 8 --strategy sqrt:4 --eps 1 --delta 1e-3"
key=rmse; same --amplification bnb; other --amplification none; same --workload prefix
other --workload momentum:0.9
question="optimize --rounds 16 --batches 4 --eps 1 --delta 1e-3 --amplification none --family toeplitz:3"
key=rmse; same --error mean; other --error max; other --iterations 1; same --workload prefix
question="optimize --rounds 12 --batches 4 --eps 1 --delta 1e-3 --amplification none --family dense"
other --equal-norms
question="optimize --rounds 8 --batches 4 --eps 1 --delta .01 --amplification bnb --family blt:1 --iterations 3"
same --inner 0; other --inner 64
question="plan --rounds 16 --batches 4 --eps 1 --delta 1e-3 --amplification none"
key=rmse; same --memory 4; other --memory 1; same --error mean

# ---- attacks: eps = 1 and delta = 1e-3 let e 0.01 + 0.001 through, and gain tanh(1/2) --------
runs 0 verify --epochs 2 --batches 4 --strategy identity --sigma 9 --eps 1 --delta 1e-3 --fpr 0.01 --json
near "attack" "$(value attack_tpr)" 0.028182818 1e-8
near "advantage" "$(value attack_advantage)" 0.46265504 1e-7
runs 0 account gaussian:5 --delta 1e-3 --fpr 0.5
grep -q 'Attacks that guess' "$tmp/out" && ok || bad "no attack in: $(cat "$tmp/out")"
runs 0 account gaussian:5 --delta 1e-3 --fpr 0.5 --direction add
grep -q 'Attacks: nothing is known' "$tmp/out" && ok || bad "an attack in one direction"
expect 2 '--fpr' account gaussian:5 --delta 1e-3 --fpr 2

# ---- compare ----------------------------------------------------------------
# Each row is what the other commands say: sigma of each sampling, and error of it.
same="--epochs 4 --batches 16 --eps 2 --delta 1e-3"
expect 2 'compare which strategies' compare $same
expect 2 'needs --eps' compare identity --epochs 4 --batches 16 --delta 1e-3
expect 2 '--amplification must be' compare identity $same --amplification some
expect 2 'is none of identity' compare nosuch $same
expect 2 '--out: cannot write' compare identity $same --out /no/such/dir/x.csv --json
runs 0 compare sqrt:3 blt:0.9:0.1 $same --out "$tmp/compare.csv"
row() { grep "^\"$1\",$2," "$tmp/compare.csv" | cut -d, -f"$3"; }
[ "$(wc -l <"$tmp/compare.csv")" -eq 7 ] && [ -z "$(row blt:0.9:0.1 'cyclic Poisson' 3)" ] && ok ||
    bad "compare: $(cat "$tmp/compare.csv")"
for how in 'bnb/balls in bins' none/none; do
    runs 0 error --strategy sqrt:3 $same --amplification "${how%%/*}" --json
    near "compare: sigma, $how" "$(row sqrt:3 "${how##*/}" 3)" "$(value sigma)" 1e-5
    near "compare: rmse, $how" "$(row sqrt:3 "${how##*/}" 4)" "$(value rmse)" 1e-9
done
# Three bands and 16 batches: each group takes 21 rounds and one more, with q = 3/16.
norm=$("$tool" sigma --strategy sqrt:3 $same | sed -n 's/.*largest column norm //p')
runs 0 account "poisson:0.1875,$(awk -v s="$(row sqrt:3 'cyclic Poisson' 3)" -v n="$norm" \
    'BEGIN { printf "%.9g", s / n }'),22" --delta 1e-3 --json
near "compare: sigma of cyclic Poisson sampling" "$(value epsilon)" 2 2e-3
runs 0 compare identity toeplitz:1,0.5 $same --amplification bnb --json --out "$tmp/compare.svg"
[ "$(grep -c '"possible": true' "$tmp/out")" = 2 ] && grep -q '"sampling": "balls in bins"' "$tmp/out" &&
    grep -q '</svg>' "$tmp/compare.svg" && ok || bad "compare: JSON or picture"
[ "$(grep -c 'class="line"' "$tmp/compare.svg")" = 4 ] && ok || bad "compare: not two lines and their keys"

# ---- audit ------------------------------------------------------------------
# Scores that differ by 2 and have noise of a fair spread: the same numbers each time.
awk 'BEGIN { for (i = 0; i < 4000; i++) { u = (i * 0.6180339887) % 1; v = (i * 0.7548776662) % 1
    printf "%s %.9f\n", i % 2 ? "in" : "out", 2 * (i % 2) + sqrt(-2 * log(u + 1e-9)) * cos(6.2831853 * v) } }' \
    >"$tmp/scores"
printf 'in 1\nmaybe 2\n' >"$tmp/bad"
expect 2 'line 2 of.*neither in nor out' audit --scores "$tmp/bad"
printf 'in 1\nin 2 3\n' >"$tmp/bad"
expect 2 'line 2 of.*one finite number' audit --scores "$tmp/bad"
printf 'in nan\n' >"$tmp/bad"
expect 2 'line 1 of.*one finite number' audit --scores "$tmp/bad"
printf 'in 1\nout 2\n' >"$tmp/bad"
expect 2 'has 1 canaries' audit --scores "$tmp/bad"
expect 2 'cannot read' audit --scores "$tmp/missing"
expect 2 '--one-run needs --scores' audit --one-run
expect 2 '--samples does not apply' audit --scores "$tmp/scores" --samples 1000
runs 0 audit --scores "$tmp/scores" --delta 1e-3 --json
low=$(value epsilon_lower)
near "a lower bound of two sigmas' shift" "$low" 3 1.6
runs 1 audit --scores "$tmp/scores" --delta 1e-3 --eps 1 --json --out "$tmp/roc.svg"
if [ "$(value contradicted)" = true ] && grep -q '</svg>' "$tmp/roc.svg"; then ok
else bad "no contradiction, or no picture of it"; fi
runs 0 audit --scores "$tmp/scores" --delta 1e-3 --eps "$low"
if grep -q 'not contradicted' "$tmp/out" && grep -q '^measured lower bound: epsilon >= ' "$tmp/out" &&
   grep -q '^  at confidence 0.95, for delta = 0.001' "$tmp/out"
then ok; else bad "what the lower bound says: $(cat "$tmp/out")"; fi
runs 0 audit --scores "$tmp/scores" --delta 1e-6 --one-run --json
near "one run" "$(value epsilon_lower)" 2.5 1.6
runs 0 audit --samples 200 --json
if [ "$(value contradicted)" = 0 ]; then ok; else bad "audit: $(cat "$tmp/out")"; fi

echo "tool: $passed passed, $failed failed"
[ $failed -eq 0 ]
