/* A parallel hook for mcamp_ctx_desc on POSIX threads: --threads. */
#ifndef TOOL_THREADS_H
#define TOOL_THREADS_H

#include "tool_options.h"

#include <pthread.h>

typedef struct thread_job {
    pthread_mutex_t lock;
    size_t next, ntask;
    void (*task)(void *arg, size_t i);
    void *arg;
} thread_job;

TOOL_FN void *thread_work(void *user)
{
    thread_job *job = (thread_job *)user;
    for (;;) {
        size_t i;
        pthread_mutex_lock(&job->lock);
        i = job->next < job->ntask ? job->next++ : job->ntask;
        pthread_mutex_unlock(&job->lock);
        if (i == job->ntask) return NULL;
        job->task(job->arg, i);
    }
}

/* user points to the number of threads; the caller is one of them, and does
 * everything alone if no other can be started.                                */
TOOL_FN void thread_run(void *user, size_t ntask, void (*task)(void *arg, size_t i), void *arg)
{
    enum { MOST = 64 };
    size_t wanted = *(const size_t *)user, started = 0;
    pthread_t thread[MOST];
    thread_job job;
    if (wanted > MOST) wanted = MOST;
    if (wanted > ntask) wanted = ntask;
    pthread_mutex_init(&job.lock, NULL);
    job.next = 0;
    job.ntask = ntask;
    job.task = task;
    job.arg = arg;
    while (started + 1 < wanted && !pthread_create(&thread[started], NULL, thread_work, &job))
        started++;
    thread_work(&job);
    for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&job.lock);
}

#endif
