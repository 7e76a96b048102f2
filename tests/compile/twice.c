/* Included again and again, before and after the implementation. */
#include "../../mcamp.h"
#include "../../mcamp.h"
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
#include "../../mcamp.h"

int main(void) { return mcamp_version() != MCAMP_VERSION; }
