/* test_truth.c with more samples and more strategies: half a minute or so. */
#define TRUTH_SAMPLES 2000000
#define TRUTH_CASES   40
#include "../test_truth.c"
