/* pool.h - a region of work cut into parts that do not depend on each other, done by all threads of the engine.
 *
 * The calling thread takes part. Worker threads enter qkv_pool_work once and stay in there: between regions they spin for
 * some tens of microseconds, then sleep until the next one. Parts are taken one by one from a counter, so that a thread
 * that is held up delays only the part it has. No part changes the order of a sum, so the bits are those of one thread.
 *
 * Without QKV_THREADS all of this is a plain loop. A part that starts a region of its own does it alone. */
#ifndef QKV_POOL_H
#define QKV_POOL_H

#include <stdint.h>

/* One part of a region, in [0, parts). slot: the thread that does it, in [0, qkv_pool_slots()), for scratch of its own. */
typedef void qkv_part(const void *region, int32_t part, int32_t slot);

#define QKV_THREADS_MAX 16 /* of an engine that has threads, the caller's included */

#ifdef QKV_THREADS

#define QKV_SLOTS_MAX QKV_THREADS_MAX

/* Threads that may work at once, the caller's included. */
int32_t qkv_pool_slots(void);

/* Into how many parts a region of `work` multiplications and additions is best cut, at most `most`: 1 when it is too small
 * to be worth waking others for, or when there are none. */
int32_t qkv_pool_parts(int32_t most, double work);

/* Does all parts. After a thread was lost in the middle of one the region is left unfinished, see qkv_pool_lost. */
void qkv_pool_run(qkv_part *part, const void *region, int32_t parts, double work);

/* Opens the pool with 1 .. QKV_SLOTS_MAX slots and no worker, those of before having left or been ended from outside. Models,
 * runs and scratch are laid out for so many: once some are there, the number stays. */
void qkv_pool_set_slots(int32_t slots);
/* A worker's life, from its start to qkv_pool_close. slot: 1 .. slots - 1, each for one worker. */
void qkv_pool_work(int32_t slot);
/* Workers that are in there. */
int32_t qkv_pool_workers(void);
/* Lets the workers out; whatever comes later is done by the caller alone. */
void qkv_pool_close(void);
/* Says that a worker has trapped: its part will never be finished. */
void qkv_pool_trapped(void);
/* Not 0 when a region since the last call was left unfinished, 2 when a worker trapped. The pool is then closed. */
int32_t qkv_pool_lost(void);

#ifndef __wasm__
/* What wasm has instructions for, and a native program that wants threads must bring: sleep while *place is value, for
 * some nanoseconds at most (below 0: without end); wake all that sleep there. */
void qkv_pool_sleep(int32_t *place, int32_t value, int64_t nanoseconds);
void qkv_pool_wake(int32_t *place);
#endif

#else

#define QKV_SLOTS_MAX 1

static inline int32_t qkv_pool_slots(void) {
    return 1;
}

static inline int32_t qkv_pool_parts(int32_t most, double work) {
    (void)most;
    (void)work;
    return 1;
}

static inline void qkv_pool_run(qkv_part *part, const void *region, int32_t parts, double work) {
    (void)work;
    for (int32_t i = 0; i < parts; i++) part(region, i, 0);
}

static inline int32_t qkv_pool_lost(void) {
    return 0;
}

#endif

/* The first of `count` rows that belong to a part, when each gets about as many. */
static inline int32_t qkv_pool_first(int32_t count, int32_t part, int32_t parts) {
    return (int32_t)((int64_t)count * part / parts);
}

#endif
