#!/bin/sh
# Every command's --json against examples/mcamp.schema.json, and its question asked again.
# Ends with "json: N passed, M failed".
tmp=${TMPDIR:-/tmp}/mcamp_json.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
tool=${BUILD:-build}/mcamp
case $tool in /*) ;; *) tool=$PWD/$tool ;; esac
if ! command -v python3 >/dev/null; then
    if [ -n "$MCAMP_NO_SKIP" ]; then echo "json: 0 passed, 1 failed"; exit 1; fi
    echo "SKIPPED: what the tool prints as JSON is checked by python3"
    echo "json: 0 passed, 0 failed"
    exit 0
fi
PYTHONDONTWRITEBYTECODE=1 python3 tests/python/check_json.py "$tool" "$tmp"
