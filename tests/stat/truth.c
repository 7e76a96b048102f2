/* test_truth.c with more samples and more strategies: some minutes. */
#define TRUTH_SAMPLES 2000000
#define TRUTH_CASES   40
#include "../test_truth.c"
