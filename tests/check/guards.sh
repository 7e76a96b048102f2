#!/bin/sh
# Every public function sets the floating-point environment first (section base says why),
# but for those below, which compute nothing that it could change.
. "$(dirname "$0")/lib.sh"
awk '
    BEGIN { n = split("last_error strerror version parallel_threads " \
                      "rng_seed rng_stream rng_next rng_uniform " \
                      "mech_free gram_free sampler_free noise_free batch_free work_free " \
                      "wipe key_wipe key_init key_random key_derive key_id key_insecure_test", a, " ")
            for (i = 1; i <= n; i++) free["mcamp_" a[i]] = 1 }
    /^MCAMP_API / { name = ""; inside = 1 }
    inside && name == "" && match($0, /mcamp_[a-z0-9_]*\(/) { name = substr($0, RSTART, RLENGTH - 1) }
    inside && /;[ \t]*$/ { inside = 0 }
    inside && /^\{/ { inside = 0; getline; guarded = $0 ~ /^    MCAMP__GUARD;$/
                      if (guarded == (name in free)) print name; found++ }
    END { if (found < 50) print "only " found + 0 " public functions found" }' mcamp.h >"$out/unguarded"
if [ -s "$out/unguarded" ]; then bad "begin with MCAMP__GUARD (or listed for nothing): $(cat "$out/unguarded")"
else ok; fi
done_checks check-guards
