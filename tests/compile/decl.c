/* Declarations only, the header first: it must need nothing before it. */
#include "../../mcamp.h"

int mcamp_test_decl(void);
int mcamp_test_decl(void) { return (int)sizeof(mcamp_ctx) + MCAMP_VERSION; }
