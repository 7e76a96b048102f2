# For the scripts beside this file: counting, and running a compiler.
#
#   ok NAME / bad NAME TEXT     count one check
#   try NAME COMMAND...         passes if the command succeeds silently enough
#   refuses NAME COMMAND...     passes if the command fails
#   skip NAME WHY               counts nothing; fails under MCAMP_NO_SKIP=1
#   done_checks NAME            the summary line, exits 1 on failures

passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $1"; [ -z "$2" ] || echo "$2" | head -n 40; }

try() {
    try_name=$1; shift
    if try_text=$("$@" 2>&1); then ok; else bad "$try_name: $*" "$try_text"; fi
}

refuses() {
    try_name=$1; shift
    if "$@" >/dev/null 2>&1; then bad "$try_name: should fail: $*"; else ok; fi
}

have() { command -v "${1%% *}" >/dev/null 2>&1; }

# The compilers among the arguments that exist, each version once (cc is often gcc);
# those that are missing are passed to skip by their name.
compilers() {
    seen=
    for c in "$@"; do
        have "$c" || continue
        version=$($c --version 2>/dev/null | head -n 1 | sed 's/^[^ ]* //' | tr ' ' _)
        case " $seen " in *" $version "*) continue ;; esac
        seen="$seen $version"
        echo "$c"
    done
}

skip() {
    if [ -n "$MCAMP_NO_SKIP" ]; then bad "$1: $2 missing"
    else echo "SKIPPED $1: needs $2"; fi
}

done_checks() {
    echo "$1: $passed passed, $failed failed"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit
}

out=${1:-build/check}
mkdir -p "$out"
CC=${CC:-cc}
CXX=${CXX:-c++}
CLANG=${CLANG:-clang}
CLANGXX=${CLANGXX:-clang++}
