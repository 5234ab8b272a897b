/* one_head.h - one head of attention with everything it reads and writes, for tests. */
#ifndef QKV_TESTS_ONE_HEAD_H
#define QKV_TESTS_ONE_HEAD_H

#include "attention.h"

typedef struct one_head {
    int n, m, dim, value_dim;
    float *q, *k, *v, *mask;    /* plain rows */
    float *k_panels, *v_panels; /* what the engine reads */
    float *map, *context;       /* results */
    qkv_attention_scratch scratch;
    void *scratch_memory;
    qkv_attention a;
} one_head;

/* n queries, m keys, drawn from the seed; no mask. */
one_head one_head_make(uint32_t *seed, int n, int m, int dim, int value_dim);
void one_head_release(one_head *h);
/* Puts k and v into the panels that the engine reads, after a test has changed them. */
void one_head_pack(one_head *h);
/* map: the weights; context. */
void one_head_attend(one_head *h);
/* Lets the engine add what stands in mask. */
void one_head_use_mask(one_head *h);
/* -infinity, 0 and other numbers; the first query may see nothing. */
void one_head_fill_mask(one_head *h, uint32_t *seed);

#endif
