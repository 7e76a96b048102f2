/* For fuzz targets: each defines fuzz_one(data, size) and nothing else.
 *
 * With MCAMP_LIBFUZZER (make fuzz) libFuzzer drives it; otherwise the program
 * has a main of its own: the files named on the command line, or, without any,
 * 20000 inputs from a fixed generator.                                        */
#ifndef MCAMP_FUZZ_H
#define MCAMP_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fuzz_one(const uint8_t *data, size_t size);

/* What a broken promise of the library does. */
#define FUZZ_CHECK(x) do { if (!(x)) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)

/* Values are taken from the front of the input; zero when it is used up. */
typedef struct fuzz_bytes { const uint8_t *p; size_t left; } fuzz_bytes;

static uint64_t fuzz_bits(fuzz_bytes *b, size_t bytes)
{
    uint64_t v = 0;
    while (bytes--) {
        v = v << 8 | (b->left ? *b->p : 0);
        if (b->left) { b->p++; b->left--; }
    }
    return v;
}

/* Often a plain number, sometimes any bit pattern, NaN and infinity included. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((unused))
#endif
static double fuzz_double(fuzz_bytes *b)
{
    uint64_t how = fuzz_bits(b, 1);
    double x;
    if (how < 160) return (double)(int)fuzz_bits(b, 2) / 4096.0;
    if (how < 220) return (double)(int)how - 190.0;
    how = fuzz_bits(b, 8);
    memcpy(&x, &how, sizeof x);
    return x;
}

#ifdef MCAMP_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_one(data, size);
    return 0;
}
#else
static void fuzz_file(const char *path)
{
    static uint8_t data[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t size;
    if (!f) { fprintf(stderr, "cannot read %s\n", path); exit(2); }
    size = fread(data, 1, sizeof data, f);
    fclose(f);
    fuzz_one(data, size);
}

int main(int argc, char **argv)
{
    uint64_t state = 1, run = 0;
    uint8_t data[512];
    const char *seconds = getenv("FUZZ_SECONDS");
    time_t end = time(NULL) + (seconds ? atol(seconds) : 0);
    for (int i = 1; i < argc; i++) fuzz_file(argv[i]);
    for (; argc < 2 && (seconds ? run % 256 || time(NULL) < end : run < 20000); run++) {
        size_t size;
        for (size_t i = 0; i < sizeof data; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            data[i] = (uint8_t)(state >> 56);
        }
        size = (size_t)(state >> 20) % sizeof data;
        fuzz_one(data, size);
    }
    if (argc < 2) printf("%llu executions\n", (unsigned long long)run);
    return 0;
}
#endif

#endif
