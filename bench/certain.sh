#!/bin/sh
# What a proof without any error probability costs: sigma of each bound of "mcamp sigma --certain"
# beside the certified one, as the table of bench/README.md.  n = 2048, b = 128, delta = 1e-5,
# square-root C; a few minutes on one core.       sh bench/certain.sh [BANDS...]
tool=${BUILD:-build}/mcamp
[ -x "$tool" ] || { echo "certain: no $tool: run make first" >&2; exit 2; }
[ $# -gt 0 ] || set -- 1 16 64 256
echo '| bands | eps | unamplified | Renyi | conditional | split | quiet | certified |'
echo '|---|---|---|---|---|---|---|---|'
for bands; do
    for eps in 0.5 1 2 4 8; do
        "$tool" sigma --rounds 2048 --batches 128 --eps $eps --delta 1e-5 --beta 1e-6 \
            --strategy "sqrt:$bands" --certain --certify --json |
        grep -o '"sigma": [0-9.e+-]*' | cut -d' ' -f2 |
        awk -v bands="$bands" -v eps=$eps '{ row = row sprintf(" %.4g |", $1) }
            END { print "| " bands " | " eps " |" row }'
    done
done
