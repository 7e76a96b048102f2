/* Names that platform headers define as macros must not disturb the header. */
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define near
#define far
#define ERROR 0
#define IN
#define OUT
#define TRUE 1
#define FALSE 0
#define _GNU_SOURCE 1
#define _USE_MATH_DEFINES
#define MCAMP_IMPLEMENTATION
#include "../../mcamp.h"
