#!/bin/sh
# Runs the test programs with each kernel set of this processor but the best one, which
# they use anyway.
flags=$(sed -n '/^flags/{p;q;}' /proc/cpuinfo 2>/dev/null)
sets=
case $flags in *avx512f*) case $flags in *avx512dq*) sets=" avx2" ;; esac ;; esac
code=0
for set in scalar $sets; do
    echo "== kernel set $set"
    MCAMP_TEST_QUICK=1 MCAMP_TEST_VEC=$set sh tests/run.sh "$@" || code=1
done
exit $code
