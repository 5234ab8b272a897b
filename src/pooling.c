/* pooling.c - the last hidden state as one vector. Rows are taken one after the other, upwards, so every sum has one order
 * and a sequence has the same bits alone and in a batch. */
#include "run.h"
#include "status.h"

/* Every row but the first is made in scratch memory and joined to what is there. */
static void pool_rows(const qkv_run *run, const qkv_sequence *s, qkv_pooling pooling, int32_t first, float *out) {
    const int32_t width = run->model->config.width;

    for (int32_t i = first; i < s->length; i++) {
        float *row = i == first ? out : run->scratch->normed;
        qkv_run_final(run, s->first + i, 1, row);
        if (pooling == QKV_POOL_WEIGHTED_MEAN) qkv_mul_f32(row, row, width, (float)(i + 1));
        if (i == first) continue;
        if (pooling == QKV_POOL_MAX) {
            qkv_max_f32(out, row, width);
        } else {
            qkv_add_f32(out, row, width);
        }
    }
}

/* What the sum of rows [first, length) is divided by. */
static float divisor(qkv_pooling pooling, int32_t first, int32_t length) {
    const double rows = length - first, places = (double)first + 1 + length;

    if (pooling == QKV_POOL_WEIGHTED_MEAN) return (float)(rows * places / 2);
    return pooling == QKV_POOL_MEAN_SQRT_LEN ? __builtin_sqrtf((float)rows) : (float)rows;
}

qkv_status qkv_embedding(qkv_run *run, int32_t sequence, qkv_pooling pooling, int32_t first, int32_t normalize,
                         float *out, qkv_error *err) {
    const int32_t layers = run->model->config.layers, width = run->model->config.width;

    QKV_FAIL_IF(sequence < 0 || sequence >= run->sequence_count, QKV_RANGE, "sequence", sequence,
                run->sequence_count - 1);
    QKV_FAIL_IF(pooling >= QKV_POOL_COUNT, QKV_ARGUMENT, "pooling", pooling, QKV_POOL_COUNT - 1);
    QKV_FAIL_IF(run->done < layers, QKV_STATE, "the layer has not been run", layers - 1, run->done - 1);
    const qkv_sequence *s = &run->sequences[sequence];
    QKV_FAIL_IF(first < 0 || first >= s->length, QKV_RANGE, "first row", first, s->length - 1);
    if (pooling == QKV_POOL_CLS || pooling == QKV_POOL_LAST) {
        qkv_run_final(run, s->first + (pooling == QKV_POOL_CLS ? first : s->length - 1), 1, out);
    } else {
        pool_rows(run, s, pooling, first, out);
        if (pooling != QKV_POOL_MAX) qkv_mul_f32(out, out, width, 1.0f / divisor(pooling, first, s->length));
    }
    const float norm = __builtin_sqrtf(qkv_dot_f32(out, out, width));
    if (normalize && norm > 0.0f) qkv_mul_f32(out, out, width, 1.0f / norm);
    return QKV_OK;
}
