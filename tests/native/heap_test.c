/* The free list against a plain model of it: blocks never overlap, merge when freed, and stay within what was needed. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "heap.h"
#include "seeded.h"

#define REGION (1u << 20)
#define BLOCKS 64

typedef struct region {
    unsigned char *memory;
    size_t size; /* valid bytes */
    int refuse;  /* the next grow fails */
    int grown;   /* times grow was asked */
} region;

static size_t grow(void *context, size_t bytes) {
    region *r = context;
    const size_t rounded = (bytes + 4095) / 4096 * 4096;

    r->grown++;
    if (r->refuse || rounded > REGION - r->size) return 0;
    r->size += rounded;
    return rounded;
}

static region make_region(void) {
    return (region){aligned_alloc(16, REGION), 4096, 0, 0};
}

static void test_random_use(void) {
    struct {
        unsigned char *at;
        size_t bytes;
        unsigned char mark;
    } blocks[BLOCKS] = {0};
    region r = make_region();
    uint32_t seed = 7;
    qkv_heap heap;

    qkv_heap_init(&heap, r.memory, r.memory + r.size, grow, &r);
    for (int step = 0; step < 20000; step++) {
        const int b = seeded_int(&seed, BLOCKS);
        if (blocks[b].at) {
            int intact = 1;
            for (size_t i = 0; i < blocks[b].bytes; i++) intact &= blocks[b].at[i] == blocks[b].mark;
            CHECK(intact, "block %d was written over", b);
            qkv_heap_free(&heap, blocks[b].at, 0);
            blocks[b].at = NULL;
            continue;
        }
        blocks[b].bytes = (size_t)seeded_int(&seed, 9000);
        blocks[b].mark = (unsigned char)step;
        blocks[b].at = qkv_heap_alloc(&heap, blocks[b].bytes, 0);
        if (!CHECK(blocks[b].at, "no room for %zu bytes", blocks[b].bytes)) continue;
        CHECK((size_t)blocks[b].at % 16 == 0, "block at %p", (void *)blocks[b].at);
        memset(blocks[b].at, blocks[b].mark, blocks[b].bytes);
    }
    for (int b = 0; b < BLOCKS; b++) qkv_heap_free(&heap, blocks[b].at, 0);
    CHECK(heap.used == 0, "%zu bytes still given out", heap.used);
    CHECK(qkv_heap_largest(&heap) == (size_t)(heap.end - heap.base) - 16, "all freed, largest block %zu of %zu",
          qkv_heap_largest(&heap), (size_t)(heap.end - heap.base));
    free(r.memory);
}

static void test_stays_flat(void) {
    region r = make_region();
    uint32_t seed = 8;
    qkv_heap heap;

    qkv_heap_init(&heap, r.memory, r.memory + r.size, grow, &r);
    qkv_heap_alloc(&heap, 100000, 0); /* a model that stays */
    qkv_heap_free(&heap, qkv_heap_alloc(&heap, 200000, 0), 0);
    const size_t size = r.size;
    for (int i = 0; i < 1000; i++) {
        void *run = qkv_heap_alloc(&heap, 100000 + (size_t)seeded_int(&seed, 100000), 0);
        void *row = qkv_heap_alloc(&heap, (size_t)seeded_int(&seed, 64), 0);
        CHECK(run != NULL, "run %d has no room", i);
        qkv_heap_free(&heap, run, 0);
        qkv_heap_free(&heap, row, 0);
    }
    CHECK(r.size <= size + 4096, "grew from %zu to %zu", size, r.size);
    free(r.memory);
}

static void test_refusals(void) {
    region r = make_region();
    qkv_heap heap;

    qkv_heap_init(&heap, r.memory, r.memory + r.size, grow, &r);
    CHECK(!qkv_heap_alloc(&heap, (size_t)-1, 0) && !qkv_heap_alloc(&heap, (size_t)-20, 0),
          "a size that wraps was given");
    CHECK(!qkv_heap_alloc(&heap, REGION, 0), "more than the region was given");
    r.refuse = 1;
    CHECK(!qkv_heap_alloc(&heap, 5000, 0), "given although grow refused");
    CHECK(qkv_heap_alloc(&heap, 1000, 0), "a refusal spoils the blocks that are there");
    r.refuse = 0;
    heap.limit = 8192;
    CHECK(!qkv_heap_alloc(&heap, 9000, 0), "given beyond the limit");
    CHECK(qkv_heap_alloc(&heap, 6000, 0), "nothing given within the limit");
    qkv_heap_free(&heap, NULL, 0);
    free(r.memory);
}

static void test_tiny_regions(void) {
    _Alignas(16) unsigned char memory[128];

    for (size_t bytes = 0; bytes < sizeof memory; bytes++) {
        for (size_t skip = 0; skip <= bytes && skip < 17; skip++) {
            qkv_heap heap;
            qkv_heap_init(&heap, memory + skip, memory + bytes, NULL, NULL);
            unsigned char *block = qkv_heap_alloc(&heap, 1, 0);
            CHECK(!block || (block >= memory + skip && block + 1 <= memory + bytes), "outside of %zu..%zu", skip,
                  bytes);
            CHECK(block || bytes - skip < 32 + 15 + 15, "no block in %zu..%zu", skip, bytes);
        }
    }
}

/* A pointer that was not given out, or not to this owner, changes nothing. */
static void test_wrong_frees(void) {
    region r = make_region();
    qkv_heap heap;

    qkv_heap_init(&heap, r.memory, r.memory + r.size, grow, &r);
    unsigned char *a = qkv_heap_alloc(&heap, 100, 1), *b = qkv_heap_alloc(&heap, 100, 2);
    memset(a, 0xA5, 100);
    const size_t used = heap.used;
    CHECK(!qkv_heap_free(&heap, a, 2) && !qkv_heap_free(&heap, b, 1), "freed for another owner");
    for (size_t i = 0; i < r.size; i++) {
        const int given = r.memory + i == a || r.memory + i == b;
        CHECK(given || !qkv_heap_free(&heap, r.memory + i, 1), "freed a place inside of a block, %zu", i);
    }
    CHECK(!qkv_heap_free(&heap, r.memory + REGION, 1) && !qkv_heap_free(&heap, &r, 1), "freed outside of the region");
    CHECK(heap.used == used, "%zu bytes used, not %zu", heap.used, used);
    CHECK(qkv_heap_free(&heap, a, 1) && !qkv_heap_free(&heap, a, 1), "freed twice");
    CHECK(qkv_heap_free(&heap, b, 2) && !qkv_heap_free(&heap, b, 2), "freed twice, beside a free block");
    CHECK(!qkv_heap_free(&heap, a, 1) && heap.used == 0, "%zu bytes used", heap.used);
    free(r.memory);
}

int main(void) {
    test_wrong_frees();
    test_random_use();
    test_stays_flat();
    test_refusals();
    test_tiny_regions();
    return check_summary("heap");
}
