/* Static mode in two translation units of one program (with static_b.c). */
#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"

int mcamp_test_static_b(void);
int main(void) { return mcamp_version() != mcamp_test_static_b(); }
