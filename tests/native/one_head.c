#include "one_head.h"

#include <math.h>
#include <stdlib.h>

#include "seeded.h"

static float *floats(size_t n) {
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = NAN; /* what is read before it is written shows */
    return x;
}

void one_head_pack(one_head *h) {
    const int padded = (h->m + 7) / 8 * 8;

    qkv_attention_put_keys(h->k_panels, 0, h->k, (size_t)h->dim, h->m, h->dim);
    qkv_attention_put_values(h->v_panels, (size_t)padded * 8, 0, h->v, (size_t)h->value_dim, h->m, h->value_dim);
}

one_head one_head_make(uint32_t *seed, int n, int m, int dim, int value_dim) {
    const size_t padded = (size_t)(m + 7) / 8 * 8, value_panels = (size_t)(value_dim + 7) / 8;
    one_head h = {.n = n, .m = m, .dim = dim, .value_dim = value_dim};
    qkv_arena measure = qkv_arena_measure();

    h.q = floats((size_t)(n * dim));
    h.k = floats((size_t)(m * dim));
    h.v = floats((size_t)(m * value_dim));
    h.mask = floats((size_t)(n * m));
    h.k_panels = floats(padded * (size_t)dim);
    h.v_panels = floats(value_panels * padded * 8);
    h.map = floats((size_t)(n * m));
    h.context = floats((size_t)(n * value_dim));
    qkv_attention_scratch_take(&h.scratch, &measure, m, dim);
    h.scratch_memory = malloc(measure.used);
    qkv_arena arena = qkv_arena_over(h.scratch_memory, measure.used);
    qkv_attention_scratch_take(&h.scratch, &arena, m, dim);
    seeded_fill(seed, h.q, (size_t)(n * dim), 2.0f);
    seeded_fill(seed, h.k, (size_t)(m * dim), 2.0f);
    seeded_fill(seed, h.v, (size_t)(m * value_dim), 1.0f);
    one_head_pack(&h);
    h.a = (qkv_attention){
        .q = h.q,
        .q_stride = (size_t)dim,
        .k = h.k_panels,
        .v = h.v_panels,
        .v_stride = padded * 8,
        .keys = m,
        .key_dim = dim,
        .value_dim = value_dim,
        .scale = (float)(1.0 / sqrt(dim)),
        .mask = qkv_mask_none(m),
    };
    return h;
}

void one_head_release(one_head *h) {
    float *all[] = {h->q, h->k, h->v, h->mask, h->k_panels, h->v_panels, h->map, h->context};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(h->scratch_memory);
}

void one_head_attend(one_head *h) {
    qkv_attention_map(&h->a, QKV_STAGE_WEIGHTS, 0, h->n, h->map, &h->scratch);
    qkv_attention_context(&h->a, 0, h->n, h->context, (size_t)h->value_dim, NULL, &h->scratch);
}

void one_head_use_mask(one_head *h) {
    h->a.mask.add = h->mask;
    h->a.mask.stride = (size_t)h->m;
}

void one_head_fill_mask(one_head *h, uint32_t *seed) {
    for (int i = 0; i < h->n * h->m; i++) {
        const int kind = seeded_int(seed, 3);
        h->mask[i] = kind == 0 ? -INFINITY : kind == 1 ? 0.0f : seeded_float(seed);
    }
    for (int j = 0; j < h->m; j++) h->mask[j] = -INFINITY; /* the first query may see nothing */
    one_head_use_mask(h);
}
