#!/bin/sh
# Other machines, emulated: suites that an emulator runs in seconds, as quick tests, for a
# big-endian one, two ARMs and 32-bit x86.  MACHINES="s390x i686" and SUITES choose.
. "$(dirname "$0")/lib.sh"
suites=${SUITES:-"test_base test_rng test_secure test_batch test_clip test_record"}

# machine COMPILER QEMU FLAGS
machine() {
    name=$1 cc=$2 qemu=$3; shift 3
    case " ${MACHINES:-$name} " in *" $name "*) ;; *) return ;; esac
    have "$cc" && have "$qemu" || { skip "$name" "$cc and $qemu"; return; }
    for s in $suites; do
        [ -f "tests/$s.c" ] || continue
        try "$name $s compiles" "$cc" -std=c99 -O1 -w "$@" -pthread -static -I. \
            "tests/$s.c" -o "$out/$name.$s" -lm || continue
        text=$(MCAMP_TEST_QUICK=1 "$qemu" "$out/$name.$s" 2>&1)
        if [ $? = 0 ]; then ok; else bad "$name $s" "$(echo "$text" | tail -n 12)"; fi
        rm -f "$out/$name.$s"
    done
}
machine s390x s390x-linux-gnu-gcc qemu-s390x-static
machine aarch64 aarch64-linux-gnu-gcc qemu-aarch64-static
machine armhf arm-linux-gnueabihf-gcc qemu-arm-static
machine i686 i686-linux-gnu-gcc qemu-i386-static -msse2 -mfpmath=sse
done_checks check-machines
