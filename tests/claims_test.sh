#!/bin/sh
# Random questions to the tool; every sentence and number that it prints is parsed and fed
# back to it.  A printed sigma must be accepted by "verify" at the printed (eps, delta): the
# closed forms and intervals as they stand, verified claims by their record, with their
# seed.  A printed upper end is at least the JSON's, a lower one at most.  A sentence
# names the directions that were proved, and a refusal holds no assertion.  MCAMP_CLAIMS is
# the number of questions (90; all: 900).  Ends with "claims: N passed, M failed".
tool=${BUILD:-build}/mcamp
tmp=${TMPDIR:-/tmp}/mcamp_claims.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL question $number: $*"; }

# ask STATUS FILE ARGUMENTS...: the answer to FILE; fails if the status is another
ask() {
    want=$1; file=$2; shift 2
    asked=$*
    "$tool" "$@" >"$file" 2>"$tmp/err" </dev/null
    status=$?
    [ "$want" = any ] || [ $status -eq "$want" ] && ok && return 0
    bad "status $status, want $want: $*: $(head -n 3 "$tmp/err" "$file")"
    return 1
}

# value KEY FILE: of the JSON object
value() { sed -n "/^  \"question\": /d; s/.*\"$1\": \([^],}]*\).*/\1/p" "$2" | tr -d '"' | head -n 1; }

# holds EXPRESSION A B C: a relation of numbers; fails for anything that is no number
holds() {
    if awk -v a="$2" -v b="$3" -v c="${4:-0}" 'BEGIN {
            number = "^[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?$"
            if (a !~ number || b !~ number || c !~ number) exit 1
            a += 0; b += 0; c += 0
            exit !('"$1"') }'; then ok
    else bad "not $1 with a = $2, b = $3, c = $4: $asked"; fi
}

says() { if grep -q -e "$1" "$2"; then ok; else bad "\"$1\" is missing: $asked: $(head -n 4 "$2")"; fi; }
never() { if grep -q -e "$1" "$2"; then bad "says \"$(grep -e "$1" "$2" | head -n 1)\": $asked"; else ok; fi; }

# The directions that the sentence names are the ones asked for.
named() {
    case $direction in
    both)
        says 'Direction: both, with the example added and with it removed' "$1"
        never 'only with the example' "$1" ;;
    remove)
        says 'only with the example removed' "$1"
        never 'example added' "$1"
        never 'differentially private\|-DP' "$1" ;;
    add)
        says 'only with the example added' "$1"
        never 'example removed' "$1"
        never 'differentially private\|-DP' "$1" ;;
    esac
}

# No part of a refusal reads as an assertion.
refused() {
    says '^Not certified' "$1"
    never '^Certif\|Certain\|differentially private\|-DP\|gives\|is at most' "$1"
}

# ---- one question of each kind ----------------------------------------------------------

shape() { echo "--rounds $rounds --batches $batches --strategy $strategy --direction $direction"; }

# A claim: the sentence, the JSON and the exit status agree; twice the same.
verify() {
    ask any "$tmp/text" verify $(shape) --sigma $sigma --eps $eps --delta $delta --seed $seed
    code=$status
    ask $code "$tmp/json" verify $(shape) --sigma $sigma --eps $eps --delta $delta --seed $seed --json
    named "$tmp/text"
    if [ $code -eq 0 ]; then
        says '^Certified' "$tmp/text"
        [ "$(value accepted "$tmp/json")" = true ] && ok || bad "status 0, not accepted: $asked"
    else
        refused "$tmp/text"
        [ "$(value accepted "$tmp/json")" = false ] && ok || bad "status $code, but accepted: $asked"
    fi
    [ "$(value direction "$tmp/json")" = $direction ] && ok || bad "another direction: $asked"
    holds 'a == b' "$(value sigma "$tmp/json")" $sigma
    holds 'a == b' "$(value epsilon "$tmp/json")" $eps
}

# A certified sigma: its record is a proof, and what is printed is what was proved.
certify() {
    rm -f "$tmp/record"
    ask any "$tmp/text" sigma $(shape) --eps $eps --delta $delta --seed $seed --certify \
        --record "$tmp/record"
    if [ $status -ne 0 ]; then refused "$tmp/text"; return; fi
    says '^Certified' "$tmp/text"
    named "$tmp/text"
    printed=$(sed -n 's/^Certified.* sigma = \([^ ]*\).*/\1/p' "$tmp/text")
    ask 0 "$tmp/again" verify --record "$tmp/record"
    says '^Certified' "$tmp/again"
    named "$tmp/again"
    ask 0 "$tmp/json" verify --record "$tmp/record" --json
    holds 'a >= b && a <= b * 1.0001' "$printed" "$(value sigma "$tmp/json")"
    holds 'a == b' "$(value epsilon "$tmp/json")" $eps
    # Certain without samples: what is printed is accepted as it stands.
    case $(value kind "$tmp/json") in verified*) return ;; esac
    ask 0 "$tmp/again" verify $(shape) --sigma "$printed" --eps $eps --delta $delta
}

# An answer: rounded to the safe side; if it is certain, it is accepted as a claim.
answer() {      # answer COMMAND OPTION VALUE OPTION VALUE
    command=$1; shift
    ask 0 "$tmp/text" $command $(shape) "$@" --seed $seed
    named "$tmp/text"
    printed=$(sed -n "1s/^$command = \([^ ]*\).*/\1/p" "$tmp/text")
    ask 0 "$tmp/json" $command $(shape) "$@" --seed $seed --json
    holds 'a >= b * (1 - 1e-12) && a <= b * 1.0001 + 1e-300' "$printed" "$(value value "$tmp/json")"
    upper=$(sed -n 's/.*delta is at most *\([^ ,]*\).*/\1/p' "$tmp/text")
    [ -z "$upper" ] || [ $command != delta ] || holds 'a >= b' "$upper" "$(value upper "$tmp/json")"
    if grep -q 'Certain' "$tmp/text"; then certain=$((certain + 1)); else
        says 'Estimate, not a proof' "$tmp/text"
        never '^Certif' "$tmp/text"
        return
    fi
    s=$sigma; e=$eps; d=$delta
    case $command in sigma) s=$printed ;; epsilon) e=$printed ;; delta) d=$printed ;; esac
    awk -v d="$d" -v e="$e" 'BEGIN { exit !(d > 0 && d < 1 && e >= 0) }' || return
    ask 0 "$tmp/again" verify $(shape) --sigma "$s" --eps "$e" --delta "$d"
}

# A composition: the printed interval holds the JSON's, and its upper end is an upper end.
account() {
    ask 0 "$tmp/text" account $events --delta $delta --direction $direction --rel-error 0.01
    ask 0 "$tmp/json" account $events --delta $delta --direction $direction --rel-error 0.01 --json
    named "$tmp/text"
    lower=$(sed -n 's/^epsilon from \([^ ]*\) to .*/\1/p' "$tmp/text")
    upper=$(sed -n 's/^epsilon from [^ ]* to \([^ ]*\).*/\1/p' "$tmp/text")
    holds 'a <= b' "$lower" "$(value lower "$tmp/json")"
    holds 'a >= b' "$upper" "$(value upper "$tmp/json")"
    ask 0 "$tmp/json" account $events --eps "$upper" --direction $direction --rel-error 0.01 --json
    holds 'a <= b' "$(value lower "$tmp/json")" $delta
}

# A plan: its record is a proof of the sigma that it prints.
plan() {
    rm -f "$tmp/record"
    ask any "$tmp/text" plan --rounds $rounds --batches $batches --eps $eps --delta $delta \
        --amplification bnb --memory 1 --seed $seed --record "$tmp/record"
    direction=both
    if [ $status -ne 0 ]; then refused "$tmp/text"; return; fi
    says '^Certified' "$tmp/text"
    named "$tmp/text"
    ask 0 "$tmp/json" verify --record "$tmp/record" --json
    holds 'a >= b && a <= b * 1.0001' \
        "$(sed -n 's/^Certified.* sigma = \([^ ]*\).*/\1/p' "$tmp/text")" "$(value sigma "$tmp/json")"
}

# ---- the questions ------------------------------------------------------------------------

case ${MCAMP_CLAIMS:-60} in all) questions=900 ;; *) questions=${MCAMP_CLAIMS:-60} ;; esac
awk -v questions="$questions" '
    function below(n) { state = (state * 1103 + 12345) % 1048573; return int(state / 7) % n }
    function pick(text,   list, n) { n = split(text, list, " "); return list[1 + below(n)] }
    BEGIN {
        state = 4711
        for (i = 1; i <= questions; i++) {
            kind = i % 30 ? pick("verify certify sigma epsilon delta account") : "plan"
            batches = pick("1 2 3 4 7 12")
            rounds = batches * pick("1 2 3 5") + below(batches)
            if (rounds < 3) rounds += 3
            strategy = pick("identity identity sqrt:2 sqrt:0 toeplitz:1,0.5 " \
                "toeplitz:1,-0.4,0.3 blt:0.7:0.3 blt:0.5:0.2,0.9:0.1")
            events = pick("gaussian:2 gaussian:1,0.5*3 laplace:3 poisson:0.1,1,20 " \
                "poisson:0.02,2,300+gaussian:4 laplace:4,0.2*5 bnb:1.5,4,2")
            print kind, rounds, batches, strategy, pick("both both remove add"), \
                pick("0.2 0.7 1 2.5 6"), pick("1e-2 1e-3 3e-5 1e-7"), \
                pick("0.7 1.3 2 4 9"), below(1000), events
        }
    }' >"$tmp/questions"
number=0
certain=0
while read -r kind rounds batches strategy direction eps delta sigma seed events; do
    number=$((number + 1))
    case $kind in
    sigma) answer sigma --eps $eps --delta $delta ;;
    epsilon) answer epsilon --sigma $sigma --delta $delta ;;
    delta) answer delta --sigma $sigma --eps $eps ;;
    *) $kind ;;
    esac
done <"$tmp/questions"
[ $certain -gt 0 ] && ok || bad "no certain answer among $questions questions"
echo "claims: $passed passed, $failed failed"
[ $failed -eq 0 ]
