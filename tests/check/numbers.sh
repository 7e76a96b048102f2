#!/bin/sh
# Numbers about privacy leave by one road: from a guarantee, through section report.  In the
# header only functions that take a guarantee or a proof, or are named here, write numbers;
# in the tool and the examples every format of a floating-point number, and every number of
# their JSON, stands in the list below, which says what it is of: something else.
. "$(dirname "$0")/lib.sh"

# What they are of: errors of C, C's own values, times, pictures' axes, inputs as given in
# messages and headings, things that training and audits measure.
allowed='
formulas.c:printf\("sigma of a Gaussian mechanism for \(%g, %g\)-DP
formulas.c:printf\("eps at delta = %g
formulas.c:which is", order
formulas.c:"mean of %g numbers by Laplace noise, %g-DP, on a sample
formulas.c:static const char form\[\]
train_digits.c:promises eps %.9g, delta %g
train_digits.c:rate %-7g|images, %zu rounds|"-", "-", "-", p.rate|%-26s %5g "|%6zu %8.3f %6g|%.2f%% \+-
train_digits.c:eps %g: %s %s DP-SGD|why not better
tool_[a-z]*.h:bad_use\(
tool_[a-z]*.h:json_real\(&j, "(seconds|rmse|max_error|error_unit_noise|max_error_unit_noise)"
tool_account.h:json_real\(&j, "noise_ratio(_at_least)?"|"noise ratio %.8g
tool_account.h:json_reals\(&j, "(epsilon", x|value", lines)
tool_optimize.h:exact_text\(m->(theta|omega|coef|scale)\[
tool_optimize.h:json_reals\(j, "(theta|omega|coefficients|scale)"
tool_[a-z]*.h:rmse = %.6g|error for unit noise = %.6g|for unit noise: %.6g
tool_[a-z]*.h:iterations, %.2f s|rounds, %lu in an epoch; %.2f s|samples, seed %llu, %.2f s
tool_print.h:"%.\*g", digits, x|exact_text\(x(\[i\])?, buf|%3.0f%%|%s %.6g  "|s%.0f s
tool_session.h:"norm %.6g|of %.6g expected examples
tool_audit.h:.
tool_svg.h:.'

for f in examples/*.c examples/*.h; do
    name=${f##*/}
    echo "$allowed" | awk -F: -v f="$name" 'NF > 1 { p = $1; sub(/^[^:]*:/, "")
        if (f ~ "^" p "$") print }' >"$out/allow"
    text=$(grep -nE '%[-+ #0-9.*]*l?[aefgAEFG]|json_reals?\(|exact_text\(' "$f" |
        grep -vE 'TOOL_FN|% *[a-z]+->|-= e->' | grep -vEf "$out/allow")
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
    body != "" && /mcamp__(put_rounded|put_exact|json_number|json_numbers|put_cell_number)\(/ {
        if (body ~ /const mcamp_(guarantee|proof) \*/) next
        print name ": " $0 }' mcamp.h |
    grep -vE '^mcamp__(put_exact|json_numbers?|visit_real|put_cell_number|json_mech): ' |
    grep -vE '"(rmse|max_error|clip_norm|grid|estimated_rmse|estimated_max_error)"|unit\.(rmse|max)|->result\.(rmse|max_error)|\(double\)size')
if [ -z "$text" ]; then ok; else bad "mcamp.h: a number, and no guarantee" "$text"; fi
grep -q 'mcamp__put_field(' mcamp.h && ok || bad "section report is not where it was"
done_checks numbers
