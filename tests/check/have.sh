#!/bin/sh
# have.sh TARGET TOOL: succeeds if the tool (a program, or a compiler with flags)
# works here; otherwise says what is skipped, or fails under MCAMP_NO_SKIP=1.
target=$1
set -- $2
if [ $# -gt 1 ]; then
    echo 'int main(void) { return 0; }' >"${TMPDIR:-/tmp}/have.$$.c"
    "$1" -x c "${TMPDIR:-/tmp}/have.$$.c" -x none $(shift; echo "$@") \
        -o "${TMPDIR:-/tmp}/have.$$" >/dev/null 2>&1
    code=$?
    rm -f "${TMPDIR:-/tmp}/have.$$.c" "${TMPDIR:-/tmp}/have.$$"
else
    command -v "$1" >/dev/null 2>&1
    code=$?
fi
[ $code -eq 0 ] && exit 0
if [ -n "$MCAMP_NO_SKIP" ]; then
    echo "FAIL $target: needs $*"
    echo "0 passed, 1 failed"
    exit 1
fi
echo "SKIPPED $target: needs $*"
exit 1
