#!/bin/sh
# The header under other names, elsewhere, behind a link, inside other files, without
# vector code, and for compilers that do not know __FILE_NAME__: it compiles and works
# everywhere, with the wide kernels wherever it is a file that can be read again.
. "$(dirname "$0")/lib.sh"
header=$PWD/mcamp.h
program=$PWD/tests/compile/place.c
dir=$out/place
rm -rf "$dir"
mkdir -p "$dir/sub/deep" "$dir/other"
dir=$(cd "$dir" && pwd)

cp mcamp.h "$dir/renamed.hpp"
cp mcamp.h "$dir/sub/deep/mcamp.h"
echo '#error "another file of that name"' >"$dir/other/mcamp.h"
echo '#error "another file of that name"' >"$dir/mcamp.h"
ln -s "$header" "$dir/sub/linked.h"
sed 's/$/\r/' mcamp.h >"$dir/crlf.h"
{ echo '/* Somebody else owns this copy. */'; cat mcamp.h; } >"$dir/owned.h"
{ echo '#ifndef ALL_H'; echo '#define ALL_H'; echo 'enum { before = 1 };'; cat mcamp.h
  echo 'enum { behind = 2 };'; echo '#endif'; } >"$dir/all.h"
{ echo '#define MCAMP_IMPLEMENTATION'; cat mcamp.h "$program"; } >"$dir/pasted.c"
cat mcamp.h "$program" >"$dir/top.c"
{ cat mcamp.h; echo 'enum { behind = 2 };'; } >"$dir/top.h"

# place NAME EXPECTED ARGUMENTS: compiled in $dir, run with what is expected
place() {
    name=$1; expected=$2; shift 2
    try "$cc: $name" sh -c 'cd "$1" && shift && expected=$1 && shift && "$@" -lm -o place &&
        ./place "$expected"' sh "$dir" "$expected" $cc "$@"
}

for cc in $(compilers "$CC" gcc "$CLANG"); do
    c="-std=c99 -Wall -Wextra -Werror"
    place "as it is" best $c -DHEADER="\"$header\"" "$program"
    place "another name" best $c -DHEADER='"renamed.hpp"' -I. "$program"
    place "another name, found by -I" best $c -DHEADER='<renamed.hpp>' -I. "$program"
    place "deep down" best $c -DHEADER='"sub/deep/mcamp.h"' -I. -Iother "$program"
    place "a link" best $c -DHEADER='<linked.h>' -Isub "$program"
    place "other line ends" best $c -DHEADER='"crlf.h"' -I. "$program"
    place "a line before" baseline $c -DHEADER='"owned.h"' -I. "$program"
    place "a line before, sure" best $c -DMCAMP_VECTOR=2 -DHEADER='"owned.h"' -I. "$program"
    place "amalgamated" baseline $c -DHEADER='"all.h"' -I. "$program"
    place "on top of another" baseline $c -DMCAMP_VECTOR=1 -DHEADER='"top.h"' -I. "$program"
    place "pasted" baseline $c pasted.c
    place "pasted on top" baseline $c -DMCAMP_IMPLEMENTATION top.c
    place "no vectors, another name" baseline $c -DMCAMP_VECTOR=0 -DHEADER='"renamed.hpp"' \
        -I. "$program"
    place "old compiler" best $c -U__FILE_NAME__ -Wno-builtin-macro-redefined \
        -DHEADER="\"$dir/renamed.hpp\"" "$program"
    place "old compiler, not found" baseline $c -U__FILE_NAME__ -Wno-builtin-macro-redefined \
        -DHEADER='<linked.h>' -Isub "$program"
    place "old compiler, no vectors" baseline $c -DMCAMP_VECTOR=0 -U__FILE_NAME__ \
        -Wno-builtin-macro-redefined -DHEADER='"renamed.hpp"' -I. "$program"
done
done_checks check-place
