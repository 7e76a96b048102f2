#!/bin/sh
# Dialects, include orders, one and two implementations, macros on the command
# line, and the floating-point flags that must be refused.
. "$(dirname "$0")/lib.sh"
src=tests/compile

runs() { "$@" && "$out/program"; }

for cc in gcc "$CLANG" g++ "$CLANGXX"; do
    have "$cc" || skip "compile with $cc" "$cc"
done

for cc in $(compilers "$CC" gcc "$CLANG"); do
    for std in c99 c11 c17 gnu17; do
        try "$cc $std decl" $cc -std=$std -Wall -Wextra -Werror -fsyntax-only $src/decl.c
        try "$cc $std impl" $cc -std=$std -Wall -Wextra -Werror -fsyntax-only $src/impl.c
    done
    try "$cc odd macros" $cc -std=c99 -fsyntax-only $src/macros.c
    $cc -c $src/impl.c -o "$out/impl.o"
    try "$cc included again" runs $cc $src/twice.c -o "$out/program" -lm
    try "$cc two units" runs $cc $src/user.c "$out/impl.o" -o "$out/program" -lm
    try "$cc static in two units" runs $cc -Wall -Wextra -Werror \
        $src/static_a.c $src/static_b.c -o "$out/program" -lm
    try "$cc macro on the command line" runs $cc -DMCAMP_IMPLEMENTATION $src/user.c \
        -o "$out/program" -lm
    for flag in -ffast-math -ffinite-math-only -Ofast; do
        refuses "$cc $flag" $cc -O2 $flag -fsyntax-only $src/impl.c
        try "$cc $flag, declarations only" $cc -O2 $flag -fsyntax-only $src/decl.c
    done
done

for cxx in $(compilers "$CXX" g++ "$CLANGXX"); do
    try "$cxx c++98 declarations" $cxx -x c++ -std=c++98 -fsyntax-only $src/decl.c
    for std in c++11 c++20; do
        try "$cxx $std decl" $cxx -x c++ -std=$std -Wall -Wextra -Werror \
            -fsyntax-only $src/decl.c
        try "$cxx $std impl" $cxx -x c++ -std=$std -Wall -Wextra -Werror \
            -fsyntax-only $src/impl.c
        try "$cxx $std odd macros" $cxx -x c++ -std=$std -fsyntax-only $src/macros.c
    done
    try "$cxx user of a C implementation" runs $cxx -x c++ $src/user.c -x none \
        "$out/impl.o" -o "$out/program" -lm
done
done_checks check-compile
