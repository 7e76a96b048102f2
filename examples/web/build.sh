#!/bin/sh
# build.sh OUT DIR: the page, one file that needs no other, from what lies beside this script and
# the header; DIR is for what comes between.  Needs clang with wasm-ld, and a libc for
# WebAssembly; Debian's packages: clang lld wasi-libc libclang-rt-dev-wasm32.
out=$1
tmp=$2
here=$(dirname "$0")
CLANG=${CLANG:-clang}
sysroot=${WASI_SYSROOT:-/usr}

# Only what is there on the machine decides: no silent pass, no page that lacks its program.
missing=
command -v "$CLANG" >/dev/null 2>&1 || missing="$missing clang"
"$CLANG" -print-prog-name=wasm-ld 2>/dev/null | grep -q / || command -v wasm-ld >/dev/null 2>&1 ||
    missing="$missing lld"
[ -f "$sysroot/lib/wasm32-wasi/libc.a" ] || missing="$missing wasi-libc"
[ -z "$missing" ] && [ ! -f "$("$CLANG" --target=wasm32-wasi -print-libgcc-file-name)" ] &&
    missing=" libclang-rt-dev-wasm32"
if [ -n "$missing" ]; then
    echo "make web needs$missing (Debian: apt-get install clang lld wasi-libc libclang-rt-dev-wasm32)"
    exit 1
fi

mkdir -p "$tmp" || exit 1
# Functions that stay apart: the page is a twentieth smaller, its answers as fast.
"$CLANG" --target=wasm32-wasi --sysroot="$sysroot" -std=c99 -Os -fno-inline-functions -msimd128 \
    -mbulk-memory -ftls-model=local-exec -D_WASI_EMULATED_SIGNAL -Wall -Wextra -I"$here" \
    -Wl,-z,stack-size=1048576 -Wl,--stack-first -Wl,--strip-all -Wl,--gc-sections \
    -o "$tmp/page.wasm" "$here/page.c" -lwasi-emulated-signal || exit 1
gzip -9nc "$tmp/page.wasm" | base64 >"$tmp/page.b64" || exit 1

# Each line @FILE@ of page.html becomes that file.
version=$(sed -n 's/^.define MCAMP_VERSION_TEXT "\(.*\)"/\1/p' "$here/../../mcamp.h")
awk -v here="$here" -v tmp="$tmp" -v version="$version" '
    /^@[a-z0-9.]*@$/ {
        name = substr($0, 2, length($0) - 2)
        path = (name ~ /b64$/ ? tmp : here) "/" name
        while ((got = (getline line < path)) > 0) print line
        if (got < 0) { print "no " path | "cat >&2"; exit 1 }
        next
    }
    { gsub(/@version@/, version); print }' "$here/page.html" >"$out.part" || exit 1
mv "$out.part" "$out"
echo "$out: $(wc -c <"$out") bytes"
