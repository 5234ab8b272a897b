#include "block.h"

static size_t heads_width(const qkv_config *c) {
    return (size_t)c->heads * (size_t)c->head_dim;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

int32_t qkv_rows_at_once(int32_t left) {
    const int32_t parts = (left + QKV_TOKENS_AT_ONCE - 1) / QKV_TOKENS_AT_ONCE;
    return (left + parts - 1) / parts;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

void qkv_scratch_take(qkv_scratch *scratch, qkv_arena *arena, const qkv_config *c, int32_t tokens, int32_t longest) {
    const int32_t heads = (int32_t)heads_width(c), ffn = c->gated ? 2 * c->ffn : c->ffn;
    const int32_t widest = larger(heads + 2 * c->kv_heads * c->head_dim, ffn);
    const int32_t embed = larger(c->width, c->embed_width), narrow = larger(embed, c->head_width);

    float *q = qkv_arena_take(arena, (size_t)tokens, heads_width(c) * sizeof(float));
    for (int32_t slot = 0; slot < qkv_pool_slots(); slot++, scratch++) {
        scratch->q = scratch->context = q;
        scratch->wide = qkv_arena_take(arena, QKV_TOKENS_AT_ONCE, (size_t)widest * sizeof(float));
        scratch->narrow = qkv_arena_take(arena, QKV_TOKENS_AT_ONCE, (size_t)narrow * sizeof(float));
        scratch->normed = qkv_arena_take(arena, QKV_TOKENS_AT_ONCE, (size_t)embed * sizeof(float));
        qkv_packed_take(&scratch->packed, arena, QKV_TOKENS_AT_ONCE, larger(larger(narrow, c->ffn), heads));
        qkv_attention_scratch_take(&scratch->attention, arena, longest, c->head_dim);
    }
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

#define LEAST_ROWS 32 /* of a part, which has to be worth reading all the weights once more */

/* Work on the fresh tokens, cut by rows. Where there are too few of them it is one part, whose matrix products are cut by
 * columns instead. */
typedef struct row_region {
    const qkv_block *block;
    float *next;
    int32_t parts;
} row_region;

/* The block as a thread has it: with scratch of its own. */
static qkv_block of_slot(const qkv_block *b, int32_t slot) {
    qkv_block own = *b;
    own.scratch += slot;
    return own;
}

/* The fresh tokens [*out_first, ...) of a part; returns how many. */
static int32_t rows_of_part(const row_region *r, int32_t part, int32_t *out_first) {
    const int32_t count = r->block->tokens - r->block->fresh;
    const int32_t first = qkv_pool_first(count, part, r->parts);

    *out_first = r->block->fresh + first;
    return qkv_pool_first(count, part + 1, r->parts) - first;
}

/* weights: of the matrices that each token is multiplied by. */
static void run_by_rows(const qkv_block *b, float *next, qkv_part *part, double weights) {
    const int32_t count = b->tokens - b->fresh, least = (count + QKV_TOKENS_AT_ONCE - 1) / QKV_TOKENS_AT_ONCE;
    const double work = 2.0 * count * weights;
    const int32_t parts = qkv_pool_parts(larger(count / LEAST_ROWS, 1), work);
    const row_region region = {b, next, larger(parts, least)};

    qkv_pool_run(part, &region, region.parts, work);
}

static size_t panel_width(const qkv_config *c) {
    return ((size_t)c->head_dim + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
}

size_t qkv_keys_size(const qkv_config *c) {
    return (size_t)c->kv_heads * (size_t)c->head_dim;
}

size_t qkv_values_size(const qkv_config *c) {
    return (size_t)c->kv_heads * panel_width(c);
}

/* Floats in front of the panels of one head, whose rows take row_size floats each. */
static size_t head_start(const qkv_block *b, const qkv_sequence *s, int32_t kv_head, size_t row_size) {
    const size_t rows = (size_t)s->before * (size_t)b->config->kv_heads + (size_t)s->padded * (size_t)kv_head;
    return rows * row_size;
}

static float *keys_of(const qkv_block *b, const qkv_sequence *s, int32_t kv_head) {
    return b->keys + head_start(b, s, kv_head, (size_t)b->config->head_dim);
}

static float *values_of(const qkv_block *b, const qkv_sequence *s, int32_t kv_head) {
    return b->values + head_start(b, s, kv_head, panel_width(b->config));
}

static size_t values_stride(const qkv_sequence *s) {
    return (size_t)s->padded * QKV_PANEL;
}

void qkv_block_clear_padding(const qkv_block *b) {
    const size_t row_size = (size_t)b->config->head_dim;

    for (int32_t n = 0; n < b->sequence_count; n++) {
        const qkv_sequence *s = &b->sequences[n];
        const size_t whole = (size_t)(s->length / QKV_PANEL * QKV_PANEL), behind = (size_t)s->padded - whole;
        for (int32_t g = 0; g < b->config->kv_heads && behind > 0; g++) {
            __builtin_memset(keys_of(b, s, g) + whole * row_size, 0, behind * row_size * sizeof(float));
        }
    }
}

/* ---- Q, K, V ------------------------------------------------------------------------------------------------ */

const float *qkv_block_inputs(const qkv_block *b, int32_t first, int32_t rows) {
    const size_t width = (size_t)b->config->width;
    const float *x = b->x + (size_t)first * width;

    if (b->config->norm_place == QKV_NORM_POST || !b->layer->attn_norm.weight) return x;
    for (int32_t r = 0; r < rows; r++) {
        float *y = b->scratch->normed + (size_t)r * width;
        qkv_norm_row(b->config, &b->layer->attn_norm, y, x + (size_t)r * width, b->config->width);
    }
    return b->scratch->normed;
}

/* From a projection to queries or keys: the norm of each head, RMSNorm even in a model whose other norms are LayerNorm, then the rotation to its
 * place. x: [heads, E]. */
static void place_heads(const qkv_block *b, const qkv_norm *norm, int32_t place, int32_t heads, float *x) {
    const qkv_config *c = b->config;
    const size_t half = (size_t)(c->rope_dim / 2);

    for (int32_t h = 0; h < heads; h++, x += c->head_dim) {
        if (norm->weight) qkv_rms_norm_f32(x, x, c->head_dim, norm->weight, c->norm_eps);
        if (b->cos) qkv_rotary_f32(x, (int)half, b->cos + (size_t)place * half, b->sin + (size_t)place * half);
    }
}

/* rows [rows, (H + 2 G) E] of tokens first ... of a sequence: queries and keys are placed, keys and values kept. */
static void keep(const qkv_block *b, const qkv_sequence *s, int32_t first, int32_t rows, float *projected) {
    const qkv_config *c = b->config;
    const size_t stride = (size_t)b->layer->qkv.rows;

    for (int32_t r = 0; r < rows; r++) {
        float *row = projected + (size_t)r * stride;
        place_heads(b, &b->layer->q_norm, first + r, c->heads, row);
        place_heads(b, &b->layer->k_norm, first + r, c->kv_heads, row + qkv_key_row(c, 0));
    }
    for (int32_t g = 0; g < c->kv_heads; g++) {
        qkv_attention_put_keys(keys_of(b, s, g), first, projected + qkv_key_row(c, g), stride, rows, c->head_dim);
        qkv_attention_put_values(values_of(b, s, g), values_stride(s), first, projected + qkv_value_row(c, g), stride,
                                 rows, c->head_dim);
    }
}

/* The part of tokens [first, first + rows) that belongs to each sequence. projected: row 0 = token `first`. */
static void keep_by_sequence(const qkv_block *b, int32_t first, int32_t rows, float *projected) {
    for (int32_t n = 0; n < b->sequence_count; n++) {
        const qkv_sequence *s = &b->sequences[n];
        const int32_t from = larger(first, s->first), to = smaller(first + rows, s->first + s->length);
        if (from >= to) continue;
        keep(b, s, from - s->first, to - from, projected + (size_t)(from - first) * (size_t)b->layer->qkv.rows);
    }
}

/* Q, K and V of the fresh tokens in one GEMM; Q stays in scratch for this block, K and V are kept for good. */
static void project(const void *region, int32_t part, int32_t slot) {
    const row_region *all = region;
    const qkv_block own = of_slot(all->block, slot), *b = &own;
    const size_t q_width = heads_width(b->config);
    const qkv_matrix *w = &b->layer->qkv;
    int32_t first;
    const int32_t rows = rows_of_part(all, part, &first);
    const qkv_gemm gemm = {.out = b->scratch->wide, .out_stride = (size_t)w->rows, .rows = rows, .cols = w->rows};

    qkv_linear(w, 0, qkv_block_inputs(b, first, rows), (size_t)b->config->width, gemm, &b->scratch->packed);
    keep_by_sequence(b, first, rows, gemm.out);
    for (int32_t r = 0; r < rows; r++) {
        __builtin_memcpy(b->scratch->q + (size_t)(first + r) * q_width, gemm.out + (size_t)r * gemm.out_stride,
                         q_width * sizeof(float));
    }
}

const float *qkv_block_project(const qkv_block *b, qkv_projection what, int linear, int32_t sequence, int32_t head,
                               int32_t heads, int32_t first, int32_t rows, size_t *out_stride) {
    const qkv_config *c = b->config;
    const int32_t row = what == QKV_QUERIES ? qkv_query_row(c, head) : qkv_key_row(c, head);
    const int32_t aligned = row / QKV_PANEL * QKV_PANEL; /* W panels hold eight rows; a head may begin inside one */
    const int32_t cols = row - aligned + heads * c->head_dim;
    const qkv_gemm gemm = {.out = b->scratch->wide, .out_stride = (size_t)cols, .rows = rows, .cols = cols};
    const float *x = qkv_block_inputs(b, b->sequences[sequence].first + first, rows);
    float *out = gemm.out + (row - aligned);

    qkv_linear(&b->layer->qkv, aligned, x, (size_t)c->width, gemm, &b->scratch->packed);
    for (int32_t r = 0; r < rows && !linear; r++) {
        const qkv_norm *norm = what == QKV_QUERIES ? &b->layer->q_norm : &b->layer->k_norm;
        place_heads(b, norm, first + r, heads, out + (size_t)r * gemm.out_stride);
    }
    *out_stride = gemm.out_stride;
    return out;
}

void qkv_block_all_queries(const qkv_block *b, int32_t sequence) {
    const qkv_sequence *s = &b->sequences[sequence];
    const size_t q_width = heads_width(b->config);

    for (int32_t done = 0, rows; done < s->length; done += rows) {
        size_t stride;
        rows = qkv_rows_at_once(s->length - done);
        const float *q = qkv_block_project(b, QKV_QUERIES, 0, sequence, 0, b->config->heads, done, rows, &stride);
        for (int32_t r = 0; r < rows; r++) {
            __builtin_memcpy(b->scratch->q + (size_t)(s->first + done + r) * q_width, q + (size_t)r * stride,
                             q_width * sizeof(float));
        }
    }
}

void qkv_block_copy_keys(const qkv_block *b, int32_t sequence, int32_t head, float *out) {
    const qkv_sequence *s = &b->sequences[sequence];
    qkv_attention_get_keys(keys_of(b, s, qkv_group_of(b->config, head)), s->length, b->config->head_dim, out);
}

void qkv_block_copy_values(const qkv_block *b, int32_t sequence, int32_t head, float *out) {
    const qkv_sequence *s = &b->sequences[sequence];
    qkv_attention_get_values(values_of(b, s, qkv_group_of(b->config, head)), values_stride(s), s->length,
                             b->config->head_dim, out);
}

/* ---- attention ---------------------------------------------------------------------------------------------- */

qkv_attention qkv_block_attention(const qkv_block *b, int32_t sequence, int32_t head, const float *q, size_t q_stride) {
    const qkv_sequence *s = &b->sequences[sequence];
    const int32_t group = qkv_group_of(b->config, head);
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
        .softcap = b->softcap,
        .mask = qkv_mask_none(s->length),
    };

    if (b->relative) a.relative = b->relative + (size_t)head * (2 * (size_t)b->relative_reach + 1) + b->relative_reach;
    if (b->window >= 0) {
        a.mask.from = -(int64_t)b->window;
        a.mask.to = (int64_t)b->window + 1;
    }
    if (b->config->causal) a.mask.to = 1;
    if (b->mask) {
        const size_t plane = (size_t)b->mask_rows * (size_t)s->length;
        a.mask.add = b->mask + (b->mask_heads > 1 ? (size_t)head * plane : 0);
        a.mask.stride = b->mask_rows > 1 ? (size_t)s->length : 0;
    }
    return a;
}

/* Heads of sequences, each cut into `pieces` by rows: part = (sequence, head, piece). */
typedef struct head_region {
    const qkv_block *block;
    int32_t first_sequence, from, pieces;
} head_region;

static void context_part(const void *region, int32_t part, int32_t slot) {
    const head_region *all = region;
    const qkv_block *b = all->block;
    const int32_t heads = b->config->heads, piece = part % all->pieces, h = part / all->pieces % heads;
    const int32_t sequence = all->first_sequence + part / all->pieces / heads;
    const qkv_sequence *s = &b->sequences[sequence];
    const int32_t row0 = all->from + qkv_pool_first(s->length - all->from, piece, all->pieces);
    const int32_t rows = all->from + qkv_pool_first(s->length - all->from, piece + 1, all->pieces) - row0;
    const size_t stride = heads_width(b->config);
    const size_t column = (size_t)s->first * stride + (size_t)qkv_query_row(b->config, h);
    const qkv_attention a = qkv_block_attention(b, sequence, h, b->scratch->q + column, stride);
    float *out = b->scratch->context + column + (size_t)row0 * stride;

    if (!b->ablate || !b->ablate[h]) {
        qkv_attention_context(&a, row0, rows, out, stride, NULL, &b->scratch[slot].attention);
        return;
    }
    for (int32_t i = 0; i < rows; i++) {
        __builtin_memset(out + (size_t)i * stride, 0, (size_t)b->config->head_dim * sizeof(float));
    }
}

/* The most keys that a query of this sequence may see. */
static double keys_in_reach(const qkv_block *b, int32_t length) {
    const double reach = (b->config->causal ? 1.0 : 2.0) * b->window + 1.0;
    return b->window >= 0 && reach < length ? reach : length;
}

void qkv_block_contexts(const qkv_block *b, int32_t first_sequence, int32_t sequences, int32_t from) {
    const int32_t heads = b->config->heads;
    double work = 0;
    int32_t longest = 0;

    for (int32_t n = first_sequence; n < first_sequence + sequences; n++) {
        const int32_t length = b->sequences[n].length;
        longest = larger(longest, length - from);
        work += 4.0 * (length - from) * keys_in_reach(b, length) * (double)heads_width(b->config);
    }
    const int32_t each = sequences * heads, wanted = qkv_pool_parts(larger(longest / LEAST_ROWS, 1) * each, work);
    const head_region region = {b, first_sequence, from, (wanted + each - 1) / each};
    qkv_pool_run(context_part, &region, each * region.pieces, work);
}

void qkv_block_output(const qkv_block *b, int32_t sequence, float *out) {
    const qkv_sequence *s = &b->sequences[sequence];
    const size_t stride = heads_width(b->config), width = (size_t)b->config->width;

    for (int32_t done = 0, rows; done < s->length; done += rows) {
        rows = qkv_rows_at_once(s->length - done);
        const qkv_gemm gemm = {
            .out = out + (size_t)done * width, .out_stride = width, .rows = rows, .cols = b->config->width};
        qkv_linear(&b->layer->o, 0, b->scratch->context + (size_t)(s->first + done) * stride, stride, gemm,
                   &b->scratch->packed);
    }
}

/* ---- the rest of the block ---------------------------------------------------------------------------------- */

static void normalise(const qkv_block *b, const qkv_norm *norm, float *y, const float *x, int32_t rows) {
    const size_t width = (size_t)b->config->width;

    for (int32_t r = 0; r < rows; r++) {
        qkv_norm_row(b->config, norm, y + (size_t)r * width, x + (size_t)r * width, b->config->width);
    }
}

/* out [rows, D] = residual + W x + b, the product through `norm` before the addition where there is one. */
static void add_branch(const qkv_block *b, const qkv_matrix *w, const float *x, size_t x_stride, const qkv_norm *norm,
                       const float *residual, float *out, int32_t rows) {
    const size_t width = (size_t)b->config->width;
    qkv_gemm gemm = {.out = out, .out_stride = width, .rows = rows, .cols = b->config->width};

    if (!norm->weight) {
        gemm.residual = residual;
        gemm.residual_stride = width;
    }
    qkv_linear(w, 0, x, x_stride, gemm, &b->scratch->packed);
    if (!norm->weight) return;
    normalise(b, norm, out, out, rows);
    qkv_add_f32(out, residual, (int)((size_t)rows * width));
}

/* The inner activations of the feed-forward layer in scratch->wide; returns their row stride. */
static size_t feed_in(const qkv_block *b, const float *x, int32_t rows) {
    const qkv_config *c = b->config;
    const size_t ffn = (size_t)c->ffn, stride = c->gated ? 2 * ffn : ffn;
    qkv_gemm gemm = {.out = b->scratch->wide, .out_stride = stride, .rows = rows, .cols = (int)stride};

    if (!c->gated) gemm.activation = c->activation;
    qkv_linear(&b->layer->up, 0, x, (size_t)c->width, gemm, &b->scratch->packed);
    for (int32_t r = 0; r < rows && c->gated; r++) {
        float *row = gemm.out + (size_t)r * stride;
        qkv_gate_f32(row, row, row + ffn, c->ffn, c->activation);
    }
    return stride;
}

/* What the feed-forward layer is a map of: x or y, through the norm of pre-norm and sandwich blocks. */
static const float *feed_input(const qkv_block *b, const float *x, const float *y, int32_t rows) {
    const qkv_norm *norm = b->config->parallel == QKV_PARALLEL_ONE_NORM ? &b->layer->attn_norm : &b->layer->ffn_norm;

    if (b->config->norm_place == QKV_NORM_POST) return y;
    normalise(b, norm, b->scratch->normed, b->config->parallel ? x : y, rows);
    return b->scratch->normed;
}

/* From the contexts to the next x, row by row independent, so in parts: the [T, F] array of the feed-forward layer never
 * exists as a whole. */
static void mix_and_feed_forward(const void *region, int32_t part, int32_t slot) {
    const row_region *all = region;
    const qkv_block own = of_slot(all->block, slot), *b = &own;
    const size_t width = (size_t)b->config->width, heads = heads_width(b->config);
    int32_t first;
    const int32_t rows = rows_of_part(all, part, &first);
    const float *x = b->x + (size_t)first * width;
    const int post = b->config->norm_place == QKV_NORM_POST;
    float *y = b->scratch->narrow, *out = all->next + (size_t)first * width;

    add_branch(b, &b->layer->o, b->scratch->context + (size_t)first * heads, heads, &b->layer->attn_out_norm, x, y,
               rows);
    if (post) normalise(b, &b->layer->attn_norm, y, y, rows);
    const size_t stride = feed_in(b, feed_input(b, x, y, rows), rows);
    add_branch(b, &b->layer->down, b->scratch->wide, stride, &b->layer->ffn_out_norm, y, out, rows);
    if (post) normalise(b, &b->layer->ffn_norm, out, out, rows);
}

void qkv_block_forward(const qkv_block *b, float *next) {
    const qkv_layer *l = b->layer;
    const double rest =
        (double)l->o.rows * l->o.cols + (double)l->up.rows * l->up.cols + (double)l->down.rows * l->down.cols;

    run_by_rows(b, next, project, (double)l->qkv.rows * l->qkv.cols);
    qkv_block_contexts(b, 0, b->sequence_count, b->fresh);
    run_by_rows(b, next, mix_and_feed_forward, rest);
}
