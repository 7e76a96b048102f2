#!/bin/sh
# Makes the switchable header from the rules beside this file, compiles the suites they name
# against it, and runs them on every bug: see README.md.  Run from the top directory, by
# `make mutants`, with CC, BUILD, JOBS and, for a part, PART=3/40 or ONLY=prefix.
CC=${CC:-cc}
JOBS=${JOBS:-2}
out=${BUILD:-build}/mutants
tree=$out/tree
flags="-std=c99 -O1 -w -pthread -DMCAMP_VECTOR=2"

die() { echo "mutants: $*" >&2; exit 2; }

# same NEW OLD: replaces OLD only by something else, so that nothing is compiled twice.
same() { if cmp -s "$1" "$2"; then rm -f "$1"; else mv -f "$1" "$2"; fi; }

# The sources with the bugs in; OLD keeps what has been compiled.
make_sources() {
    "$out/make_header" "$out/new" "$out/skip" tests/mutants/*.rules || die "no header"
    for f in mcamp.h examples/*.h examples/*.c; do
        [ -f "$out/new/$f" ] || cp "$f" "$out/new/$f"
    done
}

# Numbers of the bugs on lines where the compiler complains, or up to $1 lines below.
complaints() {
    "$CC" $flags -fsyntax-only -x c -DMCAMP_IMPLEMENTATION -DMCAMP_PTHREADS "$out/new/mcamp.h" 2>&1
    for f in mcamp reproduce; do "$CC" $flags -fsyntax-only "$out/new/examples/$f.c" 2>&1; done
}
suspects() {
    awk -F '\t' -v near="$1" -v at="$out/new/" 'NR == FNR { source[NR] = $1; a[NR] = $2; b[NR] = $3; k[NR] = $4; n = NR; next }
        { if (!match($0, /:[0-9]+:[0-9]+: (fatal )?error/)) next
          name = substr($0, 1, RSTART - 1); sub(/^.*\.\.\//, "", name)
          if (index(name, at) == 1) name = substr(name, length(at) + 1)
          line = substr($0, RSTART + 1) + 0
          for (i = 1; i <= n; i++) if (source[i] == name && a[i] <= line + near && line <= b[i]) print k[i] }' \
        "$out/new/lines" "$out/complaints" | sort -un
}

mkdir -p "$out/new/examples" "$tree/tests" "$tree/examples" "$out/bin" || exit 2
for f in make_header run; do
    [ "$out/$f" -nt "tests/mutants/$f.c" ] ||
        "$CC" -std=c99 -O1 -o "$out/$f" "tests/mutants/$f.c" || die "$f.c does not compile"
done
ls tests/mutants/*.rules >/dev/null 2>&1 || die "no rules"
: >"$out/skip"
for try in 1 2 3 4 5 6; do
    rm -f "$out"/new/*.h "$out"/new/examples/*
    make_sources
    complaints >"$out/complaints"
    grep -q 'error' "$out/complaints" || break
    suspects 0 >"$out/suspects"
    [ -s "$out/suspects" ] || suspects 9 >"$out/suspects"
    [ -s "$out/suspects" ] && [ $try -lt 6 ] || { cat "$out/complaints"; die "the header does not compile"; }
    cat "$out/suspects" >>"$out/skip"
done

# The tree that the suites are compiled in (a copy: "../mcamp.h" must be the one with bugs).
for f in mcamp.h examples/*.h examples/*.c; do
    [ -f "$out/new/$f" ] && same "$out/new/$f" "$tree/$f"
done
for f in tests/*.c tests/*.h; do cp "$f" "$out/new/copy"; same "$out/new/copy" "$tree/$f"; done
for d in examples/*/; do [ -d "$d" ] && cp -r "$d" "$tree/examples/"; done
newest=$(ls -t "$tree/mcamp.h" "$tree"/tests/*.h "$tree"/examples/*.h | head -n 1)

# Most suites share its objects.
[ "$out/split/first.o" -nt "$newest" ] && [ "$out/split/last.o" -nt "$newest" ] ||
    sh tests/check/split.sh "$tree/mcamp.h" "$out/split" "$CC" $flags ||
    die "no object"

# The part that was asked for.
awk -F '\t' -v part="$PART" -v only="$ONLY" '
    BEGIN { m = split(part, p, "/"); if (m != 2) { p[1] = 0; p[2] = 1 } }
    $1 % p[2] == p[1] % p[2] && index($3, only) == 1' "$out/new/plan" >"$out/part"
awk -F '\t' -v only="$ONLY" 'index($1, only) == 1 { print "does not apply: " $1 ": " $2 }' "$out/new/refused" |
    tee "$out/useless"

# compile SUITE
cat >"$out/compile.sh" <<END
f=\$1
case \$f in
reproduce_test) src=$tree/examples/reproduce.c; bin=$out/bin/reproduce ;;
*_test) src=$tree/examples/mcamp.c; bin=$out/bin/mcamp ;;
*) src=$tree/tests/\$f.c; bin=$out/bin/\$f ;;
esac
[ -f "\$src" ] || { echo "no suite \$f"; rm -f "\$bin"; exit 0; }
[ "\$bin" -nt "\$src" ] && [ "\$bin" -nt "$newest" ] && exit 0
impl=
case \$f in
api_*) impl="-DMCAMP_IMPLEMENTATION -x c $tree/mcamp.h -x none" ;;
test_secure|test_threads|test_train) ;;       # their own functions of the system, their own tile
test_*) impl="$out/split/first.o $out/split/last.o \$(cat $out/split/flags)" ;;
esac
$CC $flags -I$tree -o "\$bin" "\$src" \$impl -lm || { echo "\$f does not compile"; rm -f "\$bin"; }
END
cut -f 4 "$out/part" | tr -s ' ,' '\n\n' | sed 's/:.*//' | grep . | sort -u >"$out/suites"
xargs -P "$JOBS" -n 1 sh "$out/compile.sh" <"$out/suites"

exec "$out/run" "$out/part" "$out/bin" "$JOBS" "$(grep -c . "$out/useless")"
