#include "attention.h"

#include "kernels/kernels.h"

#define FLOAT_MAX 3.402823466e38f

static size_t padded(int32_t keys) {
    return ((size_t)keys + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
}

void qkv_attention_scratch_take(qkv_attention_scratch *scratch, qkv_arena *arena, int32_t most_keys, int32_t key_dim) {
    const size_t keys = padded(most_keys);
    const size_t longest = keys > (size_t)key_dim ? keys : (size_t)key_dim;

    scratch->scores = qkv_arena_take(arena, keys, QKV_ROWS_MAX * sizeof(float));
    scratch->panels = qkv_arena_take(arena, longest, QKV_ROWS_MAX * sizeof(float));
    scratch->inverse = qkv_arena_take(arena, QKV_ROWS_MAX, sizeof(float));
    scratch->bias = qkv_arena_take(arena, keys, sizeof(float));
    scratch->values = qkv_arena_take(arena, keys, QKV_PANEL * sizeof(float));
}

/* ---- keys and values in panels ------------------------------------------------------------------------------ */

void qkv_attention_put_keys(float *k_panels, int32_t row0, const float *rows, size_t stride, int32_t n, int32_t dim) {
    qkv_weights_f32(k_panels, row0, rows, stride, n, dim);
}

void qkv_attention_put_values(float *v_panels, size_t v_stride, int32_t row0, const float *rows, size_t stride,
                              int32_t n, int32_t dim) {
    for (int32_t c = 0; c < dim; c += QKV_PANEL) {
        float *to = v_panels + (size_t)(c / QKV_PANEL) * v_stride + (size_t)row0 * QKV_PANEL;
        const float *from = rows + c;
        const int32_t lanes = dim - c < QKV_PANEL ? dim - c : QKV_PANEL;
        for (int32_t j = 0; j < n; j++, to += QKV_PANEL, from += stride) {
            if (lanes == QKV_PANEL) {
                __builtin_memcpy(to, from, QKV_PANEL * sizeof(float));
                continue;
            }
            for (int32_t i = 0; i < QKV_PANEL; i++) to[i] = i < lanes ? from[i] : 0.0f;
        }
    }
}

void qkv_attention_get_keys(const float *k_panels, int32_t n, int32_t dim, float *out) {
    for (int32_t j = 0; j < n; j++) {
        const float *from = k_panels + (size_t)(j / QKV_PANEL) * (size_t)dim * QKV_PANEL + j % QKV_PANEL;
        for (int32_t e = 0; e < dim; e++) *out++ = from[(size_t)e * QKV_PANEL];
    }
}

void qkv_attention_get_values(const float *v_panels, size_t v_stride, int32_t n, int32_t dim, float *out) {
    for (int32_t j = 0; j < n; j++) {
        for (int32_t e = 0; e < dim; e++) {
            *out++ = v_panels[(size_t)(e / QKV_PANEL) * v_stride + (size_t)j * QKV_PANEL + (size_t)(e % QKV_PANEL)];
        }
    }
}

/* ---- who may see whom --------------------------------------------------------------------------------------- */

qkv_mask qkv_mask_none(int32_t keys) {
    return (qkv_mask){.allowed = 1, .columns = keys, .limit = keys, .from = -QKV_UNBOUNDED, .to = QKV_UNBOUNDED};
}

static int32_t clamp(int64_t value, int32_t most) {
    return value < 0 ? 0 : value > most ? most : (int32_t)value;
}

/* The span [*out_first, *out_last) of keys that no edge forbids to query i; the rows of add or flags may forbid more. */
static void span(const qkv_attention *a, int32_t i, int32_t *out_first, int32_t *out_last) {
    const qkv_mask *mask = &a->mask;
    const int32_t most = mask->limit < mask->columns ? mask->limit : mask->columns;

    *out_last = clamp(i + mask->to, most < a->keys ? clamp(most, a->keys) : a->keys);
    *out_first = clamp(i + mask->from, *out_last);
}

/* What is added to the logits of query i, -infinity where a key is forbidden; NULL when all are allowed and nothing is
 * added. room: [keys], used when the row has to be put together. */
static const float *bias_row(const qkv_attention *a, int32_t i, float *room) {
    const qkv_mask *mask = &a->mask;
    const size_t row = (size_t)i * mask->stride;
    int32_t first, last;

    span(a, i, &first, &last);
    const int whole = first == 0 && last == a->keys;
    if (whole && !mask->flags) return mask->add ? mask->add + row : NULL;
    for (int32_t j = 0; j < a->keys; j++) {
        int allowed = j >= first && j < last;
        if (allowed && mask->flags) allowed = (mask->flags[row + (size_t)j] != 0) == mask->allowed;
        room[j] = !allowed ? -__builtin_inff() : mask->add ? mask->add[row + (size_t)j] : 0.0f;
    }
    return room;
}

static int is_empty(const float *bias, int32_t keys) {
    if (!bias) return keys == 0;
    for (int32_t j = 0; j < keys; j++) {
        if (!(bias[j] < -FLOAT_MAX)) return 0; /* a NaN is not a mask */
    }
    return 1;
}

/* ---- the steps ---------------------------------------------------------------------------------------------- */

/* Step 1, scores[R, M] = Q K^T of one block. */
static void multiply_keys(const qkv_attention *a, int32_t row0, int32_t rows, float *scores, size_t stride,
                          const qkv_attention_scratch *scratch) {
    const qkv_gemm gemm = {
        .out = scores,
        .out_stride = stride,
        .rows = rows,
        .k = a->key_dim,
        .cols = a->keys,
        .panel_stride = (size_t)a->key_dim * QKV_PANEL,
    };

    qkv_pack_f32(scratch->panels, a->q + (size_t)row0 * a->q_stride, a->q_stride, rows, a->key_dim);
    qkv_gemm_f32(&gemm, scratch->panels, a->k);
}

/* Step 2, the logits of row i before the mask, in place: scale, then the cap, then the relative bias. */
static void scale_and_cap(const qkv_attention *a, float *scores) {
    qkv_scale_f32(scores, scores, a->keys, a->scale, NULL);
    if (a->softcap > 0.0f) qkv_softcap_f32(scores, scores, a->keys, a->softcap);
}

static void add_relative(const qkv_attention *a, int32_t i, float *scores) {
    if (a->relative) qkv_add_f32(scores, a->relative - i, a->keys);
}

/* Step 3: the mask. Returns the largest logit, see scale_f32. With nothing in between, scaling and mask are one pass. */
static float mask_logits(const qkv_attention *a, int32_t i, const float *bias, float *scores) {
    if (!(a->softcap > 0.0f) && !a->relative) return qkv_scale_f32(scores, scores, a->keys, a->scale, bias);
    scale_and_cap(a, scores);
    add_relative(a, i, scores);
    return qkv_scale_f32(scores, scores, a->keys, 1.0f, bias);
}

/* Steps 2 to 4 of one row, in place: logits, mask, exp. Returns 1 / sum. The row keeps exp(masked - largest), since one
 * multiplication of the context is cheaper than one of each weight.
 * A row that may see nothing becomes what `empty` says; a row without a softmax (NaN or +infinity among its logits, or
 * nothing but -infinity though keys are allowed) becomes NaN. */
static float soften(const qkv_attention *a, int32_t i, const float *bias, float *scores) {
    const int plain = !bias && !a->relative && !(a->softcap > 0.0f); /* then the logits need not be written down */
    float least = -__builtin_inff();
    const float largest = plain ? qkv_range_f32(&least, scores, a->keys, a->scale) : mask_logits(a, i, bias, scores);
    const float scale = plain ? a->scale : 1.0f;

    if (largest >= -FLOAT_MAX) return 1.0f / qkv_sum_exp_scaled_f32(scores, scores, a->keys, scale, largest, least);
    const float fill = is_empty(bias, a->keys) ? a->empty : __builtin_nanf("");
    for (int32_t j = 0; j < a->keys; j++) scores[j] = fill;
    return fill;
}

static int is_finite_row(const float *x, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (!(__builtin_fabsf(x[i]) <= FLOAT_MAX)) return 0;
    }
    return 1;
}

/* The context of one row once more, with zeros for the values it may not see: where V holds a NaN or an infinity at a
 * masked key, 0 * v would bring it in. The same GEMM over the same keys, so for a finite V the bits are the same too. */
static void skip_masked(const qkv_attention *a, const float *bias, const float *weights, const float *inverse,
                        float *out, const qkv_attention_scratch *scratch) {
    qkv_gemm gemm = {.rows = 1, .k = a->keys, .panel_stride = a->v_stride, .row_scale = inverse};

    qkv_pack_f32(scratch->panels, weights, 0, 1, a->keys);
    for (int32_t c = 0; c < a->value_dim; c += QKV_PANEL) {
        const float *v = a->v + (size_t)(c / QKV_PANEL) * a->v_stride;
        for (int32_t j = 0; j < a->keys; j++) {
            float *to = scratch->values + (size_t)j * QKV_PANEL;
            if (bias[j] < -FLOAT_MAX) {
                __builtin_memset(to, 0, QKV_PANEL * sizeof(float));
            } else {
                __builtin_memcpy(to, v + (size_t)j * QKV_PANEL, QKV_PANEL * sizeof(float));
            }
        }
        gemm.out = out + c;
        gemm.cols = a->value_dim - c < QKV_PANEL ? a->value_dim - c : QKV_PANEL;
        qkv_gemm_f32(&gemm, scratch->panels, scratch->values);
    }
}

/* Step 5, out[R, Ev] = (exp rows) V / sum. */
static void multiply_values(const qkv_attention *a, int32_t row0, int32_t rows, const float *scores, size_t stride,
                            float *out, size_t out_stride, const qkv_attention_scratch *scratch) {
    const qkv_gemm gemm = {
        .out = out,
        .out_stride = out_stride,
        .rows = rows,
        .k = a->keys,
        .cols = a->value_dim,
        .panel_stride = a->v_stride,
    };

    qkv_pack_f32(scratch->panels, scores, stride, rows, a->keys);
    qkv_gemm_f32(&gemm, scratch->panels, a->v);
    if (qkv_mul_rows_f32(out, out_stride, scratch->inverse, rows, a->value_dim)) return;
    for (int32_t r = 0; r < rows; r++) {
        float *row = out + (size_t)r * out_stride;
        if (is_finite_row(row, a->value_dim)) continue;
        const float *bias = bias_row(a, row0 + r, scratch->bias);
        if (is_empty(bias, a->keys)) {
            for (int32_t c = 0; c < a->value_dim; c++) row[c] = a->empty;
        } else if (bias) {
            skip_masked(a, bias, scores + (size_t)r * stride, scratch->inverse + r, row, scratch);
        }
    }
}

/* The same attention over the keys that some of the rows may see: behind a causal edge nothing is computed. Leaving out
 * keys of weight 0 changes no bit of a sum. */
static qkv_attention within_reach(const qkv_attention *a, int32_t row0, int32_t rows) {
    qkv_attention near = *a;
    int32_t first;

    span(a, row0 + rows - 1, &first, &near.keys); /* the edges never go back from row to row */
    return near;
}

/* out[M]: the weights of a row that has `reach` of them as exponentials. */
static void write_weights(float *out, const float *scores, float inverse, int32_t reach, int32_t keys) {
    qkv_mul_f32(out, scores, reach, inverse);
    for (int32_t j = reach; j < keys; j++) out[j] = 0.0f * inverse; /* NaN in a row of NaN */
}

void qkv_attention_context(const qkv_attention *a, int32_t row0, int32_t rows, float *out, size_t out_stride,
                           float *weights, const qkv_attention_scratch *scratch) {
    const size_t stride = padded(a->keys);

    for (int32_t done = 0; done < rows;) {
        const int32_t block = qkv_row_block(rows - done);
        const qkv_attention near = within_reach(a, row0 + done, block);
        multiply_keys(&near, row0 + done, block, scratch->scores, stride, scratch);
        for (int32_t r = 0; r < block; r++) {
            float *scores = scratch->scores + (size_t)r * stride;
            const float *bias = bias_row(&near, row0 + done + r, scratch->bias);
            scratch->inverse[r] = soften(&near, row0 + done + r, bias, scores);
            if (!weights) continue;
            write_weights(weights + (size_t)(done + r) * (size_t)a->keys, scores, scratch->inverse[r], near.keys,
                          a->keys);
        }
        multiply_values(&near, row0 + done, block, scratch->scores, stride, out + (size_t)done * out_stride, out_stride,
                        scratch);
        done += block;
    }
}

/* ---- the same steps, stopped where asked -------------------------------------------------------------------- */

/* Row i of the scores, on to the stage. */
static void finish_row(const qkv_attention *a, qkv_stage stage, int32_t i, const float *bias, float *scores) {
    switch (stage) {
    case QKV_STAGE_SCORES: break;
    case QKV_STAGE_SCALED: qkv_scale_f32(scores, scores, a->keys, a->scale, NULL); break;
    case QKV_STAGE_CAPPED: scale_and_cap(a, scores); break;
    case QKV_STAGE_BIASED:
        scale_and_cap(a, scores);
        add_relative(a, i, scores);
        break;
    case QKV_STAGE_MASKED: mask_logits(a, i, bias, scores); break;
    default: qkv_mul_f32(scores, scores, a->keys, soften(a, i, bias, scores)); break;
    }
}

void qkv_attention_map(const qkv_attention *a, qkv_stage stage, int32_t row0, int32_t rows, float *out,
                       const qkv_attention_scratch *scratch) {
    const size_t stride = (size_t)a->keys;

    for (int32_t done = 0; done < rows;) {
        const int32_t block = qkv_row_block(rows - done);
        float *scores = out + (size_t)done * stride;
        multiply_keys(a, row0 + done, block, scores, stride, scratch);
        for (int32_t r = 0; r < block; r++) {
            const int32_t i = row0 + done + r;
            finish_row(a, stage, i, bias_row(a, i, scratch->bias), scores + (size_t)r * stride);
        }
        done += block;
    }
}
