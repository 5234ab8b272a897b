#include "attention.h"

#include "kernels/kernels.h"

#define FLOAT_MAX 3.402823466e38f

static size_t padded(int32_t keys) {
    return ((size_t)keys + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
}

void qkv_attention_scratch_take(qkv_attention_scratch *scratch, qkv_arena *arena, int32_t most_keys, int32_t key_dim) {
    const size_t keys = padded(most_keys);
    const size_t longest = keys > (size_t)key_dim ? keys : (size_t)key_dim;

    scratch->scores = qkv_arena_take(arena, keys * QKV_ROWS_MAX, sizeof(float));
    scratch->panels = qkv_arena_take(arena, longest * QKV_ROWS_MAX, sizeof(float));
    scratch->inverse = qkv_arena_take(arena, QKV_ROWS_MAX, sizeof(float));
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

static const float *mask_row(const qkv_attention *a, int32_t row) {
    return a->mask ? a->mask + (size_t)row * a->mask_stride : NULL;
}

/* Steps 2 to 4 of one row, in place: scale, mask, exp. Returns 1 / sum. The row keeps exp(masked - largest), since one
 * multiplication of the context is cheaper than one of each weight.
 * A row that may see nothing becomes zeros; a row with a NaN or +infinity among its logits has no softmax: all NaN. */
static float soften(const qkv_attention *a, int32_t row, float *scores) {
    const float largest = qkv_scale_f32(scores, scores, a->keys, a->scale, mask_row(a, row));

    if (largest >= -FLOAT_MAX) return 1.0f / qkv_sum_exp_f32(scores, scores, a->keys, largest);
    const float fill = largest < 0.0f ? 0.0f : __builtin_nanf("");
    for (int32_t j = 0; j < a->keys; j++) scores[j] = fill;
    return fill;
}

static int is_finite_row(const float *x, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (!(__builtin_fabsf(x[i]) <= FLOAT_MAX)) return 0;
    }
    return 1;
}

/* The context of one row over the allowed keys only, in key order. For a finite V it has the bits of the GEMM, which adds
 * 0 * v at the masked keys; where V holds a NaN or infinity at a masked key only this one keeps it out. */
static void skip_masked(const qkv_attention *a, int32_t row, const float *weights, float inverse, float *out) {
    const float *mask = mask_row(a, row);

    for (int32_t c = 0; c < a->value_dim; c += QKV_PANEL) {
        const float *panel = a->v + (size_t)(c / QKV_PANEL) * a->v_stride;
        const int32_t lanes = a->value_dim - c < QKV_PANEL ? a->value_dim - c : QKV_PANEL;
        for (int32_t i = 0; i < lanes; i++) {
            float sum = 0.0f;
            for (int32_t j = 0; j < a->keys; j++) {
                if (mask[j] >= -FLOAT_MAX) sum += weights[j] * panel[(size_t)j * QKV_PANEL + (size_t)i];
            }
            out[c + i] = sum * inverse;
        }
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
        .row_scale = scratch->inverse,
    };

    qkv_pack_f32(scratch->panels, scores, stride, rows, a->keys);
    qkv_gemm_f32(&gemm, scratch->panels, a->v);
    for (int32_t r = 0; a->mask && r < rows; r++) {
        float *row = out + (size_t)r * out_stride;
        if (is_finite_row(row, a->value_dim)) continue;
        skip_masked(a, row0 + r, scores + (size_t)r * stride, scratch->inverse[r], row);
    }
}

void qkv_attention_context(const qkv_attention *a, int32_t row0, int32_t rows, float *out, size_t out_stride,
                           const qkv_attention_scratch *scratch) {
    const size_t stride = padded(a->keys);

    for (int32_t done = 0; done < rows;) {
        const int32_t block = qkv_row_block(rows - done);
        multiply_keys(a, row0 + done, block, scratch->scores, stride, scratch);
        for (int32_t r = 0; r < block; r++) {
            scratch->inverse[r] = soften(a, row0 + done + r, scratch->scores + (size_t)r * stride);
        }
        multiply_values(a, row0 + done, block, scratch->scores, stride, out + (size_t)done * out_stride, out_stride,
                        scratch);
        done += block;
    }
}

/* ---- the same steps, stopped where asked -------------------------------------------------------------------- */

static void finish_row(const qkv_attention *a, qkv_stage stage, int32_t row, float *scores) {
    if (stage == QKV_STAGE_WEIGHTS) {
        const float inverse = soften(a, row, scores);
        qkv_mul_f32(scores, scores, a->keys, inverse);
    } else if (stage == QKV_STAGE_MASKED) {
        qkv_scale_f32(scores, scores, a->keys, a->scale, mask_row(a, row));
    } else if (stage > QKV_STAGE_SCORES) { /* scaled, capped, biased: no cap and no bias here */
        qkv_scale_f32(scores, scores, a->keys, a->scale, NULL);
    }
}

void qkv_attention_map(const qkv_attention *a, qkv_stage stage, int32_t row0, int32_t rows, float *out,
                       const qkv_attention_scratch *scratch) {
    const size_t stride = (size_t)a->keys;

    for (int32_t done = 0; done < rows;) {
        const int32_t block = qkv_row_block(rows - done);
        float *scores = out + (size_t)done * stride;
        multiply_keys(a, row0 + done, block, scores, stride, scratch);
        for (int32_t r = 0; r < block; r++) finish_row(a, stage, row0 + done + r, scores + (size_t)r * stride);
        done += block;
    }
}
