#!/bin/sh
# The implementation's object: every global is mcamp_..., nothing is writable.
. "$(dirname "$0")/lib.sh"

# Position-dependent code, so that constant tables of pointers stay constant.
for opt in -O0 -O2; do
    try "compile $opt" $CC -std=c99 $opt -fno-pic -c tests/compile/impl.c -o "$out/sym.o"
    text=$(nm -g --defined-only "$out/sym.o" | awk '$3 !~ /^mcamp_[a-z]/ { print $3 }')
    if [ -z "$text" ]; then ok; else bad "foreign globals at $opt" "$text"; fi
    text=$(nm "$out/sym.o" | awk '$2 ~ /^[bBdDcCsSgG]$/')
    if [ -z "$text" ]; then ok; else bad "writable data at $opt" "$text"; fi
done
text=$(nm -u "$out/sym.o" | awk '$2 ~ /^(printf|fprintf|puts|putchar|exit|abort|rand|srand|drand48|time|clock|getenv|system|_exit)$/ { print $2 }')
if [ -z "$text" ]; then ok; else bad "calls that a library must not make" "$text"; fi
done_checks check-symbols
