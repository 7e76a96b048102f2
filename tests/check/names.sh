#!/bin/sh
# Tools that read the source see every function of the header: no macro call stands at
# file level without a semicolon (it would swallow the next function), and ctags and
# cscope, where they are installed, know each name.
. "$(dirname "$0")/lib.sh"

# Calls at file level, but for the kernels' names: MCAMP__K(name)(arguments) is a function.
text=$(awk '!more && /^[A-Z][A-Z0-9_]*\([^()]*\)[ \t]*$/ { print FILENAME ":" NR ": " $0 }
            { more = /\\$/ }' mcamp.h)
if [ -z "$text" ]; then ok; else bad "macro calls at file level" "$text"; fi

# A function is defined where a line begins with a word and the next "{" of column 1, or
# the "{" of the same line, begins its body; its name is the word before the first "(".
awk '/^[A-Za-z_].*\(/ && !/;[ \t]*$/ {
         name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
         if (/\{.*\}[ \t]*$/) print name
     }
     /^\{/ { print name }' mcamp.h | sort -u >"$out/functions"
count=$(wc -l <"$out/functions")
if [ "$count" -gt 500 ]; then ok; else bad "only $count functions found"; fi

if have ctags; then
    ctags -f - --c-kinds=f --languages=C --langmap=C:.h mcamp.h 2>"$out/ctags.err" |
        cut -f 1 | sort -u >"$out/tags.c"
    text=$(comm -23 "$out/functions" "$out/tags.c")
    if [ -z "$text" ]; then ok; else bad "ctags does not see" "$text"; fi
else skip "ctags" ctags; fi

if have cscope; then
    echo mcamp.h >"$out/cscope.files"
    cscope -b -k -c -f "$out/cscope.out" -i "$out/cscope.files"
    tr -d '\001-\010\016-\037' <"$out/cscope.out" |
        sed -n 's/^	\$//p' | sort -u >"$out/cscope.names"
    text=$(comm -23 "$out/functions" "$out/cscope.names")
    if [ -z "$text" ]; then ok; else bad "cscope does not see" "$text"; fi
else skip "cscope" cscope; fi
done_checks check-names
