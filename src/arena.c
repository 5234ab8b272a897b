#include "arena.h"

#include <stdint.h>

#define ALIGNMENT 16u

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_GAPS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define POISON_GAPS 1
#endif

#ifdef POISON_GAPS
void __asan_poison_memory_region(const volatile void *address, size_t size);
#define GAP ALIGNMENT
#else
#define GAP 0u
#endif

qkv_arena qkv_arena_measure(void) {
    return (qkv_arena){NULL, SIZE_MAX, 0, 0};
}

qkv_arena qkv_arena_over(void *memory, size_t bytes) {
    return (qkv_arena){memory, bytes, 0, 0};
}

size_t qkv_arena_product(qkv_arena *arena, size_t a, size_t b) {
    size_t product;

    if (__builtin_mul_overflow(a, b, &product)) arena->overflow = 1;
    return product;
}

void *qkv_arena_take(qkv_arena *arena, size_t count, size_t size) {
    size_t bytes, end;

    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, ALIGNMENT - 1u + GAP, &bytes) ||
        __builtin_add_overflow(arena->used, bytes & ~(size_t)(ALIGNMENT - 1u), &end) || end > arena->size) {
        arena->overflow = 1;
        return NULL;
    }
    unsigned char *piece = arena->base ? arena->base + arena->used : NULL;
    arena->used = end;
#ifdef POISON_GAPS
    if (piece) __asan_poison_memory_region(piece + count * size, (size_t)(arena->base + end - piece) - count * size);
#endif
    return piece;
}
