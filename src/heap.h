/* heap.h - the free list behind models, runs and JavaScript's buffers.
 *
 * A growable region cut into blocks, each with a 16-byte head. Free blocks are listed by address and merged with their
 * neighbours at once, so a page that makes and drops runs of changing length stays within what the largest needed.
 *
 *   base                                                   end ->  grow(context, bytes) moves end
 *   | head | block 1 | head | free ....... | head | block 2 |
 *
 * Small and slow to search on purpose: there are a few dozen blocks, the large ones live long. */
#ifndef QKV_HEAP_H
#define QKV_HEAP_H

#include <stddef.h>

typedef struct qkv_heap_block qkv_heap_block;

typedef struct qkv_heap {
    unsigned char *base, *end; /* 16-byte aligned */
    qkv_heap_block *free;      /* by address */
    size_t used;               /* bytes given out, heads included */
    size_t limit;              /* largest end - base; 0 = whatever grow gives */
    size_t (*grow)(void *context,
                   size_t bytes); /* makes at least bytes more valid behind end; returns how many, 0 = no */
    void *context;
} qkv_heap;

/* The region [base, end) must be empty and writable; both are rounded inwards to 16 bytes. */
void qkv_heap_init(qkv_heap *heap, void *base, void *end, size_t (*grow)(void *, size_t), void *context);

#define QKV_HEAP_OWNERS 14

/* 16-byte aligned; NULL when neither a free block fits nor the region can grow. bytes = 0 gives a block too.
 * owner: 0 .. QKV_HEAP_OWNERS - 1, for whom the block is. */
void *qkv_heap_alloc(qkv_heap *heap, size_t bytes, unsigned owner);

/* Returns 1 when `block` was given out to this owner and not freed since, or is NULL; otherwise 0, and nothing is done: the head
 * of a block that is given out holds its own address and owner, which no other place in the region does by chance. */
int qkv_heap_free(qkv_heap *heap, void *block, unsigned owner);

/* Bytes that one allocation could get without growing. */
size_t qkv_heap_largest(const qkv_heap *heap);

#endif
