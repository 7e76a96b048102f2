#!/bin/sh
# mcamp_mpi says what mcamp says, to the byte, on one, two and three processes; if one dies,
# fails, or does something else than the others, there is an error and no word of an answer.
. "$(dirname "$0")/lib.sh"
build=${BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
launch="mpirun --allow-run-as-root --oversubscribe"

# Seconds differ from run to run.
timeless() { sed -i -e 's/, [0-9.]* s\b//' -e 's/"seconds": [^,]*,//' "$1"; }

# like RANKS ARGUMENTS...: what is printed and written, and the exit status
like() {
    n=$1; shift
    rm -rf one all
    mkdir one all
    (cd one && "$build/mcamp" "$@" >out 2>../one.err); want=$?
    (cd all && $launch -n "$n" "$build/mcamp_mpi" "$@" >out 2>../all.err); code=$?
    timeless one/out; timeless all/out
    if [ $code != $want ]; then bad "$n processes: status $code, not $want: $*" "$(cat all.err)"
    elif ! diff -r one all >diff; then bad "$n processes: $*" "$(cat diff)"
    elif [ $want -lt 2 ] && [ ! -s all/out ]; then bad "$n processes say nothing: $*"
    elif [ $want = 2 ] && [ "$(grep -cF "$(head -n 1 one.err)" all.err)" != 1 ]; then
        bad "$n processes: the message: $*" "$(cat all.err)"
    else ok; fi
}

# silent NAME PATTERN ARGUMENTS of mpirun: an error, and not a word on standard output
silent() {
    name=$1 pattern=$2; shift 2
    rm -rf all
    mkdir all
    if (cd all && $launch "$@" >../out 2>../err); then bad "$name: succeeds"
    elif [ -s out ] || [ -n "$(ls all)" ]; then bad "$name: says something" "$(cat out; ls all)"
    elif ! grep -q -e "$pattern" err; then bad "$name: no \"$pattern\"" "$(cat err)"
    else ok; fi
}

shape="--epochs 4 --batches 16 --strategy sqrt:8"
for n in 1 2 3; do
    like $n sigma $shape --eps 1 --delta 1e-5 --json
    like $n delta $shape --eps 1 --sigma 4 --seed 7
    like $n verify $shape --eps 1 --delta 1e-5 --sigma 9 --record r
    like $n verify $shape --eps 1 --delta 1e-5 --sigma 3 --json
    like $n sigma $shape --eps 1 --delta 1e-5 --certify --certain --record r
    like $n curve $shape --sigma 4 --points 5 --json --out c.svg
done
like 3 epsilon --rounds 24 --batching minsep:4,0.2 --strategy sqrt:2 --sigma 2.2 --delta 1e-3 --threads 2
like 3 verify $shape --eps 1 --delta 1e-5 --sigma 9 --samples 2e5 --shard 2/3 --tally t
like 3 optimize --epochs 2 --batches 8 --eps 2 --delta 1e-3 --family toeplitz:2 --amplification bnb --iterations 3
like 3 account poisson:0.01,1,20 --delta 1e-6
like 2 delta $shape --eps 1 --sigma none
like 2 version

# Rank 1 of three does otherwise.
long="delta $shape --eps 1 --sigma 4 --rel-error 1e-7 --samples 1e12"
others() { silent "$1" "$2" -n 1 $tool $long : -n 1 sh -c "$3" : -n 1 $tool $long; }
tool=$build/mcamp_mpi
others "a process runs out of time" . "ulimit -t 2; exec $tool $long"
others "a process is killed" . "(sleep 2; kill -9 \$\$) & exec $tool $long"
others "a process is interrupted" interrupted "(sleep 2; kill -INT \$\$) & exec $tool $long"
others "a process does not begin" . "exit 3"
short="verify $shape --eps 1 --delta 1e-5 --sigma 9 --record r"
silent "another question" "do not all do the same" -n 1 $tool $short : -n 1 $tool $short --seed 2
mkdir here there
echo 1 0.5 >here/c
echo 1 0.6 >there/c
short="verify --epochs 4 --batches 16 --strategy toeplitz:@c --eps 1 --delta 1e-5 --sigma 9"
silent "another C" "do not all do the same" -n 1 -wdir "$tmp/here" $tool $short : \
    -n 1 -wdir "$tmp/there" $tool $short
rm there/c
silent "no C" "cannot read" -n 1 -wdir "$tmp/here" $tool $short : -n 1 -wdir "$tmp/there" $tool $short
done_checks check-mpi
