#!/bin/sh
# The main job of `make`: runs what was built, so that there is an answer to see.
build=${1:-build}
set -e
for example in "$build"/quickstart; do
    [ -x "$example" ] || { echo "nothing to run yet"; continue; }
    "$example"
done
