#!/bin/sh
# Numbers about privacy leave by one road: from a guarantee, through section report.  In the
# header only functions that take a guarantee or a proof, or are named here, write numbers.
# In the tool and the examples a statement that formats a floating-point number, or puts one
# into JSON, and speaks of sigma, eps, delta and the like, fails unless it is listed below.
. "$(dirname "$0")/lib.sh"

words='sigma|eps|delta|rho[^a-z]|beta|lower|upper|bound|promise|certif|sensitivity|-DP'

# What is no claim: inputs in headings and messages, C's own values, what audits measure, by
# the two functions that call it a measured lower bound, and the claims that they compare, the
# papers' numbers and ours beside each other (the page says that nothing is claimed by it).
allowed='
formulas.c:printf\("sigma of a Gaussian mechanism for \(%g, %g\)-DP
formulas.c:printf\("eps at delta = %g
formulas.c:"mean of %g numbers by Laplace noise, %g-DP, on a sample
train_digits.c:promises eps %.9g, delta %g|, delta %g, %zu seeds|%-26s %5g "|eps %g: %s %s DP-SGD
tool_[a-z]*.h:bad_use\(
tool_audit.h:measured_text\(|"measured lower bound: epsilon|json_real\(j, "(epsilon_lower|delta)"
tool_audit.h:epsilon = %g at this delta|"epsilon_certified"|at confidence %g
tool_account.h:json_reals\(&j, "epsilon", c.x|json_real\(&j, "noise_ratio_at_least"
reproduce_[a-z0-9_]*.h:.
tool_svg.h:.'

for f in examples/*.c examples/*.h; do
    name=${f##*/}
    echo "$allowed" | awk -F: -v f="$name" 'NF > 1 { p = $1; sub(/^[^:]*:/, "")
        if (f ~ "^" p "$") print }' >"$out/allow"
    text=$(awk '
        !open && /%[-+ #0-9.*]*l?[aefgAEFG]|json_reals?\(|exact_text\(/ && !/TOOL_FN|% *[a-z]+->|-= e->/ {
            open = 1; s = NR ": " }
        open { line = $0; gsub(/\\n/, " ", line); gsub(/  +/, " ", line); s = s line
               if (/;/) { print s; open = 0 } }' "$f" |
        grep -E "$words" | grep -vEf "$out/allow")
    if [ -z "$text" ]; then ok; else bad "$f: a number, and no guarantee" "$text"; fi
done

# In the header: who writes a number.
text=$(awk '
    /^ \*  [A-Z].*>>record/ { on = 1 }
    !on { next }
    /^MCAMP_/ { head = $0; start = NR }
    /^[^ {}]/ || /^ {10}/ { if (NR > start) head = head $0 }
    /^\{/ { body = head; name = body; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    /^\}/ { body = "" }
    body != "" && /mcamp__(put_rounded|put_exact|json_number|json_numbers|put_cell_number|csv_number|rounded_text)\(/ {
        if (body ~ /const mcamp_(guarantee|proof) \*/) next
        print name ": " $0 }' mcamp.h |
    grep -vE '^mcamp__(put_exact|put_rounded|json_numbers?|visit_real|put_cell_number|csv_number|json_mech): ' |
    grep -vE '"[a-z_]*(rmse|error|clip_norm|grid)[a-z_]*"|unit\.(rmse|max)|->result\.(rmse|max_error)|\(double\)(size|row->[a-z_]*)|row->q[,)]|row->law \? row->q')
if [ -z "$text" ]; then ok; else bad "mcamp.h: a number, and no guarantee" "$text"; fi
grep -q '^MCAMP__PRIV void mcamp__put_field(' mcamp.h && ok || bad "section report is not where it was"
done_checks numbers
