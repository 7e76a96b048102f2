#!/bin/sh
# examples/python: the module, built into a folder of the test's, and the comparison with
# known numbers.  Ends with "python: N passed, M failed".
build=${BUILD:-build}
tmp=${TMPDIR:-/tmp}/mcamp_python.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
python=python3                  # the one with NumPy, if there is one
/usr/bin/python3 -c 'import numpy' 2>/dev/null && python=/usr/bin/python3
if ! $python -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    if [ -n "$MCAMP_NO_SKIP" ]; then echo "python: 0 passed, 1 failed"; exit 1; fi
    echo "SKIPPED: needs python3, 3.8 or newer"
    echo "python: 0 passed, 0 failed"
    exit 0
fi
MCAMP_CACHE=$build/python MCAMP_CFLAGS=-O0 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=examples/python
unset MCAMP_HEADER MCAMP_LIBRARY
export MCAMP_CACHE MCAMP_CFLAGS PYTHONDONTWRITEBYTECODE PYTHONPATH
$python tests/python/test_mcamp.py "$build/mcamp" >"$tmp/out" 2>&1
[ $? -eq 0 ] || cat "$tmp/out"
if $python examples/python/compare.py >"$tmp/compare" 2>&1 &&
    [ "$(grep -c '\[.*\]' "$tmp/compare")" = 3 ]; then
    compared=1
else
    compared=0
    cat "$tmp/compare"
fi
tail -n 1 "$tmp/out" | awk -v c=$compared '/^python: / { p = $2; f = $4 }
    END { if (f == "") f = 1; printf "python: %d passed, %d failed\n", p + c, f + 1 - c; exit f + 1 - c > 0 }'
