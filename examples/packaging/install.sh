#!/bin/sh
# Called by `make install` and `make uninstall`: puts everything below $DESTDIR$PREFIX, or
# takes it away, by one list.
set -e
what=${1:-install}
root=$DESTDIR$PREFIX
share=$root/share
here=$(dirname "$0")

# put FILE PLACE [MODE]: its directories made; or PLACE is taken away, with the
# directory that is ours alone.
put() {
    if [ "$what" = uninstall ]; then
        rm -f "$2"
        case $2 in */cmake/mcamp/*) rmdir "$(dirname "$2")" 2>/dev/null || : ;; esac
        return
    fi
    mkdir -p "$(dirname "$2")"
    cp "$1" "$2"
    chmod "${3:-644}" "$2"
    echo "$2"
}

# made PLACE COMMAND...: what the command prints, as a file; nothing if it fails.
made() {
    place=$1
    shift
    [ "$what" = uninstall ] || "$@" >"$BUILD/installed.tmp"
    put "$BUILD/installed.tmp" "$place"
    rm -f "$BUILD/installed.tmp"
}

fill() { sed "s|@PREFIX@|$PREFIX|g; s|@VERSION@|$VERSION|g" "$1"; }

put mcamp.h "$root/include/mcamp.h"
put "$BUILD/mcamp" "$root/bin/mcamp" 755
made "$share/man/man1/mcamp.1" "$BUILD/mcamp" help man
made "$share/bash-completion/completions/mcamp" "$BUILD/mcamp" help bash
made "$share/zsh/site-functions/_mcamp" "$BUILD/mcamp" help zsh
made "$share/fish/vendor_completions.d/mcamp.fish" "$BUILD/mcamp" help fish
made "$share/pkgconfig/mcamp.pc" fill "$here/mcamp.pc.in"
made "$share/cmake/mcamp/mcamp-config.cmake" fill "$here/mcamp-config.cmake.in"
made "$share/cmake/mcamp/mcamp-config-version.cmake" fill "$here/mcamp-config-version.cmake.in"
