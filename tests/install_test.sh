#!/bin/sh
# `make install` puts everything where programs look for it, `make uninstall` takes all of
# it away; a program is built by pkg-config, by CMake's find_package and by FetchContent.
build=${BUILD:-build}
tmp=$(cd "${TMPDIR:-/tmp}" && pwd)/mcamp_install.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
CC=${CC:-cc}
passed=0
failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }
check() { if "$@" >"$tmp/out" 2>&1; then ok; else bad "$*: $(tail -n 5 "$tmp/out")"; fi; }

MAKEFLAGS= MAKELEVEL=
export MAKEFLAGS MAKELEVEL
stage=$tmp/stage
prefix=/opt/m/camp
root=$stage$prefix
install() { make --no-print-directory BUILD="$build" -o "$build/mcamp" DESTDIR="$stage" PREFIX="$prefix" "$1"; }

check install install
version=$(sed -n 's/^.define MCAMP_VERSION_TEXT "\(.*\)"/\1/p' mcamp.h)
check cmp mcamp.h "$root/include/mcamp.h"
[ "$("$root/bin/mcamp" version)" = "mcamp $version" ] && ok || bad "the tool says another version"
for f in share/man/man1/mcamp.1 share/bash-completion/completions/mcamp \
    share/zsh/site-functions/_mcamp share/fish/vendor_completions.d/mcamp.fish; do
    [ -s "$root/$f" ] && ok || bad "no $f"
    # Every option of the tool is in it.
    sed 's/\\-/-/g; s/ -l / --/g' "$root/$f" >"$tmp/plain"
    for option in $("$build/mcamp" help | sed -n 's/^  \(--[a-z-]*\) .*/\1/p'); do
        grep -q -e "$option" "$tmp/plain" || bad "$f: no $option"
    done
    ok
done
bash=$(command -v bash) && check "$bash" -n "$root/share/bash-completion/completions/mcamp"
# No version is written down twice and differently.
for f in clib.json vcpkg/vcpkg.json vcpkg/portfile.cmake conan/conanfile.py; do
    grep -q "\"$version\"" "examples/packaging/$f" && ok || bad "$f: not version $version"
done

# Programs find it: what they ask for is moved to the scratch directory.
mkdir -p "$tmp/home"
cp -R "$root/." "$tmp/home"
sed "s|^prefix=.*|prefix=$tmp/home|" "$root/share/pkgconfig/mcamp.pc" >"$tmp/home/share/pkgconfig/mcamp.pc"
grep -q "^prefix=$prefix\$" "$root/share/pkgconfig/mcamp.pc" && ok || bad "pkg-config: wrong prefix"
cat >"$tmp/impl.c" <<'C'
#define MCAMP_IMPLEMENTATION
#include <mcamp.h>
C
cat >"$tmp/prog.c" <<'C'
#include <stdio.h>
#include <mcamp.h>
int main(void)
{
    mcamp_ctx ctx;
    double sigma = 0;
    if (mcamp_ctx_init(&ctx, NULL) < 0 || mcamp_gauss_sigma(&ctx, 1, 1, 1e-5, &sigma) < 0)
        return 1;
    printf("%s %.3f\n", MCAMP_VERSION_TEXT, sigma);
    return 0;
}
C
runs() { if [ "$("$@")" = "$version 3.731" ]; then ok; else bad "$*: $("$@" 2>&1)"; fi; }
missing() { [ -z "$MCAMP_NO_SKIP" ] && echo "SKIPPED: needs $1" || bad "needs $1"; }
# The implementation once, for all three.
if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH=$tmp/home/share/pkgconfig
    export PKG_CONFIG_PATH
    check $CC -O0 $(pkg-config --cflags mcamp) -c -o "$tmp/impl.o" "$tmp/impl.c"
    check $CC -O0 -o "$tmp/by_pkg" "$tmp/prog.c" "$tmp/impl.o" $(pkg-config --cflags --libs mcamp)
    runs "$tmp/by_pkg"
    [ "$(pkg-config --modversion mcamp)" = "$version" ] && ok || bad "pkg-config: wrong version"
else
    missing pkg-config
    check $CC -O0 "-I$tmp/home/include" -c -o "$tmp/impl.o" "$tmp/impl.c"
fi
cmakes() {
    mkdir -p "$tmp/$1"
    cp "$tmp/prog.c" "$tmp/$1"
    { echo "cmake_minimum_required(VERSION 3.14)"; echo "project(p C)"; cat "$tmp/how"
      echo "add_executable(prog prog.c $tmp/impl.o)"; echo "target_link_libraries(prog mcamp::mcamp)"
    } >"$tmp/$1/CMakeLists.txt"
    check cmake -S "$tmp/$1" -B "$tmp/$1/b" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_PREFIX_PATH=$tmp/home"
    check cmake --build "$tmp/$1/b"
    runs "$tmp/$1/b/prog"
}
if command -v cmake >/dev/null; then
    echo "find_package(mcamp $version REQUIRED)" >"$tmp/how"
    cmakes find
    printf 'include(FetchContent)\nFetchContent_Declare(mcamp SOURCE_DIR "%s" SOURCE_SUBDIR %s)\n%s\n' \
        "$(pwd)" examples/packaging "FetchContent_MakeAvailable(mcamp)" >"$tmp/how"
    cmakes fetch
else
    missing cmake
fi

check install uninstall
left=$(find "$stage" ! -type d)
[ -z "$left" ] && ok || bad "left by uninstall: $left"
echo "install: $passed passed, $failed failed"
[ $failed -eq 0 ]
