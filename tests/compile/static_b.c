#define MCAMP_STATIC
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"

int mcamp_test_static_b(void);
int mcamp_test_static_b(void) { return mcamp_version(); }
