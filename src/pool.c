/* pool.c - the threads of the engine. See pool.h; without QKV_THREADS there is nothing here. */
#include "pool.h"

#ifdef QKV_THREADS

#define LEAST_WORK 3e5      /* a smaller region is done before the others are awake */
#define PARTS_A_THREAD 4    /* what one thread leaves the others can take, a part at a time */
#define SPINS 80000         /* looks at the epoch before a worker sleeps: some 30 microseconds, 0.4 nanoseconds each */
#define SLICE 20000000      /* nanoseconds that the caller sleeps at a time */
#define PATIENCE 100        /* slices without any part finished after which a thread counts as lost: 2 seconds, */
#define WORK_OF_A_SLICE 1e7 /* and as many more as the part would take at 0.5 GFLOP/s */
#define LINE __attribute__((aligned(64)))

/* Shared by all threads. Everything here is atomic but part and region, which are written before `left` and read after a
 * part was taken from it: until that part is finished the caller starts no other region. */
static struct {
    LINE int32_t epoch; /* raised by each region: what workers wait for */
    LINE int32_t left;  /* parts that no thread has taken yet; below 0 once a thread asked for one and there was none */
    LINE int32_t unfinished; /* parts that are not done */
    LINE int32_t workers;    /* in qkv_pool_work */
    int32_t sleepers;        /* workers that sleep, or are about to */
    int32_t caller_sleeps;
    int32_t active; /* a region is being worked on */
    int32_t closed;
    int32_t trapped;
    int32_t lost;
    int32_t slots;
    qkv_part *part;
    const void *region;
} pool = {.slots = 1};

static int32_t get(int32_t *place) {
    return __atomic_load_n(place, __ATOMIC_SEQ_CST);
}

static void set(int32_t *place, int32_t value) {
    __atomic_store_n(place, value, __ATOMIC_SEQ_CST);
}

/* Returns the value before. */
static int32_t add(int32_t *place, int32_t value) {
    return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);
}

static void wait_while(int32_t *place, int32_t value, int64_t nanoseconds) {
#ifdef __wasm__
    __builtin_wasm_memory_atomic_wait32(place, value, nanoseconds);
#else
    qkv_pool_sleep(place, value, nanoseconds);
#endif
}

static void wake_all(int32_t *place) {
#ifdef __wasm__
    __builtin_wasm_memory_atomic_notify(place, UINT32_MAX);
#else
    qkv_pool_wake(place);
#endif
}

/* ---- workers ------------------------------------------------------------------------------------------------ */

/* Does parts until none is left. */
static void take_parts(int32_t slot) {
    for (int32_t left; (left = add(&pool.left, -1)) > 0;) {
        pool.part(pool.region, left - 1, slot);
        if (add(&pool.unfinished, -1) == 1 && get(&pool.caller_sleeps)) wake_all(&pool.unfinished);
    }
}

/* The epoch, as soon as it is another than `seen`. */
static int32_t next_epoch(int32_t seen) {
    int32_t epoch = seen;

    for (int32_t i = 0; i < SPINS && epoch == seen; i++) epoch = get(&pool.epoch);
    if (epoch != seen) return epoch;
    /* Either the caller sees a sleeper after raising the epoch, or the sleeper sees the epoch raised. */
    add(&pool.sleepers, 1);
    while ((epoch = get(&pool.epoch)) == seen) wait_while(&pool.epoch, seen, -1);
    add(&pool.sleepers, -1);
    return epoch;
}

void qkv_pool_work(int32_t slot) {
    int32_t epoch = get(&pool.epoch);

    add(&pool.workers, 1);
    while (!get(&pool.closed)) {
        take_parts(slot);
        epoch = next_epoch(epoch);
    }
    add(&pool.workers, -1);
}

int32_t qkv_pool_workers(void) {
    return get(&pool.workers);
}

/* ---- the caller --------------------------------------------------------------------------------------------- */

static void raise_epoch(void) {
    add(&pool.epoch, 1);
    if (get(&pool.sleepers)) wake_all(&pool.epoch);
}

void qkv_pool_close(void) {
    set(&pool.closed, 1);
    raise_epoch();
}

void qkv_pool_trapped(void) {
    set(&pool.trapped, 1);
    wake_all(&pool.unfinished);
}

int32_t qkv_pool_lost(void) {
    const int32_t lost = pool.lost ? 1 + get(&pool.trapped) : 0;

    pool.lost = 0;
    return lost;
}

void qkv_pool_set_slots(int32_t slots) {
    pool.slots = slots < 1 ? 1 : slots > QKV_SLOTS_MAX ? QKV_SLOTS_MAX : slots;
    /* Workers that were ended from outside have counted themselves as whatever they were last. */
    set(&pool.left, 0);
    set(&pool.workers, 0);
    set(&pool.sleepers, 0);
    set(&pool.closed, 0);
    set(&pool.trapped, 0);
}

int32_t qkv_pool_slots(void) {
    return pool.slots;
}

/* Waits for the parts that others have taken. Nobody can ask a thread that is busy whether it lives, so one that
 * finishes nothing for far longer than a part takes counts as lost. Returns 0 then. */
static int wait_for_others(double work_of_a_part) {
    const int64_t patience = PATIENCE + (int64_t)(work_of_a_part / WORK_OF_A_SLICE);
    int32_t before = 0, now = 0;

    for (int32_t i = 0; i < SPINS; i++) {
        if (get(&pool.unfinished) == 0) return 1;
    }
    set(&pool.caller_sleeps, 1);
    for (int64_t idle = 0; idle < patience && !get(&pool.trapped); idle++) {
        now = get(&pool.unfinished);
        if (now == 0) break;
        if (now != before) idle = 0;
        before = now;
        wait_while(&pool.unfinished, now, SLICE);
    }
    set(&pool.caller_sleeps, 0);
    return get(&pool.unfinished) == 0;
}

static int is_alone(void) {
    return get(&pool.active) || get(&pool.closed) || get(&pool.workers) == 0;
}

int32_t qkv_pool_parts(int32_t most, double work) {
    int32_t parts = pool.slots * PARTS_A_THREAD;

    if (pool.slots == 1 || is_alone()) return 1;
    if (work < parts * LEAST_WORK) parts = (int32_t)(work / LEAST_WORK) + 1;
    if (parts > most) parts = most;
    if (parts > pool.slots) parts -= parts % pool.slots; /* as many for each */
    return parts < 1 ? 1 : parts;
}

void qkv_pool_run(qkv_part *part, const void *region, int32_t parts, double work) {
    if (pool.lost) return;
    if (parts < 2 || pool.slots == 1 || work < LEAST_WORK || is_alone()) {
        for (int32_t i = 0; i < parts; i++) part(region, i, 0);
        return;
    }
    pool.part = part;
    pool.region = region;
    set(&pool.active, 1);
    set(&pool.unfinished, parts);
    set(&pool.left, parts);
    raise_epoch();
    take_parts(0);
    if (!wait_for_others(work / parts)) {
        pool.lost = 1;
        qkv_pool_close();
    }
    set(&pool.active, 0);
}

#else

typedef int qkv_no_pool; /* a file without a declaration is not C */

#endif
