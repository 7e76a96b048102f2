/* What a call leaves on its stack: stack_after(fn) runs fn in a thread whose stack is ours,
 * stack_holds(bytes, n) looks for them in what is left of it, stack_used(fn) says how much
 * fn took.  Not for valgrind and the sanitizers, to which that memory is nobody's: they have
 * MCAMP_TEST_QUICK set, and then nothing is ever found.                            */
#ifndef MCAMP_TEST_STACK_SCAN_H
#define MCAMP_TEST_STACK_SCAN_H

#ifndef __wasi__
#  include <pthread.h>
#endif

enum { STACK_SCAN = 1 << 19 };
static union { unsigned char byte[STACK_SCAN]; double align[2]; } stack_scan;

#ifdef __wasi__
MT_FN void stack_run(void (*fn)(void), int paint) { (void)paint; fn(); }
#else
static void *stack_scan_call(void *fn)
{
    void (*call)(void);
    memcpy(&call, fn, sizeof call);
    call();
    return NULL;
}

MT_FN void stack_run(void (*fn)(void), int paint)
{
    pthread_attr_t a;
    pthread_t t;
    if (getenv("MCAMP_TEST_QUICK")) { fn(); return; }
    memset(&stack_scan, paint, sizeof stack_scan);
    CHECK(!pthread_attr_init(&a) &&
          !pthread_attr_setstack(&a, &stack_scan, sizeof stack_scan) &&
          !pthread_create(&t, &a, stack_scan_call, &fn) && !pthread_join(t, NULL));
    pthread_attr_destroy(&a);
}

#endif

MT_FN void stack_after(void (*fn)(void)) { stack_run(fn, 0); }

MT_FN void stack_nothing(void) { }

MT_FN size_t stack_depth(void (*fn)(void))
{
    size_t i = 0;
    stack_run(fn, 0xa5);
    while (i < sizeof stack_scan && stack_scan.byte[i] == 0xa5) i++;
    return sizeof stack_scan - i;
}

/* Bytes of stack that fn takes, what a thread takes left out. */
MT_FN size_t stack_used(void (*fn)(void))
{
    size_t nothing = stack_depth(stack_nothing), all = stack_depth(fn);
    return getenv("MCAMP_TEST_QUICK") || all < nothing ? 0 : all - nothing;
}

MT_FN int stack_holds(const void *bytes, size_t n)
{
    if (getenv("MCAMP_TEST_QUICK")) return 0;
    for (size_t i = 0; i + n <= sizeof stack_scan; i += 4)
        if (!memcmp(stack_scan.byte + i, bytes, n)) return 1;
    return 0;
}

#endif
