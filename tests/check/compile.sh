#!/bin/sh
# Dialects, include orders, one and two implementations, macros on the command
# line, and the floating-point flags that must be refused.
. "$(dirname "$0")/lib.sh"
src=tests/compile

# messages NAME COMMAND...: it fails with one error.
messages() {
    name=$1; shift
    n=$("$@" 2>&1 | grep -c 'error:')
    if [ "$n" = 1 ]; then ok; else bad "$name: $n errors instead of one"; fi
}
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
    messages "$cc c90" $cc -std=c90 -fsyntax-only $src/impl.c
    messages "$cc -Ofast" $cc -Ofast -fsyntax-only $src/impl.c
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

# Rewriting that no macro tells is found at run time; a link that flushes denormals is borne.
for cc in $(compilers "$CC" gcc "$CLANG"); do
    case $($cc --version) in
    *clang*)
        for flags in "-freciprocal-math" "-fassociative-math -fno-signed-zeros -fno-trapping-math"; do
            try "$cc $flags is told" runs $cc -O2 $flags -DTOLD $src/told.c -o "$out/program" -lm
        done ;;
    esac
    $cc -O2 -c $src/impl.c -o "$out/impl.o"
    try "$cc linked with -Ofast" runs $cc -Ofast $src/told.c "$out/impl.o" -o "$out/program" -lm
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
