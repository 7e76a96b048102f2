/* An allocator that counts, checks and fails on request; include after mcamp.h
 * and mcamp_test.h.
 *
 *     static mcamp_status work(mcamp_ctx *ctx, void *user)   // allocates through
 *     { ... }                                                // ctx, frees it all
 *     mt_all_faults("what it is", work, user);
 *
 * runs work once undisturbed, then with the k-th allocation failing alone, and
 * with all from the k-th on failing, for every k.  Checked: the status is the
 * undisturbed one or MCAMP_E_MEMORY, never a success after a failed allocation
 * that was needed; nothing leaks; nothing is freed twice, with another size, or
 * written beyond its end.                                                     */
#ifndef MCAMP_FAULT_H
#define MCAMP_FAULT_H

typedef struct mt_fault {
    size_t calls;           /* allocations asked for                          */
    size_t fail_at;         /* this one fails, counted from 1; 0 = none       */
    int from;               /* and all that follow                            */
    size_t failed;          /* how many were refused                          */
    size_t live, bytes;     /* blocks and bytes not freed yet                 */
    size_t peak;            /* most bytes at once                             */
    size_t misuse;          /* frees with a wrong size, overwritten ends      */
} mt_fault;

#define MT_FAULT_HEAD 32    /* keeps the alignment of malloc */
#define MT_FAULT_TAIL 16
#define MT_FAULT_BYTE 0xa5

MT_FN void *mt_fault_alloc(void *user, size_t size)
{
    mt_fault *f = (mt_fault *)user;
    unsigned char *p;
    f->calls++;
    if (f->fail_at && (f->calls == f->fail_at || (f->from && f->calls > f->fail_at))) {
        f->failed++;
        return NULL;
    }
    p = (unsigned char *)malloc(size + MT_FAULT_HEAD + MT_FAULT_TAIL);
    if (!p) return NULL;
    memcpy(p, &size, sizeof size);
    memset(p + MT_FAULT_HEAD, 0xcd, size);
    memset(p + MT_FAULT_HEAD + size, MT_FAULT_BYTE, MT_FAULT_TAIL);
    f->live++;
    f->bytes += size;
    if (f->bytes > f->peak) f->peak = f->bytes;
    return p + MT_FAULT_HEAD;
}

MT_FN void mt_fault_free(void *user, void *q, size_t size)
{
    mt_fault *f = (mt_fault *)user;
    unsigned char *p = (unsigned char *)q - MT_FAULT_HEAD;
    size_t had;
    memcpy(&had, p, sizeof had);
    if (had != size) f->misuse++;
    for (size_t i = 0; i < MT_FAULT_TAIL; i++)
        if (p[MT_FAULT_HEAD + had + i] != MT_FAULT_BYTE) { f->misuse++; break; }
    f->live--;
    f->bytes -= had;
    free(p);
}

/* A context on the allocator; desc may be NULL, its alloc is replaced. */
MT_FN mcamp_status mt_fault_ctx(mt_fault *f, const mcamp_ctx_desc *desc, mcamp_ctx *ctx)
{
    mcamp_ctx_desc d;
    memset(&d, 0, sizeof d);
    if (desc) d = *desc;
    d.alloc.alloc = mt_fault_alloc;
    d.alloc.free = mt_fault_free;
    d.alloc.user = f;
    return mcamp_ctx_init(ctx, &d);
}

typedef mcamp_status (*mt_work)(mcamp_ctx *ctx, void *user);

/* One run with the given fault; 1 if everything is as it should be. */
MT_FN int mt_one_fault(const char *what, mt_work work, void *user, size_t fail_at,
                       int from, mcamp_status want, size_t *calls)
{
    mt_fault f;
    mcamp_ctx ctx;
    mcamp_status st;
    char text[200];
    int ok;
    memset(&f, 0, sizeof f);
    f.fail_at = fail_at;
    f.from = from;
    if (mt_fault_ctx(&f, NULL, &ctx) != MCAMP_OK) return 0;
    st = work(&ctx, user);
    *calls = f.calls;
    ok = f.live == 0 && f.misuse == 0 &&
         (st == MCAMP_E_MEMORY ? f.failed > 0 : st == want);
    snprintf(text, sizeof text, "%s: allocation %lu failing%s: status %d, %lu blocks "
             "left, %lu misused", what, (unsigned long)fail_at, from ? " and on" : "",
             (int)st, (unsigned long)f.live, (unsigned long)f.misuse);
    mt_check(ok, __FILE__, __LINE__, text);
    return ok;
}

/* The same for at most `most` values of k, evenly spread.  Returns the number of
 * allocations of an undisturbed run.                                             */
MT_FN size_t mt_some_faults(const char *what, mt_work work, void *user, size_t most)
{
    size_t calls = 0, ignored, step;
    mcamp_ctx ctx;
    mcamp_status want = MCAMP_E_INTERNAL;
    if (mcamp_ctx_init(&ctx, NULL) == MCAMP_OK) want = work(&ctx, user);
    mt_one_fault(what, work, user, 0, 0, want, &calls);
    step = calls > most ? (calls + most - 1) / most : 1;
    for (size_t k = 1; k <= calls; k += step) {
        if (!mt_one_fault(what, work, user, k, 0, want, &ignored)) break;
        if (!mt_one_fault(what, work, user, k, 1, want, &ignored)) break;
    }
    return calls;
}

MT_FN size_t mt_all_faults(const char *what, mt_work work, void *user)
{
    return mt_some_faults(what, work, user, (size_t)-1);
}

#endif
