#include "heap.h"

#include <stdint.h>

#define ALIGNMENT 16u

struct qkv_heap_block {
    size_t bytes; /* head included; a multiple of 16 */
    union {
        qkv_heap_block *next; /* of a free block: the next one by address */
        uintptr_t given;      /* of one that is given out: see mark */
    };
};

#define HEAD ((size_t)ALIGNMENT)
#define SMALLEST (2 * HEAD)

_Static_assert(sizeof(qkv_heap_block) <= ALIGNMENT, "the head of a block must fit its alignment");

/* What tells a block that is given out: its address, a multiple of 16, and the owner in the bits below. As `next` it would point
 * between blocks. */
static uintptr_t mark(const qkv_heap_block *block, unsigned owner) {
    return (uintptr_t)block + 1 + owner;
}

static unsigned char *end_of(qkv_heap_block *block) {
    return (unsigned char *)block + block->bytes;
}

/* Puts a block into the list and merges it with the free neighbours it touches. */
static void insert(qkv_heap *heap, qkv_heap_block *block) {
    qkv_heap_block *before = NULL, *after = heap->free;

    while (after && after < block) {
        before = after;
        after = after->next;
    }
    block->next = after;
    if (after && end_of(block) == (unsigned char *)after) {
        block->bytes += after->bytes;
        block->next = after->next;
    }
    if (before && end_of(before) == (unsigned char *)block) {
        before->bytes += block->bytes;
        before->next = block->next;
    } else if (before) {
        before->next = block;
    } else {
        heap->free = block;
    }
}

void qkv_heap_init(qkv_heap *heap, void *base, void *end, size_t (*grow)(void *, size_t), void *context) {
    const size_t skip = (ALIGNMENT - (size_t)((uintptr_t)base % ALIGNMENT)) % ALIGNMENT;
    const size_t bytes = (size_t)((unsigned char *)end - (unsigned char *)base);

    *heap = (qkv_heap){0};
    heap->base = heap->end = (unsigned char *)base + (skip < bytes ? skip : bytes);
    if (skip < bytes) heap->end += (bytes - skip) & ~(size_t)(ALIGNMENT - 1u);
    heap->grow = grow;
    heap->context = context;
    if ((size_t)(heap->end - heap->base) >= SMALLEST) {
        qkv_heap_block *all = (qkv_heap_block *)(void *)heap->base;
        all->bytes = (size_t)(heap->end - heap->base);
        all->next = NULL;
        heap->free = all;
    } else {
        heap->end = heap->base;
    }
}

/* The smallest free block of at least `bytes`; *out_link is the pointer that points to it. */
static qkv_heap_block *best_fit(qkv_heap *heap, size_t bytes, qkv_heap_block ***out_link) {
    qkv_heap_block *best = NULL;

    for (qkv_heap_block **link = &heap->free; *link; link = &(*link)->next) {
        if ((*link)->bytes < bytes || (best && (*link)->bytes >= best->bytes)) continue;
        best = *link;
        *out_link = link;
    }
    return best;
}

/* Moves the end so that a block of `bytes` fits there; a free block at the end counts towards it. */
static int extend(qkv_heap *heap, size_t bytes) {
    qkv_heap_block *last = heap->free;
    const size_t size = (size_t)(heap->end - heap->base);

    while (last && last->next) last = last->next;
    const size_t there = last && end_of(last) == heap->end ? last->bytes : 0;
    const size_t wanted = bytes > there + SMALLEST ? bytes - there : SMALLEST;
    if (heap->limit && (size >= heap->limit || wanted > heap->limit - size)) return 0;
    size_t more = heap->grow ? heap->grow(heap->context, wanted) & ~(size_t)(ALIGNMENT - 1u) : 0;
    if (more < wanted) return 0;
    qkv_heap_block *block = (qkv_heap_block *)(void *)heap->end;
    block->bytes = more;
    heap->end += more;
    insert(heap, block);
    return 1;
}

void *qkv_heap_alloc(qkv_heap *heap, size_t bytes, unsigned owner) {
    qkv_heap_block **link = NULL;

    if (bytes > SIZE_MAX - HEAD - (ALIGNMENT - 1u)) return NULL;
    size_t total = HEAD + ((bytes + ALIGNMENT - 1u) & ~(size_t)(ALIGNMENT - 1u));
    if (total < SMALLEST) total = SMALLEST;
    qkv_heap_block *block = best_fit(heap, total, &link);
    if (!block) {
        if (!extend(heap, total)) return NULL;
        block = best_fit(heap, total, &link);
        if (!block) return NULL;
    }
    if (block->bytes - total >= SMALLEST) {
        qkv_heap_block *rest = (qkv_heap_block *)(void *)((unsigned char *)block + total);
        rest->bytes = block->bytes - total;
        rest->next = block->next;
        block->bytes = total;
        *link = rest;
    } else {
        *link = block->next;
    }
    block->given = mark(block, owner);
    heap->used += block->bytes;
    return (unsigned char *)block + HEAD;
}

int qkv_heap_free(qkv_heap *heap, void *memory, unsigned owner) {
    const uintptr_t at = (uintptr_t)memory;

    if (!memory) return 1;
    if (at % ALIGNMENT != 0 || at < (uintptr_t)heap->base + HEAD || at >= (uintptr_t)heap->end) return 0;
    qkv_heap_block *block = (qkv_heap_block *)(void *)((unsigned char *)memory - HEAD);
    if (block->given != mark(block, owner)) return 0;
    heap->used -= block->bytes;
    insert(heap, block);
    return 1;
}

size_t qkv_heap_largest(const qkv_heap *heap) {
    size_t largest = 0;

    for (const qkv_heap_block *block = heap->free; block; block = block->next) {
        if (block->bytes > largest) largest = block->bytes;
    }
    return largest > HEAD ? largest - HEAD : 0;
}
