#!/bin/sh
# The page of `make web` in a headless Chromium: its answers beside the tool's, records, links,
# cancel, complaints, keys, a telephone's width.  `make check-web` runs it; it is no part of
# `make test`.  Ends with "check-web: N passed, M failed"; what it needs and does not find fails.
build=${BUILD:-build}
needs() {
    echo "FAIL web: needs $1"
    echo "check-web: 0 passed, 1 failed"
    exit 1
}
chromium=${CHROMIUM:-}
for c in chromium chromium-browser google-chrome; do
    [ -n "$chromium" ] || chromium=$(command -v $c)
done
[ -n "$chromium" ] || needs "chromium (Debian: apt-get install chromium; or CHROMIUM=path)"
command -v python3 >/dev/null || needs python3
[ -f "$build/mcamp.html" ] && [ -x "$build/mcamp" ] || needs "$build/mcamp.html and $build/mcamp (make check-web)"
exec python3 tests/web_test.py "$build/mcamp.html" "$build/mcamp" "$chromium"
