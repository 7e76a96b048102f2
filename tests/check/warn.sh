#!/bin/sh
# Strict warnings as errors: the implementation with every compiler at -O0 and
# -O2, as C and as C++; the tests, examples and benchmarks once.
. "$(dirname "$0")/lib.sh"

strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes -Wundef
    -Wfloat-equal -Werror"
cxx_strict="-Wall -Wextra -Wshadow -Werror"

# Programs that are also tests of the header need not read its bodies once more.
sh tests/check/split.sh mcamp.h "$out/warn"
for cc in gcc "$CLANG"; do
    have "$cc" || { skip "warnings of $cc" "$cc"; continue; }
    for opt in -O0 -O2; do
        try "$cc $opt" $cc -std=c99 $opt $strict -Wc++-compat -c tests/compile/impl.c -o "$out/warn.$$.o"
    done
    try "$cc static" $cc -std=c99 $strict -DMCAMP_STATIC -c tests/compile/impl.c -o "$out/warn.$$.o"
    for f in tests/compile/decl.c tests/test_*.c tests/api_*.c tests/stat/*.c \
             tests/fuzz/*.c examples/*.c bench/*.c; do
        [ -f "$f" ] || continue
        case $f in */mpi_*) have mpicc || { echo "SKIPPED $f: needs mpicc"; continue; }
            mpi=$(mpicc --showme:compile 2>/dev/null) ;;
        *) mpi= ;; esac
        case $f in tests/test_secure.c|tests/test_threads.c|tests/compile/*|examples/*|bench/*) split= ;; *) split=$(cat "$out/warn/flags") ;; esac
        # Idioms of the tests: CHECK(!"text"), long double references.
        try "$cc $f" $cc -std=c99 $strict -Wno-string-conversion -Wno-double-promotion \
            $mpi $split -I. -fsyntax-only "$f"
    done
    ! have mpicc || try "$cc mcamp_mpi" $cc -std=c99 $strict -DTOOL_MPI \
        $(mpicc --showme:compile) -I. -fsyntax-only examples/mcamp.c
done
for cxx in g++ "$CLANGXX"; do
    have "$cxx" || { skip "warnings of $cxx" "$cxx"; continue; }
    for opt in -O0 -O2; do
        try "$cxx $opt" $cxx -x c++ -std=c++11 $opt $cxx_strict \
            -c tests/compile/impl.c -o "$out/warn.$$.o"
    done
done
done_checks check-warn
