#!/bin/sh
# Runs the test programs once with each kernel set that this processor has.
flags=$(sed -n '/^flags/{p;q;}' /proc/cpuinfo 2>/dev/null)
sets=scalar
case $flags in *avx2*) case $flags in *fma*) sets="$sets avx2" ;; esac ;; esac
case $flags in *avx512f*) case $flags in *avx512dq*) sets="$sets avx512" ;; esac ;; esac
code=0
for set in $sets; do
    echo "== kernel set $set"
    MCAMP_TEST_VEC=$set sh tests/run.sh "$@" || code=1
done
exit $code
