#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "check.h"

static void take_some(qkv_arena *arena, unsigned char *pieces[8]) {
    for (size_t i = 0; i < 8; i++) pieces[i] = qkv_arena_take(arena, i * 7, 3);
}

static void test_measured_size_is_exact(void) {
    unsigned char *pieces[8];
    qkv_arena measure = qkv_arena_measure();

    take_some(&measure, pieces);
    CHECK(!measure.overflow && measure.used % 16 == 0, "measured %zu", measure.used);
    void *memory = aligned_alloc(16, measure.used);
    qkv_arena arena = qkv_arena_over(memory, measure.used);
    take_some(&arena, pieces);
    CHECK(!arena.overflow && arena.used == measure.used, "used %zu of %zu", arena.used, measure.used);
    for (size_t i = 0; i < 8; i++) {
        CHECK((uintptr_t)pieces[i] % 16 == 0, "piece %zu is not aligned", i);
        memset(pieces[i], 1, i * 21);
    }
    qkv_arena small = qkv_arena_over(memory, measure.used - 1);
    take_some(&small, pieces);
    CHECK(small.overflow && !pieces[7], "one byte too few was not noticed");
    free(memory);
}

static void test_sizes_that_wrap(void) {
    qkv_arena arena = qkv_arena_measure();

    CHECK(!qkv_arena_take(&arena, SIZE_MAX / 2, 3) && arena.overflow, "count * size wrapped");
    arena = qkv_arena_measure();
    qkv_arena_take(&arena, SIZE_MAX - 8, 1);
    CHECK(arena.overflow, "rounding up wrapped");
    arena = qkv_arena_measure();
    qkv_arena_take(&arena, SIZE_MAX / 2, 1);
    CHECK(!arena.overflow, "half of the address space is a size");
    qkv_arena_take(&arena, SIZE_MAX / 2, 1);
    qkv_arena_take(&arena, SIZE_MAX / 2, 1);
    CHECK(arena.overflow, "the sum wrapped");
}

int main(void) {
    test_measured_size_is_exact();
    test_sizes_that_wrap();
    return check_summary("arena");
}
