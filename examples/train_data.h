/* Labelled images: the digits beside the examples, or Fashion-MNIST where Debian's
 * package has put it.  Pixels are scaled by numbers fixed in advance.            */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#  define IMAGES_UNUSED __attribute__((unused))
#else
#  define IMAGES_UNUSED
#endif

typedef struct images {
    float *x;                   /* pixels of image i from i * pixels on         */
    unsigned char *label;       /* 0 .. 9                                       */
    size_t count, pixels;
} images;

static void images_free(images *d)
{
    free(d->x);
    free(d->label);
    memset(d, 0, sizeof *d);
}

static int images_alloc(images *d, size_t count, size_t pixels)
{
    d->count = count;
    d->pixels = pixels;
    d->x = (float *)malloc(count * pixels * sizeof *d->x);
    d->label = (unsigned char *)malloc(count);
    return d->x && d->label;
}

/* A part of the images, sharing their memory. */
IMAGES_UNUSED static images images_part(const images *d, size_t first, size_t count)
{
    images p = *d;
    p.x = d->x + first * d->pixels;
    p.label = d->label + first;
    p.count = count;
    return p;
}

/* Lines of 64 pixels 0 .. 16 and a label.  1 if it worked. */
static int images_read_csv(images *d, const char *file)
{
    FILE *f = fopen(file, "r");
    char line[1024];
    size_t n = 0;
    if (!f || !images_alloc(d, 1797, 64)) {
        if (f) fclose(f);
        return 0;
    }
    while (n < d->count && fgets(line, (int)sizeof line, f)) {
        char *p = line;
        for (size_t i = 0; i <= d->pixels; i++, p++) {
            unsigned long v = strtoul(p, &p, 10);
            if (i < d->pixels) d->x[n * d->pixels + i] = ((float)v - 5) / 8;
            else               d->label[n] = (unsigned char)(v % 10);
        }
        n++;
    }
    fclose(f);
    return n == d->count;
}

static int images_digits(images *d)
{
    static const char *const file[] = { "examples/data/digits.csv", "data/digits.csv",
                                        "../examples/data/digits.csv" };
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        memset(d, 0, sizeof *d);
        if (images_read_csv(d, file[i])) return 1;
        images_free(d);
    }
    return 0;
}

#define FASHION_DIR "/usr/share/datasets/fashion-mnist/"

/* All of an IDX file, unpacked by gzip: `head` bytes are skipped. */
static int images_unpack(const char *name, size_t head, unsigned char *out, size_t size)
{
    char command[200];
    FILE *f;
    size_t got = 0;
    snprintf(command, sizeof command, "gzip -dc " FASHION_DIR "%s 2>/dev/null", name);
    f = popen(command, "r");
    if (!f) return 0;
    while (head && getc(f) != EOF) head--;
    if (!head) got = fread(out, 1, size, f);
    return pclose(f) == 0 && got == size;
}

static int images_idx(images *d, const char *x, const char *label, size_t count)
{
    unsigned char *raw = (unsigned char *)malloc(count * 784);
    int ok = images_alloc(d, count, 784) && raw && images_unpack(x, 16, raw, count * 784) &&
             images_unpack(label, 8, d->label, count);
    for (size_t i = 0; ok && i < count * 784; i++) d->x[i] = (float)raw[i] / 255;
    free(raw);
    if (!ok) images_free(d);
    return ok;
}

IMAGES_UNUSED static int images_fashion(images *train, images *test)
{
    memset(train, 0, sizeof *train);
    memset(test, 0, sizeof *test);
    if (!images_idx(train, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", 60000))
        return 0;
    if (images_idx(test, "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", 10000))
        return 1;
    images_free(train);
    return 0;
}

#endif
