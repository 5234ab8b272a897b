/* Handles against what they promise: a number leads to its object as long as that is there, and to nothing ever after. */
#include <stdlib.h>

#include "check.h"
#include "handles.h"
#include "seeded.h"

#define REGION ((size_t)8 << 20)

typedef struct table {
    unsigned char *memory;
    qkv_heap heap;
    qkv_handles handles;
} table;

static table *make_table(size_t bytes, uint32_t salt) {
    table *t = calloc(1, sizeof *t);
    t->memory = aligned_alloc(16, REGION);
    qkv_heap_init(&t->heap, t->memory, t->memory + bytes, NULL, NULL);
    t->handles.heap = &t->heap;
    t->handles.salt = salt;
    return t;
}

static void drop_table(table *t) {
    free(t->memory);
    free(t);
}

static qkv_handle add(table *t, qkv_handle_kind kind, qkv_handle parent) {
    void *object = NULL;
    const qkv_handle handle = qkv_handle_new(&t->handles, kind, parent, 48, &object);
    CHECK(!handle || (object && qkv_handle_object(&t->handles, handle, kind) == object), "handle %u", handle);
    return handle;
}

static void test_stale_and_foreign(void) {
    table *t = make_table(REGION, 0xABCDE), *other = make_table(REGION, 0x13579);
    const qkv_handle model = add(t, QKV_HANDLE_MODEL, 0), run = add(t, QKV_HANDLE_RUN, model);
    const qkv_handle foreign = add(other, QKV_HANDLE_MODEL, 0);

    CHECK(model && run && foreign && model != run && model != foreign, "%u %u %u", model, run, foreign);
    CHECK(!qkv_handle_object(&t->handles, run, QKV_HANDLE_MODEL), "a run is no model");
    CHECK(!qkv_handle_object(&t->handles, model, QKV_HANDLE_RUN), "a model is no run");
    CHECK(!qkv_handle_object(&t->handles, foreign, QKV_HANDLE_MODEL), "a model of another instance");
    CHECK(!qkv_handle_object(&t->handles, 0, QKV_HANDLE_MODEL), "no handle at all");
    CHECK(!qkv_handle_free(&t->handles, run, QKV_HANDLE_MODEL), "a run freed as a model");
    CHECK(qkv_handle_free(&t->handles, run, QKV_HANDLE_RUN), "a run freed");
    CHECK(!qkv_handle_free(&t->handles, run, QKV_HANDLE_RUN), "a run freed twice");
    const qkv_handle next = add(t, QKV_HANDLE_RUN, model);
    CHECK(next != run && !qkv_handle_object(&t->handles, run, QKV_HANDLE_RUN), "the place of a freed run, used again");
    CHECK(qkv_handle_free(&t->handles, model, QKV_HANDLE_MODEL), "a model freed");
    CHECK(!qkv_handle_object(&t->handles, next, QKV_HANDLE_RUN), "a run whose model is gone");
    CHECK(!qkv_handle_free(&t->handles, next, QKV_HANDLE_RUN), "a run freed behind its model");
    CHECK(t->heap.used == 0, "%zu bytes still given out", t->heap.used);
    drop_table(other);
    drop_table(t);
}

/* Any number: nothing but what was given out is found, and none of it leads outside of the table. */
static void test_numbers(void) {
    table *t = make_table(REGION, 77);
    const qkv_handle model = add(t, QKV_HANDLE_MODEL, 0);
    uint32_t seed = 5;

    for (int i = 0; i < 100000; i++) {
        const qkv_handle any = i < 4096 ? (uint32_t)i << (i % 21) : seeded_next(&seed);
        for (int kind = QKV_HANDLE_MODEL; kind <= QKV_HANDLE_MAP; kind++) {
            const int known = any == model && kind == QKV_HANDLE_MODEL;
            CHECK(!qkv_handle_object(&t->handles, any, (qkv_handle_kind)kind) == !known, "%u is taken", any);
        }
    }
    drop_table(t);
}

/* A model with more runs than the table begins with, beside another model whose runs stay. */
static void test_many(void) {
    static qkv_handle runs[2][1500];
    table *t = make_table(REGION, 3);
    const qkv_handle models[2] = {add(t, QKV_HANDLE_MODEL, 0), add(t, QKV_HANDLE_MODEL, 0)};

    for (int i = 0; i < 1500; i++) {
        for (int m = 0; m < 2; m++) runs[m][i] = add(t, QKV_HANDLE_RUN, models[m]);
    }
    for (int i = 0; i < 1500; i += 3) CHECK(qkv_handle_free(&t->handles, runs[0][i], QKV_HANDLE_RUN), "run %d", i);
    CHECK(qkv_handle_free(&t->handles, models[0], QKV_HANDLE_MODEL), "the model");
    for (int i = 0; i < 1500; i++) {
        CHECK(!qkv_handle_object(&t->handles, runs[0][i], QKV_HANDLE_RUN), "run %d of the model that is gone", i);
        CHECK(qkv_handle_object(&t->handles, runs[1][i], QKV_HANDLE_RUN), "run %d of the other model", i);
    }
    qkv_handle_free(&t->handles, models[1], QKV_HANDLE_MODEL);
    qkv_heap_free(&t->heap, t->handles.more, QKV_HANDLE_FREE);
    CHECK(t->heap.used == 0, "%zu bytes still given out", t->heap.used);
    drop_table(t);
}

/* A place that was used as often as can be counted is not used again, so no number comes twice. */
static void test_used_up(void) {
    enum { ROUNDS = 3 * 4095 + 5 };
    static qkv_handle seen[ROUNDS];
    table *t = make_table(REGION, 0);
    int twice = 0;

    for (int i = 0; i < ROUNDS; i++) {
        seen[i] = add(t, QKV_HANDLE_MAP, 0);
        qkv_handle_free(&t->handles, seen[i], QKV_HANDLE_MAP);
    }
    for (int i = 1; i < ROUNDS; i++)
        twice += seen[i] <= seen[i - 1] && seen[i] % (1u << 20) == seen[i - 1] % (1u << 20);
    CHECK(twice == 0 && t->handles.count == 4, "%d twice, %u places", twice, t->handles.count);
    for (int i = 0; i < ROUNDS; i++) CHECK(!qkv_handle_object(&t->handles, seen[i], QKV_HANDLE_MAP), "%u", seen[i]);
    drop_table(t);
}

static void test_no_memory(void) {
    table *t = make_table(16384, 0);
    int given = 0;

    while (add(t, QKV_HANDLE_RUN, 0)) given++;
    CHECK(given > 100 && given < 300, "%d objects of 64 bytes in 16384", given);
    CHECK(qkv_handle_free(&t->handles, (1u << 20) | 7, QKV_HANDLE_RUN), "one of them freed");
    CHECK(add(t, QKV_HANDLE_RUN, 0) == ((2u << 20) | 7), "its place used for the next");
    drop_table(t);
}

int main(void) {
    test_stale_and_foreign();
    test_numbers();
    test_many();
    test_used_up();
    test_no_memory();
    return check_summary("handles");
}
