/* The engine with threads: every part done once, the bits of one thread, and what happens when a thread stops. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "pool.h"
#include "seeded.h"
#include "tiny_model.h"

#define THREADS_MOST 8
#define WORK 1e6 /* enough for a region to be worth it */

/* ---- what wasm has instructions for -------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;

static atomic_int timed_sleeps;

void qkv_pool_sleep(int32_t *place, int32_t value, int64_t nanoseconds) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    if (nanoseconds >= 0) {
        atomic_fetch_add(&timed_sleeps, 1);
        until.tv_nsec += (long)nanoseconds;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    }
    pthread_mutex_lock(&lock);
    if (__atomic_load_n(place, __ATOMIC_SEQ_CST) == value) {
        if (nanoseconds < 0) pthread_cond_wait(&bell, &lock);
        else pthread_cond_timedwait(&bell, &lock, &until);
    }
    pthread_mutex_unlock(&lock);
}

void qkv_pool_wake(int32_t *place) {
    (void)place;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&bell);
    pthread_mutex_unlock(&lock);
}

/* ---- starting and ending workers ----------------------------------------------------------------------------- */

static pthread_t threads[THREADS_MOST];
static int started;

static void *work(void *slot) {
    qkv_pool_work((int32_t)(intptr_t)slot);
    return NULL;
}

static void start(int count) {
    const struct timespec moment = {0, 1000000};

    qkv_pool_set_slots(count);
    for (started = 1; started < count; started++) {
        pthread_create(&threads[started], NULL, work, (void *)(intptr_t)started);
    }
    while (qkv_pool_workers() < count - 1) nanosleep(&moment, NULL);
}

static void end(void) {
    qkv_pool_close();
    for (int i = 1; i < started; i++) pthread_join(threads[i], NULL);
    CHECK(qkv_pool_workers() == 0, "workers left: %d", (int)qkv_pool_workers());
}

/* ---- the pool alone ------------------------------------------------------------------------------------------ */

#define PARTS_MOST 200

typedef struct counts {
    atomic_int done[PARTS_MOST], busy[THREADS_MOST], clashes, most_slot;
} counts;

static void count_part(const void *region, int32_t part, int32_t slot) {
    counts *c = *(counts *const *)region;

    if (atomic_fetch_add(&c->busy[slot], 1) != 0) atomic_fetch_add(&c->clashes, 1);
    atomic_fetch_add(&c->done[part], 1);
    if (slot > atomic_load(&c->most_slot)) atomic_store(&c->most_slot, slot);
    for (volatile int i = 0; i < 200; i++) {
    }
    atomic_fetch_sub(&c->busy[slot], 1);
}

/* Whoever comes first waits for somebody else, long enough for the busiest machine. */
static void wait_for_company(const void *region, int32_t part, int32_t slot) {
    atomic_int *slots = *(atomic_int *const *)region;
    const struct timespec moment = {0, 1000000};

    (void)part;
    atomic_fetch_or(slots, 1 << slot);
    for (int i = 0; i < 5000; i++) {
        const int seen = atomic_load(slots);
        if ((seen & (seen - 1)) != 0) return;
        nanosleep(&moment, NULL);
    }
}

static void test_others_take_part(void) {
    for (int count = 2; count <= THREADS_MOST; count++) {
        atomic_int slots = 0, *shared = &slots;
        start(count);
        qkv_pool_run(wait_for_company, &shared, 2, WORK);
        const int seen = atomic_load(&slots);
        CHECK((seen & (seen - 1)) != 0, "%d threads: only one of them worked, slots %x", count, seen);
        end();
    }
}

static void test_every_part_is_done_once(void) {
    const struct timespec pause = {0, 300000};
    uint32_t seed = 5;

    for (int count = 1; count <= THREADS_MOST; count++) {
        static counts c;
        counts *shared = &c;
        int wrong = 0, total = 0;
        start(count);
        memset(&c, 0, sizeof c);
        for (int round = 0; round < 300; round++) {
            const int32_t parts = seeded_int(&seed, PARTS_MOST);
            for (int i = 0; i < PARTS_MOST; i++) atomic_store(&c.done[i], 0);
            qkv_pool_run(count_part, &shared, parts, WORK);
            for (int i = 0; i < PARTS_MOST; i++) wrong += atomic_load(&c.done[i]) != (i < parts);
            total += parts;
            if (round % 50 == 0) nanosleep(&pause, NULL); /* long enough for the others to fall asleep */
        }
        CHECK(wrong == 0, "%d threads: %d parts of %d not done once", count, wrong, total);
        CHECK(atomic_load(&c.clashes) == 0, "%d threads: %d parts shared a slot", count, atomic_load(&c.clashes));
        end();
    }
}

static void run_another(const void *region, int32_t part, int32_t slot) {
    (void)part;
    (void)slot;
    qkv_pool_run(count_part, region, 10, WORK);
}

static void test_what_is_done_alone(void) {
    static counts c;
    counts *shared = &c;

    start(2);
    CHECK(qkv_pool_parts(100, 1e3) == 1, "a small region is cut into %d", (int)qkv_pool_parts(100, 1e3));
    CHECK(qkv_pool_parts(100, 1e9) == 8, "a large one into %d", (int)qkv_pool_parts(100, 1e9));
    CHECK(qkv_pool_parts(3, 1e9) == 2, "parts are as many for each thread, got %d", (int)qkv_pool_parts(3, 1e9));
    qkv_pool_run(count_part, &shared, 50, 1e3);
    CHECK(atomic_load(&c.most_slot) == 0, "a small region woke slot %d", atomic_load(&c.most_slot));
    qkv_pool_run(run_another, &shared, 1, WORK);
    CHECK(atomic_load(&c.done[9]) == 2, "a region inside another: %d", atomic_load(&c.done[9]));
    end();
    CHECK(qkv_pool_parts(100, 1e9) == 1, "a closed pool cuts into %d", (int)qkv_pool_parts(100, 1e9));
    qkv_pool_run(count_part, &shared, 10, WORK);
    CHECK(atomic_load(&c.done[9]) == 3, "a closed pool does it alone: %d", atomic_load(&c.done[9]));
}

/* ---- the engine ---------------------------------------------------------------------------------------------- */

/* tiny_square, wide enough for a few rows to be worth cutting. */
static qkv_config wide_square(void) {
    qkv_config c = tiny_square;

    c.head_dim = 24;
    c.width = c.embed_width = 96;
    c.ffn = 250;
    return c;
}

/* All that a run can tell, as floats; returns how many. */
static size_t tell(const tiny_model *t, const int32_t *lengths, int sequences, float *out) {
    const qkv_config *c = &t->config;
    const qkv_kind kind = tiny_kind(c);
    qkv_run *run = tiny_run(t, (qkv_input){.lengths = lengths, .sequences = sequences}, 7, c->layers);
    qkv_error err = {QKV_OK, "", 0, 0};
    size_t n = 0;

    for (int s = 0; s < sequences; s++) {
        for (int l = 0; l < c->layers; l++) {
            CHECK(qkv_get_stage(run, kind, l, 0, QKV_STAGE_HIDDEN, s, out + n, &err) == QKV_OK, "%s", err.what);
            n += (size_t)(lengths[s] * c->width);
            CHECK(qkv_get_stage(run, kind, l, 0, QKV_STAGE_OUTPUT, s, out + n, &err) == QKV_OK, "%s", err.what);
            n += (size_t)(lengths[s] * c->width);
        }
        const int32_t cells = lengths[s] < 32 ? lengths[s] : 32;
        float *stats = out + n + c->layers * c->heads * cells * cells;
        CHECK(qkv_overview(run, kind, s, 32, NULL, out + n, stats, &err) == QKV_OK, "%s", err.what);
        n += (size_t)(c->layers * c->heads * (cells * cells + 7));
        if (c->head_rows == 0) continue;
        CHECK(qkv_logits(run, s, -1, out + n, &err) == QKV_OK, "%s", err.what);
        n += (size_t)c->head_rows;
    }
    free(run);
    return n;
}

static void compare_engine(const char *name, qkv_config config, qkv_precision precision, const int32_t *lengths,
                           int sequences) {
    float *alone = malloc(4u << 20), *shared = malloc(4u << 20);
    tiny_model t = tiny_make(config, precision, 3);

    qkv_pool_set_slots(1);
    const size_t n = tell(&t, lengths, sequences, alone);
    for (int count = 2; count <= THREADS_MOST; count++) {
        start(count);
        CHECK(tell(&t, lengths, sequences, shared) == n && check_same_bits(alone, shared, n),
              "%s, precision %d, %d + ... tokens: %d threads", name, (int)precision, (int)lengths[0], count);
        end();
    }
    tiny_free(&t);
    free(alone);
    free(shared);
}

static void test_the_engine_has_the_same_bits(void) {
    static const int32_t one[] = {150}, few[] = {20}, ragged[] = {9, 150, 1, 61};

    for (int p = 0; p < QKV_PRECISION_COUNT; p++) {
        compare_engine("square", wide_square(), (qkv_precision)p, one, 1);
        compare_engine("square", wide_square(), (qkv_precision)p, few, 1);
        compare_engine("square", wide_square(), (qkv_precision)p, ragged, 4);
        compare_engine("decoder", tiny_decoder, (qkv_precision)p, one, 1);
        compare_engine("relative", tiny_relative, (qkv_precision)p, ragged, 4);
    }
}

#define QUERIES 90
#define KEYS 70
#define DIM 20
#define OUTPUTS 80

/* Attention with `heads` heads on `kv_heads`, its context and weights; then a linear map of the context. */
static void apply_operators(int heads, int kv_heads, float *out) {
    const size_t query_size = (size_t)(heads * QUERIES * DIM), key_size = (size_t)(kv_heads * KEYS * DIM);
    float *query = malloc(query_size * sizeof *query), *key = malloc(2 * key_size * sizeof *key);
    uint32_t seed = 11;
    qkv_error err = {QKV_OK, "", 0, 0};
    qkv_map *map = NULL;

    seeded_fill(&seed, query, query_size, 1.0f);
    seeded_fill(&seed, key, 2 * key_size, 1.0f);
    const qkv_operator op = {.query = query,
                             .key = key,
                             .value = key + key_size,
                             .out = out,
                             .stage_out = out + query_size,
                             .stage = QKV_STAGE_WEIGHTS,
                             .batch = 1,
                             .heads = heads,
                             .kv_heads = kv_heads,
                             .queries = QUERIES,
                             .keys = KEYS,
                             .key_dim = DIM,
                             .value_dim = DIM,
                             .query_head_stride = QUERIES * DIM,
                             .query_row_stride = DIM,
                             .key_head_stride = KEYS * DIM,
                             .key_row_stride = DIM,
                             .value_head_stride = KEYS * DIM,
                             .value_row_stride = DIM,
                             .out_head_stride = QUERIES * DIM,
                             .out_row_stride = DIM,
                             .causal = 1,
                             .window_left = -1,
                             .window_right = -1,
                             .scale = 0.3f};
    const size_t bytes = qkv_attend_bytes(&op, &err);
    void *scratch = aligned_alloc(16, bytes);
    CHECK(qkv_attend(&op, scratch, bytes, &err) == QKV_OK, "%s", err.what);

    const size_t map_bytes = qkv_map_bytes(OUTPUTS, DIM, &err);
    void *memory = aligned_alloc(16, map_bytes);
    qkv_map_create(&map, memory, map_bytes, OUTPUTS, DIM, query, NULL, &err);
    float *y = out + query_size + (size_t)(heads * QUERIES * KEYS);
    CHECK(qkv_map_apply(map, query, heads * QUERIES, y, &err) == QKV_OK, "%s", err.what);
    free(scratch);
    free(memory);
    free(query);
    free(key);
}

static void test_operators_have_the_same_bits(void) {
    static const int shapes[][2] = {{1, 1}, {6, 6}, {8, 2}};

    for (int i = 0; i < 3; i++) {
        const int heads = shapes[i][0], kv_heads = shapes[i][1];
        const size_t n = (size_t)(heads * QUERIES) * (DIM + KEYS + OUTPUTS);
        float *alone = malloc(n * sizeof *alone), *shared = malloc(n * sizeof *shared);
        qkv_pool_set_slots(1);
        apply_operators(heads, kv_heads, alone);
        for (int count = 2; count <= THREADS_MOST; count++) {
            start(count);
            apply_operators(heads, kv_heads, shared);
            CHECK(check_same_bits(alone, shared, n), "%d heads on %d: %d threads", heads, kv_heads, count);
            end();
        }
        free(alone);
        free(shared);
    }
}

/* ---- a thread that stops ------------------------------------------------------------------------------------- */

static atomic_int is_held, go_on, parts_done;

/* Worker threads stop in their first part, the caller waits for one to do so. */
static void hold_workers(const void *region, int32_t part, int32_t slot) {
    const struct timespec moment = {0, 1000000};

    (void)region;
    (void)part;
    if (slot > 0) atomic_store(&is_held, 1);
    while (slot > 0 && !atomic_load(&go_on)) nanosleep(&moment, NULL);
    while (!atomic_load(&is_held)) nanosleep(&moment, NULL);
    atomic_fetch_add(&parts_done, 1);
}

static void count_done(const void *region, int32_t part, int32_t slot) {
    (void)region;
    (void)part;
    CHECK(slot == 0, "slot %d works in a closed pool", (int)slot);
    atomic_fetch_add(&parts_done, 1);
}

static void test_a_stopped_thread_is_noticed(void) {
    start(3);
    const int before = atomic_load(&timed_sleeps);
    qkv_pool_run(hold_workers, NULL, 8, WORK);
    const int sleeps = atomic_load(&timed_sleeps) - before;
    CHECK(sleeps >= 50 && sleeps <= 1000, "the caller slept %d times before it gave a thread up", sleeps);
    qkv_pool_run(count_done, NULL, 8, WORK);
    CHECK(atomic_load(&parts_done) < 8, "%d parts are done before the loss is told", atomic_load(&parts_done));
    CHECK(qkv_pool_lost() == 1 && qkv_pool_lost() == 0, "the loss is told once");
    atomic_store(&parts_done, 0);
    qkv_pool_run(count_done, NULL, 8, WORK);
    CHECK(atomic_load(&parts_done) == 8, "%d parts of 8 afterwards", atomic_load(&parts_done));
    atomic_store(&go_on, 1);
    end();
}

static void *trap(void *slot) {
    qkv_pool_trapped();
    return slot;
}

static void test_a_trap_is_noticed(void) {
    pthread_t trapping;

    atomic_store(&go_on, 0);
    atomic_store(&is_held, 0);
    start(2);
    pthread_create(&trapping, NULL, trap, NULL);
    qkv_pool_run(hold_workers, NULL, 4, WORK);
    CHECK(qkv_pool_lost() == 2, "the loss is told, and that it is a trap");
    pthread_join(trapping, NULL);
    atomic_store(&go_on, 1);
    end();
}

int main(void) {
    test_others_take_part();
    test_every_part_is_done_once();
    test_what_is_done_alone();
    test_the_engine_has_the_same_bits();
    test_operators_have_the_same_bits();
    test_a_stopped_thread_is_noticed();
    test_a_trap_is_noticed();
    return check_summary("threads");
}
