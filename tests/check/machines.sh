#!/bin/sh
# Other machines, emulated: a big-endian one, two ARMs, 32-bit x86, Windows, WebAssembly.
# Suites that run there in seconds, as quick tests; then what each machine says is compared
# with the others', and what each has written is read by all (machines.c).
# MACHINES="s390x win64", SUITES and JOBS choose.
script=$0
export WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
. "$(dirname "$0")/lib.sh"
suites=${SUITES:-"est noise secure session batch rng"}     # the longest first
machines=${MACHINES:-"s390x aarch64 armhf i686 win64 wasm32"}

# Tests of suite $1 that take minutes where an emulator computes; on machine $2 those that need
# a long double with more digits than a double, which armhf has not.
lengthy() {
    case $1 in
    noise) [ "$2" = armhf ] && wide="fine_grids_round_the_true_normal
            sums_of_normals_are_decided_to_the_last_digit" || wide=
        echo noise_made_again_is_rounded_as_if_there_were_no_errors \
        lattice_noise_is_rounded_within_the_recursion \
        resume_at_every_round_continues_byte_for_byte $wide ;;
    est) echo ranges_are_not_exceeded_and_nearly_attained \
        all_methods_agree_on_random_modes all_methods_agree_on_strategies \
        bounds_hold_with_their_probability far_out_questions_have_answers \
        every_law_integrates_rho_to_one any_split_in_any_order_gives_the_same_bytes \
        threads_change_nothing_and_vector_sets_next_to_nothing \
        estimates_without_decisive_samples_are_not_trusted values_by_clusters \
        tuples_and_the_tilt_pay the_tilted_P_has_its_density \
        small_deltas_of_unlike_modes_are_right_or_not_trusted \
        the_mixtures_errors_are_honest small_deltas_of_few_bands_are_backed \
        a_pilot_of_few_blocks_does_not_set_the_cost tuples_and_the_way_back \
        the_smaller_direction_is_known_by_the_larger no_answer_spends_more_on_its_bounds \
        pairs_of_samples_have_their_law kept_draws_are_those_of_each_sigma \
        clusters_are_drawn_by_their_law small_deltas_agree_with_quadrature ;;
    esac
}

# How machine $1 compiles and runs.
choose() {
    flags="-O1 -pthread -static" run= exe=
    case $1 in
    here) cc=$CC ;;
    s390x) cc=s390x-linux-gnu-gcc run=qemu-s390x-static ;;
    aarch64) cc=aarch64-linux-gnu-gcc run=qemu-aarch64-static ;;
    armhf) cc=arm-linux-gnueabihf-gcc run=qemu-arm-static ;;
    i686) cc=i686-linux-gnu-gcc run=qemu-i386-static flags="$flags -msse2 -mfpmath=sse" ;;
    win64) cc=x86_64-w64-mingw32-gcc run=${WINE:-wine} exe=.exe
        flags="$flags -D__USE_MINGW_ANSI_STDIO=1" ;;
    wasm32) cc=$CLANG run="node --no-warnings tests/check/wasi.mjs"
        flags="-O0 --target=wasm32-wasi -D_WASI_EMULATED_PROCESS_CLOCKS -lwasi-emulated-process-clocks -Wl,-z,stack-size=1048576" ;;
    esac
}

# The implementation on one machine, once for all suites.
if [ "$2" = --object ]; then
    choose "$3"
    [ "$3" != wasm32 ] || export THREADS=
    exec sh tests/check/split.sh mcamp.h "$out/$3.split" $cc -std=c99 -w $flags >"$out/$3.object" 2>&1
fi

# One program on one machine: "ok" or what is wrong, to its log.
if [ "$2" = --one ]; then
    machine=$3 name=$4 source=$5
    choose "$machine"
    program=$out/$machine.$name$exe
    case $name in
    machines) how="-Wall -Wextra -Werror" object= ;;
    secure) how=-w object= ;;
    *) how="-w $(cat "$out/$machine.split/flags")" object="$out/$machine.split/first.o $out/$machine.split/last.o" ;;
    esac
    if ! text=$($cc -std=c99 $how -I. "$source" $object -o "$program" $flags -lm 2>&1); then
        echo "does not compile: $text$(cat "$out/$machine.object")"
    elif [ "$name" = machines ]; then
        mkdir -p "$out/$machine"
        text=$($run "$program" write "$out/$machine" 2>&1) && echo ok || echo "$text"
    else
        text=$(MCAMP_TEST_SKIP="$(lengthy "$name" "$machine")" MCAMP_TEST_QUICK=1 \
            $run "$program" 2>&1) && echo ok || echo "$text" | tail -n 12
        rm -f "$program"
    fi >"$out/$machine.$name.log"
    exit 0
fi

rm -f "$out"/*.log "$out"/*/same "$out"/*/digits "$out"/*/rest "$out"/*/record "$out"/*/state
present=
for m in $machines; do
    choose "$m"
    if have "$cc" && have "${run:-sh}"; then present="$present $m"; else skip "$m" "$cc and $run"; fi
done
present=${present# }
{
    for m in here $present; do echo "$m machines tests/check/machines.c"; done
    for s in $suites; do for m in $present; do echo "$m $s tests/test_$s.c"; done; done
} >"$out/jobs"
for m in $present; do echo "$m"; done | xargs -P "${JOBS:-2}" -n 1 sh "$script" "$out" --object
xargs -P "${JOBS:-2}" -n 3 sh "$script" "$out" --one <"$out/jobs"
while read -r machine name source; do
    text=$(cat "$out/$machine.$name.log")
    if [ "$text" = ok ]; then ok; else bad "$machine $name" "$text"; fi
done <"$out/jobs"

# A system that nobody has heard of: no key, and why.
$CC -std=c99 -O0 -w -U__linux__ -U__unix__ tests/check/machines.c -o "$out/unknown" -lm
if text=$("$out/unknown" write "$out" 2>&1); then bad "unknown system" "makes a key"; else
    case $text in *"no entropy of this system is known"*) ok ;; *) bad "unknown system" "$text" ;; esac
fi

# The same bits, and as many digits as each name says.
agrees() {
    awk 'NR == FNR { want[$1] = $3; n++; next }
         { d = $3 - want[$1]; if (d < 0) d = -d; x = want[$1]; if (x < 0) x = -x; m++
           if (!($1 in want) || !(d <= x * 10 ^ -$2)) { print $1, $3, want[$1]; bad = 1 } }
         END { exit bad || !n || n != m }' "$out/here/digits" "$out/$1/digits"
}
for m in $present; do
    try "$m: the same bits" diff "$out/here/same" "$out/$m/same"
    try "$m: the same saved state" cmp "$out/here/state" "$out/$m/state"
    try "$m: the same digits" agrees "$m"
done
dirs=
for m in here $present; do dirs="$dirs $out/$m"; done
for m in here $present; do
    choose "$m"
    try "$m reads what others wrote" $run "$out/$m.machines$exe" read $dirs
done
done_checks check-machines
