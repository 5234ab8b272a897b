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

/* ---- which keys a query may see --------------------------------------------------------------------------------------- */

qkv_mask qkv_mask_none(int32_t keys) {
    return (qkv_mask){.allowed = 1, .columns = keys, .limit = keys, .from = -QKV_UNBOUNDED, .to = QKV_UNBOUNDED};
}

static int32_t clamp(int64_t value, int32_t most) {
    return value < 0 ? 0 : value > most ? most : (int32_t)value;
}

/* The keys that neither window nor causal edge nor limit forbids to query i; the mask's add or flags may forbid more of them.
 * From one query to the next neither end of the span moves to the left. */
static qkv_span span_of(const qkv_mask *mask, int32_t keys, int32_t i) {
    const int32_t most = mask->limit < mask->columns ? mask->limit : mask->columns;
    const int32_t last = clamp(i + mask->to, clamp(most, keys));

    return (qkv_span){.first = clamp(i + mask->from, last), .last = last};
}

qkv_span qkv_mask_reach(const qkv_mask *mask, int32_t keys, int32_t row0, int32_t rows) {
    return (qkv_span){.first = span_of(mask, keys, row0).first / QKV_PANEL * QKV_PANEL,
                      .last = span_of(mask, keys, row0 + rows - 1).last};
}

/* What is added to the logits of query i within its span, -infinity where a key is forbidden; NULL when nothing is added. room:
 * [keys], where the row is made when it does not stand in memory as it is. */
static const float *bias_row(const qkv_attention *a, int32_t i, qkv_span own, float *room) {
    const qkv_mask *mask = &a->mask;
    const size_t row = (size_t)i * mask->stride;

    if (!mask->flags) return mask->add ? mask->add + row : NULL;
    for (int32_t j = own.first; j < own.last; j++) {
        const int allowed = (mask->flags[row + (size_t)j] != 0) == mask->allowed;
        room[j] = allowed ? 0.0f : -__builtin_inff();
    }
    return room;
}

static int is_masked(const float *bias, qkv_span own, int32_t j) {
    if (j < own.first || j >= own.last) return 1;
    return bias && bias[j] < -FLOAT_MAX; /* a NaN is not a mask */
}

static int is_empty(const float *bias, qkv_span own) {
    for (int32_t j = own.first; j < own.last; j++) {
        if (!is_masked(bias, own, j)) return 0;
    }
    return 1;
}

/* The same attention over the keys that some of the rows may see, whole panels from key *out_first on: beyond the edges
 * nothing is computed. Leaving out keys of weight 0 changes no bit of a sum. */
static qkv_attention within_reach(const qkv_attention *a, int32_t row0, int32_t rows, int32_t *out_first) {
    const qkv_span reach = qkv_mask_reach(&a->mask, a->keys, row0, rows);
    const int32_t first = reach.first;
    qkv_attention near = *a;

    near.k += (size_t)first * (size_t)a->key_dim;
    near.v += (size_t)first * QKV_PANEL;
    near.keys = reach.last - first; /* which no limit of the mask is below */
    if (a->relative) near.relative += first;
    if (a->mask.add) near.mask.add += first;
    if (a->mask.flags) near.mask.flags += first;
    near.mask.from -= first;
    near.mask.to -= first;
    *out_first = first;
    return near;
}

/* Sets row[keys] to a value, except the `reach` keys from `first` on. Mostly a few floats are set. Not inlined: with a constant
 * value clang would make two calls of memory.fill of it, which are slow for so few. */
static __attribute__((noinline)) void fill_beyond(float *row, int32_t keys, int32_t first, int32_t reach, float value) {
    for (int32_t j = 0; j < first; j++) row[j] = value;
    for (int32_t j = first + reach; j < keys; j++) row[j] = value;
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

/* Step 2 before the relative bias, of n logits of a row, in place: scale, then the cap. */
static void scale_and_cap(const qkv_attention *a, float *scores, int32_t n) {
    qkv_scale_f32(scores, scores, n, a->scale, NULL);
    if (a->softcap > 0.0f) qkv_softcap_f32(scores, scores, n, a->softcap);
}

/* The end of step 2, n logits of row i from key `first` on, in place. */
static void add_relative(const qkv_attention *a, int32_t i, int32_t first, float *scores, int32_t n) {
    if (a->relative) qkv_add_f32(scores, a->relative + first - i, n);
}

/* Step 3: the mask, within the row's span. Returns the largest logit, see scale_f32. With nothing in between, scaling and mask
 * are one pass. */
static float mask_logits(const qkv_attention *a, int32_t i, qkv_span own, const float *bias, float *scores) {
    const int32_t n = own.last - own.first;
    float *logits = scores + own.first;

    if (bias) bias += own.first;
    if (!(a->softcap > 0.0f) && !a->relative) return qkv_scale_f32(logits, logits, n, a->scale, bias);
    scale_and_cap(a, logits, n);
    add_relative(a, i, own.first, logits, n);
    return qkv_scale_f32(logits, logits, n, 1.0f, bias);
}

/* Steps 2 to 4 of one row, in place: logits, mask, exp. Returns 1 / sum. The row keeps exp(masked - largest), since one
 * multiplication of the context is cheaper than one of each weight. A sum of four lanes may begin at any key:
 * the lanes change places, but the same pairs of them are added.
 * A row that may see nothing becomes what `empty` says; a row without a softmax (NaN or +infinity among its logits, or
 * nothing but -infinity though keys are allowed) becomes NaN.
 * Inlined: called for each row, it would take a thirtieth of the attention of 128 keys. */
static inline __attribute__((always_inline)) float soften(const qkv_attention *a, int32_t i, qkv_span own,
                                                          const float *bias, float *scores) {
    const int plain = !bias && !a->relative && !(a->softcap > 0.0f); /* then the logits need not be written down */
    const int32_t n = own.last - own.first;
    float *x = scores + own.first, least = -__builtin_inff();
    const float largest = plain ? qkv_range_f32(&least, x, n, a->scale) : mask_logits(a, i, own, bias, scores);
    const float scale = plain ? a->scale : 1.0f;

    if (largest >= -FLOAT_MAX) {
        fill_beyond(scores, a->keys, own.first, n, 0.0f);
        return 1.0f / qkv_sum_exp_scaled_f32(x, x, n, scale, largest, least);
    }
    const float fill = is_empty(bias, own) ? a->empty : __builtin_nanf("");
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
static void skip_masked(const qkv_attention *a, qkv_span own, const float *bias, const float *weights,
                        const float *inverse, float *out, const qkv_attention_scratch *scratch) {
    qkv_gemm gemm = {.rows = 1, .k = a->keys, .panel_stride = a->v_stride, .row_scale = inverse};

    qkv_pack_f32(scratch->panels, weights, 0, 1, a->keys);
    for (int32_t c = 0; c < a->value_dim; c += QKV_PANEL) {
        const float *v = a->v + (size_t)(c / QKV_PANEL) * a->v_stride;
        for (int32_t j = 0; j < a->keys; j++) {
            float *to = scratch->values + (size_t)j * QKV_PANEL;
            if (is_masked(bias, own, j)) {
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
        const qkv_span own = span_of(&a->mask, a->keys, row0 + r);
        const float *bias = bias_row(a, row0 + r, own, scratch->bias);
        if (is_empty(bias, own)) {
            for (int32_t c = 0; c < a->value_dim; c++) row[c] = a->empty;
        } else if (bias || own.last - own.first < a->keys) {
            skip_masked(a, own, bias, scores + (size_t)r * stride, scratch->inverse + r, row, scratch);
        }
    }
}

void qkv_attention_context(const qkv_attention *a, int32_t row0, int32_t rows, float *out, size_t out_stride,
                           float *weights, const qkv_attention_scratch *scratch) {
    const size_t stride = padded(a->keys);

    for (int32_t done = 0; done < rows;) {
        const int32_t block = qkv_row_block(rows - done);
        int32_t first;
        const qkv_attention near = within_reach(a, row0 + done, block, &first);
        multiply_keys(&near, row0 + done, block, scratch->scores, stride, scratch);
        for (int32_t r = 0; r < block; r++) {
            const int32_t i = row0 + done + r;
            const qkv_span own = span_of(&near.mask, near.keys, i);
            float *scores = scratch->scores + (size_t)r * stride;
            const float inverse = soften(&near, i, own, bias_row(&near, i, own, scratch->bias), scores);
            scratch->inverse[r] = inverse;
            if (!weights) continue;
            float *row = weights + (size_t)(done + r) * (size_t)a->keys;
            qkv_mul_f32(row + first, scores, near.keys, inverse);
            fill_beyond(row, a->keys, first, near.keys, 0.0f * inverse); /* NaN in a row of NaN */
        }
        multiply_values(&near, row0 + done, block, scratch->scores, stride, out + (size_t)done * out_stride, out_stride,
                        scratch);
        done += block;
    }
}

/* ---- the same steps, stopped where asked -------------------------------------------------------------------- */

/* Row i of the scores, on to the stage. Returns what the stage has beyond the keys of a. */
static float finish_row(const qkv_attention *a, qkv_stage stage, int32_t i, float *scores, float *room) {
    const qkv_span own = span_of(&a->mask, a->keys, i);
    const float *bias = bias_row(a, i, own, room);

    if (stage >= QKV_STAGE_WEIGHTS) {
        const float inverse = soften(a, i, own, bias, scores);
        qkv_mul_f32(scores, scores, a->keys, inverse);
        return 0.0f * inverse;
    }
    if (stage == QKV_STAGE_MASKED) {
        mask_logits(a, i, own, bias, scores);
        fill_beyond(scores, a->keys, own.first, own.last - own.first, -__builtin_inff());
        return -__builtin_inff();
    }
    if (stage == QKV_STAGE_SCALED) qkv_scale_f32(scores, scores, a->keys, a->scale, NULL);
    if (stage == QKV_STAGE_CAPPED || stage == QKV_STAGE_BIASED) scale_and_cap(a, scores, a->keys);
    if (stage == QKV_STAGE_BIASED) add_relative(a, i, 0, scores, a->keys);
    return 0.0f;
}

void qkv_attention_map(const qkv_attention *a, qkv_stage stage, int32_t row0, int32_t rows, float *out,
                       const qkv_attention_scratch *scratch) {
    const size_t stride = (size_t)a->keys;

    for (int32_t done = 0; done < rows;) {
        const int32_t block = qkv_row_block(rows - done);
        float *scores = out + (size_t)done * stride;
        int32_t first = 0;
        const qkv_attention near = stage < QKV_STAGE_MASKED ? *a : within_reach(a, row0 + done, block, &first);
        multiply_keys(&near, row0 + done, block, scores + first, stride, scratch);
        for (int32_t r = 0; r < block; r++, scores += stride) {
            const float beyond = finish_row(&near, stage, row0 + done + r, scores + first, scratch->bias);
            fill_beyond(scores, a->keys, first, near.keys, beyond);
        }
        done += block;
    }
}
