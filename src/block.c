#include "block.h"

static size_t heads_width(const qkv_config *c) {
    return (size_t)c->heads * (size_t)c->head_dim;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Blocks of at most QKV_TOKENS_AT_ONCE rows, as equal as can be: no short block at the end repeats the reading of all
 * weights for a few rows. Returns the rows of the block at `done`. */
static int32_t rows_at_once(int32_t done, int32_t tokens) {
    const int32_t left = tokens - done;
    const int32_t blocks = (left + QKV_TOKENS_AT_ONCE - 1) / QKV_TOKENS_AT_ONCE;
    return (left + blocks - 1) / blocks;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

void qkv_scratch_take(qkv_scratch *scratch, qkv_arena *arena, const qkv_config *c, int32_t tokens, int32_t longest) {
    const int32_t heads = (int32_t)heads_width(c);
    const int32_t widest = larger(heads + 2 * c->kv_heads * c->head_dim, c->ffn);

    scratch->q = qkv_arena_take(arena, (size_t)tokens * heads_width(c), sizeof(float));
    scratch->context = qkv_arena_take(arena, (size_t)tokens * heads_width(c), sizeof(float));
    scratch->wide = qkv_arena_take(arena, (size_t)QKV_TOKENS_AT_ONCE * (size_t)widest, sizeof(float));
    scratch->narrow = qkv_arena_take(arena, (size_t)QKV_TOKENS_AT_ONCE * (size_t)c->width, sizeof(float));
    qkv_packed_take(&scratch->packed, arena, QKV_TOKENS_AT_ONCE, larger(larger(c->width, c->ffn), heads));
    qkv_attention_scratch_take(&scratch->attention, arena, longest, c->head_dim);
}

static size_t panel_width(const qkv_config *c) {
    return ((size_t)c->head_dim + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
}

size_t qkv_keys_size(const qkv_config *c, const qkv_sequence *s) {
    return (size_t)s->padded * (size_t)c->kv_heads * (size_t)c->head_dim;
}

size_t qkv_values_size(const qkv_config *c, const qkv_sequence *s) {
    return (size_t)s->padded * (size_t)c->kv_heads * panel_width(c);
}

static float *keys_of(const qkv_block *b, const qkv_sequence *s, int32_t kv_head) {
    const size_t head_size = (size_t)b->config->head_dim;
    return b->keys +
           ((size_t)s->before * (size_t)b->config->kv_heads + (size_t)s->padded * (size_t)kv_head) * head_size;
}

static float *values_of(const qkv_block *b, const qkv_sequence *s, int32_t kv_head) {
    const size_t head_size = panel_width(b->config);
    return b->values +
           ((size_t)s->before * (size_t)b->config->kv_heads + (size_t)s->padded * (size_t)kv_head) * head_size;
}

static size_t values_stride(const qkv_sequence *s) {
    return (size_t)s->padded * QKV_PANEL;
}

static int32_t group_of(const qkv_config *c, int32_t head) {
    return (int32_t)((int64_t)head * c->kv_heads / c->heads);
}

void qkv_block_clear_padding(const qkv_block *b) {
    const size_t panel = (size_t)b->config->head_dim * QKV_PANEL;

    for (int32_t n = 0; n < b->sequence_count; n++) {
        const qkv_sequence *s = &b->sequences[n];
        if (s->padded == s->length) continue;
        for (int32_t g = 0; g < b->config->kv_heads; g++) {
            float *keys = keys_of(b, s, g);
            __builtin_memset(keys + ((size_t)s->padded / QKV_PANEL - 1) * panel, 0, panel * sizeof(float));
        }
    }
}

/* ---- Q, K, V ------------------------------------------------------------------------------------------------ */

/* Copies the part of rows [first, first + rows) that belongs to each sequence into its K and V panels.
 * projected: [rows, (H + 2 G) E], row 0 = token `first`. */
static void keep_keys_and_values(const qkv_block *b, int32_t first, int32_t rows, const float *projected) {
    const qkv_config *c = b->config;
    const size_t stride = (size_t)b->layer->qkv.rows;

    for (int32_t n = 0; n < b->sequence_count; n++) {
        const qkv_sequence *s = &b->sequences[n];
        const int32_t from = larger(first, s->first);
        const int32_t to = first + rows < s->first + s->length ? first + rows : s->first + s->length;
        if (from >= to) continue;
        const float *row = projected + (size_t)(from - first) * stride;
        for (int32_t g = 0; g < c->kv_heads; g++) {
            qkv_attention_put_keys(keys_of(b, s, g), from - s->first, row + qkv_key_row(c, g), stride, to - from,
                                   c->head_dim);
            qkv_attention_put_values(values_of(b, s, g), values_stride(s), from - s->first, row + qkv_value_row(c, g),
                                     stride, to - from, c->head_dim);
        }
    }
}

/* Q, K and V of all tokens in one GEMM; Q stays in scratch for this block, K and V are kept for good. */
static void project(const qkv_block *b) {
    const size_t q_width = heads_width(b->config), width = (size_t)b->config->width;
    const qkv_matrix *w = &b->layer->qkv;

    for (int32_t done = 0, rows; done < b->tokens; done += rows) {
        rows = rows_at_once(done, b->tokens);
        const qkv_gemm gemm = {.out = b->scratch->wide, .out_stride = (size_t)w->rows, .rows = rows, .cols = w->rows};
        qkv_linear(w, 0, b->x + (size_t)done * width, width, gemm, &b->scratch->packed);
        for (int32_t r = 0; r < rows; r++) {
            __builtin_memcpy(b->scratch->q + (size_t)(done + r) * q_width, gemm.out + (size_t)r * gemm.out_stride,
                             q_width * sizeof(float));
        }
        keep_keys_and_values(b, done, rows, gemm.out);
    }
}

const float *qkv_block_queries(const qkv_block *b, int32_t head, int32_t heads, int32_t first, int32_t rows,
                               size_t *out_stride) {
    const int32_t row = qkv_query_row(b->config, head);
    const int32_t aligned = row / QKV_PANEL * QKV_PANEL; /* W panels hold eight rows; a head may begin inside one */
    const size_t width = (size_t)b->config->width;
    const qkv_gemm gemm = {
        .out = b->scratch->wide,
        .out_stride = (size_t)(row - aligned + heads * b->config->head_dim),
        .rows = rows,
        .cols = row - aligned + heads * b->config->head_dim,
    };

    qkv_linear(&b->layer->qkv, aligned, b->x + (size_t)first * width, width, gemm, &b->scratch->packed);
    *out_stride = gemm.out_stride;
    return gemm.out + (row - aligned);
}

void qkv_block_all_queries(const qkv_block *b, int32_t sequence) {
    const qkv_sequence *s = &b->sequences[sequence];
    const size_t q_width = heads_width(b->config);

    for (int32_t done = 0, rows; done < s->length; done += rows) {
        size_t stride;
        rows = rows_at_once(done, s->length);
        const float *q = qkv_block_queries(b, 0, b->config->heads, s->first + done, rows, &stride);
        for (int32_t r = 0; r < rows; r++) {
            __builtin_memcpy(b->scratch->q + (size_t)(s->first + done + r) * q_width, q + (size_t)r * stride,
                             q_width * sizeof(float));
        }
    }
}

void qkv_block_keys(const qkv_block *b, int32_t sequence, int32_t head, float *out) {
    const qkv_sequence *s = &b->sequences[sequence];
    qkv_attention_get_keys(keys_of(b, s, group_of(b->config, head)), s->length, b->config->head_dim, out);
}

void qkv_block_values(const qkv_block *b, int32_t sequence, int32_t head, float *out) {
    const qkv_sequence *s = &b->sequences[sequence];
    qkv_attention_get_values(values_of(b, s, group_of(b->config, head)), values_stride(s), s->length,
                             b->config->head_dim, out);
}

/* ---- attention ---------------------------------------------------------------------------------------------- */

qkv_attention qkv_block_attention(const qkv_block *b, int32_t sequence, int32_t head, const float *q, size_t q_stride) {
    const qkv_sequence *s = &b->sequences[sequence];
    const int32_t group = group_of(b->config, head);
    qkv_attention a = {
        .q = q,
        .q_stride = q_stride,
        .k = keys_of(b, s, group),
        .v = values_of(b, s, group),
        .v_stride = values_stride(s),
        .keys = s->length,
        .key_dim = b->config->head_dim,
        .value_dim = b->config->head_dim,
        .scale = b->scale,
        .mask = qkv_mask_none(s->length),
    };

    if (b->mask) {
        const size_t plane = (size_t)b->mask_rows * (size_t)s->length;
        a.mask.add = b->mask + (b->mask_heads > 1 ? (size_t)head * plane : 0);
        a.mask.stride = b->mask_rows > 1 ? (size_t)s->length : 0;
    }
    return a;
}

void qkv_block_contexts(const qkv_block *b, int32_t sequence) {
    const qkv_sequence *s = &b->sequences[sequence];
    const size_t stride = heads_width(b->config);
    const size_t first = (size_t)s->first * stride;

    for (int32_t h = 0; h < b->config->heads; h++) {
        const size_t column = first + (size_t)qkv_query_row(b->config, h);
        const qkv_attention a = qkv_block_attention(b, sequence, h, b->scratch->q + column, stride);
        float *out = b->scratch->context + column;
        if (!b->ablate || !b->ablate[h]) {
            qkv_attention_context(&a, 0, s->length, out, stride, NULL, &b->scratch->attention);
            continue;
        }
        for (int32_t i = 0; i < s->length; i++) {
            __builtin_memset(out + (size_t)i * stride, 0, (size_t)b->config->head_dim * sizeof(float));
        }
    }
}

void qkv_block_output(const qkv_block *b, int32_t sequence, float *out) {
    const qkv_sequence *s = &b->sequences[sequence];
    const size_t stride = heads_width(b->config), width = (size_t)b->config->width;

    for (int32_t done = 0, rows; done < s->length; done += rows) {
        rows = rows_at_once(done, s->length);
        const qkv_gemm gemm = {
            .out = out + (size_t)done * width, .out_stride = width, .rows = rows, .cols = b->config->width};
        qkv_linear(&b->layer->o, 0, b->scratch->context + (size_t)(s->first + done) * stride, stride, gemm,
                   &b->scratch->packed);
    }
}

/* ---- the rest of the block ---------------------------------------------------------------------------------- */

static void normalise(const qkv_block *b, const qkv_norm *norm, float *x, int32_t rows) {
    const int32_t width = b->config->width;

    for (int32_t r = 0; r < rows; r++, x += width) {
        qkv_layer_norm_f32(x, x, width, norm->weight, norm->bias, b->config->norm_eps);
    }
}

/* next = norm(y + down(gelu(up(y)))), y = norm(x + W_O concat): row by row independent, so in row blocks, and the
 * [T, F] array of the feed-forward layer never exists as a whole. */
static void mix_and_feed_forward(const qkv_block *b, int32_t first, int32_t rows, float *next) {
    const qkv_scratch *scratch = b->scratch;
    const size_t width = (size_t)b->config->width, ffn = (size_t)b->config->ffn, heads = heads_width(b->config);
    float *y = scratch->narrow;
    qkv_gemm gemm = {.out = y, .out_stride = width, .rows = rows, .cols = b->config->width};

    gemm.residual = b->x + (size_t)first * width;
    gemm.residual_stride = width;
    qkv_linear(&b->layer->o, 0, scratch->context + (size_t)first * heads, heads, gemm, &scratch->packed);
    normalise(b, &b->layer->attn_norm, y, rows);

    gemm = (qkv_gemm){.out = scratch->wide, .out_stride = ffn, .rows = rows, .cols = b->config->ffn, .gelu = 1};
    qkv_linear(&b->layer->up, 0, y, width, gemm, &scratch->packed);

    gemm = (qkv_gemm){.out = next + (size_t)first * width, .out_stride = width, .rows = rows, .cols = b->config->width};
    gemm.residual = y;
    gemm.residual_stride = width;
    qkv_linear(&b->layer->down, 0, scratch->wide, ffn, gemm, &scratch->packed);
    normalise(b, &b->layer->ffn_norm, gemm.out, rows);
}

void qkv_block_forward(const qkv_block *b, float *next) {
    project(b);
    for (int32_t n = 0; n < b->sequence_count; n++) qkv_block_contexts(b, n);
    for (int32_t done = 0, rows; done < b->tokens; done += rows) {
        rows = rows_at_once(done, b->tokens);
        mix_and_feed_forward(b, done, rows, next);
    }
}
