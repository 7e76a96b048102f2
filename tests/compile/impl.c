/* The implementation, the header first. */
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
