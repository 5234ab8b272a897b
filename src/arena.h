/* arena.h - one block of memory, handed out from front to back.
 *
 * A layout is written once, as a function that takes piece after piece. Run over an arena without memory it only
 * counts, so the size that qkv_*_bytes reports is exact by construction:
 *
 *   measure: base = NULL    | piece |pad| piece     |pad| piece |   used = bytes needed
 *   create:  base = memory  ^ 16-byte aligned pieces
 *
 * Under AddressSanitizer a poisoned gap follows each piece, so that running over the end of one is caught. */
#ifndef QKV_ARENA_H
#define QKV_ARENA_H

#include <stddef.h>

typedef struct qkv_arena {
    unsigned char *base; /* NULL: only measure */
    size_t size;         /* bytes at base */
    size_t used;
    int overflow; /* a size did not fit size_t, or the arena */
} qkv_arena;

qkv_arena qkv_arena_measure(void);
qkv_arena qkv_arena_over(void *memory, size_t bytes);

/* a * b as a count or size of qkv_arena_take; marks an overflow of size_t, which has 32 bits in wasm. */
size_t qkv_arena_product(qkv_arena *arena, size_t a, size_t b);

/* count * size bytes, 16-byte aligned; NULL while measuring and after an overflow. The content is not set. */
void *qkv_arena_take(qkv_arena *arena, size_t count, size_t size);

#endif
