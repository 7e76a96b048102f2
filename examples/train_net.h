/* A network of two layers, HIDDEN rectified units, ten classes, softmax loss; the
 * gradient of one example at a time, as clipping needs it.  One vector holds all
 * parameters: weights of layer 1 by inputs, its biases, the same for layer 2.    */
#ifndef TRAIN_NET_H
#define TRAIN_NET_H

#include <math.h>
#include <stddef.h>

#ifndef TRAIN_HIDDEN
#  define TRAIN_HIDDEN 128
#endif
enum { HIDDEN = TRAIN_HIDDEN, CLASSES = 10 };

static size_t net_dim(size_t inputs)
{
    return (inputs + 1) * HIDDEN + (HIDDEN + 1) * CLASSES;
}

/* Activations and class probabilities. */
static void net_forward(const float *w, size_t inputs, const float *x, float *hidden,
                        float *prob)
{
    const float *v = w + (inputs + 1) * HIDDEN;
    float top, sum = 0;
    for (int j = 0; j < HIDDEN; j++) hidden[j] = w[inputs * HIDDEN + (size_t)j];
    for (size_t i = 0; i < inputs; i++) {
        if (!(x[i] > 0 || x[i] < 0)) continue;
        for (int j = 0; j < HIDDEN; j++) hidden[j] += x[i] * w[i * HIDDEN + (size_t)j];
    }
    for (int c = 0; c < CLASSES; c++) prob[c] = v[HIDDEN * CLASSES + c];
    for (int j = 0; j < HIDDEN; j++) {
        if (!(hidden[j] > 0)) { hidden[j] = 0; continue; }
        for (int c = 0; c < CLASSES; c++) prob[c] += hidden[j] * v[j * CLASSES + c];
    }
    top = prob[0];
    for (int c = 1; c < CLASSES; c++) top = prob[c] > top ? prob[c] : top;
    for (int c = 0; c < CLASSES; c++) sum += prob[c] = expf(prob[c] - top);
    for (int c = 0; c < CLASSES; c++) prob[c] /= sum;
}

/* g = gradient of -log prob[label]. */
static void net_gradient(const float *w, size_t inputs, const float *x, int label, float *g)
{
    const float *v = w + (inputs + 1) * HIDDEN;
    float hidden[HIDDEN], back[HIDDEN], prob[CLASSES], *gv = g + (inputs + 1) * HIDDEN;
    net_forward(w, inputs, x, hidden, prob);
    prob[label] -= 1;
    for (int j = 0; j < HIDDEN; j++) {
        float sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            sum += prob[c] * v[j * CLASSES + c];
            gv[j * CLASSES + c] = hidden[j] * prob[c];
        }
        back[j] = hidden[j] > 0 ? sum : 0;
    }
    for (int c = 0; c < CLASSES; c++) gv[HIDDEN * CLASSES + c] = prob[c];
    for (size_t i = 0; i < inputs; i++)
        for (int j = 0; j < HIDDEN; j++) g[i * HIDDEN + (size_t)j] = x[i] * back[j];
    for (int j = 0; j < HIDDEN; j++) g[inputs * HIDDEN + (size_t)j] = back[j];
}

static int net_class(const float *w, size_t inputs, const float *x)
{
    float hidden[HIDDEN], prob[CLASSES];
    int best = 0;
    net_forward(w, inputs, x, hidden, prob);
    for (int c = 1; c < CLASSES; c++) best = prob[c] > prob[best] ? c : best;
    return best;
}

#endif
