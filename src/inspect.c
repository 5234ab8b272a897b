/* inspect.c - looking into a finished forward pass: any stage of any head, recomputed from the kept block inputs, K and V
 * with the kernels of the forward pass. Only scratch memory is written, so a run can be looked at in any order. */
#include "run.h"
#include "status.h"

qkv_status qkv_check_kind(const qkv_run *run, qkv_kind kind, qkv_error *err) {
    const qkv_kind own = run->model->config.causal ? QKV_KIND_DECODER : QKV_KIND_ENCODER;
    QKV_FAIL_IF(kind != own, QKV_ARGUMENT, "kind", kind, own);
    return QKV_OK;
}

static qkv_status check_place(const qkv_run *run, qkv_kind kind, int32_t layer, int32_t last_layer, int32_t sequence,
                              qkv_error *err) {
    QKV_TRY(qkv_check_kind(run, kind, err));
    QKV_FAIL_IF(layer < 0 || layer > last_layer, QKV_RANGE, "layer", layer, last_layer);
    QKV_FAIL_IF(sequence < 0 || sequence >= run->sequence_count, QKV_RANGE, "sequence", sequence,
                run->sequence_count - 1);
    return QKV_OK;
}

static qkv_status check_head(const qkv_run *run, int32_t head, qkv_error *err) {
    QKV_FAIL_IF(head < 0 || head >= run->model->config.heads, QKV_RANGE, "head", head, run->model->config.heads - 1);
    return QKV_OK;
}

/* Queries or keys [row0, row0 + rows) of one head (query head or kv head), written side by side: out [rows, E]. */
static void copy_projection(const qkv_block *b, qkv_projection what, int linear, int32_t sequence, int32_t head,
                            int32_t row0, int32_t rows, float *out) {
    const size_t dim = (size_t)b->config->head_dim;

    for (int32_t done = 0, block; done < rows; done += block) {
        size_t stride;
        block = rows - done < QKV_TOKENS_AT_ONCE ? rows - done : QKV_TOKENS_AT_ONCE;
        const float *q = qkv_block_project(b, what, linear, sequence, head, 1, row0 + done, block, &stride);
        for (int32_t r = 0; r < block; r++, out += dim) {
            __builtin_memcpy(out, q + (size_t)r * stride, dim * sizeof(float));
        }
    }
}

static void copy_queries(const qkv_block *b, int32_t sequence, int32_t head, int32_t row0, int32_t rows, float *out) {
    copy_projection(b, QKV_QUERIES, 0, sequence, head, row0, rows, out);
}

/* ---- maps: [N, M] stages ------------------------------------------------------------------------------------ */

/* Query row0 of the sequence is row 0 of the window, so mask and relative biases move along. */
static void map_rows(const qkv_block *b, int32_t sequence, int32_t head, qkv_stage stage, int32_t row0, int32_t rows,
                     float *out) {
    float *q = b->scratch->q; /* free between forwards: [T, H E] has room for N queries of one head */

    copy_queries(b, sequence, head, row0, rows, q);
    qkv_attention a = qkv_block_attention(b, sequence, head, q, (size_t)b->config->head_dim);
    if (a.mask.add) a.mask.add += (size_t)row0 * a.mask.stride;
    if (a.relative) a.relative -= row0;
    a.mask.from += row0;
    a.mask.to += row0;
    qkv_attention_map(&a, stage, 0, rows, out, &b->scratch->attention);
}

qkv_status qkv_get_weights(qkv_run *run, qkv_kind kind, int32_t layer, int32_t head, qkv_stage stage, int32_t sequence,
                           int32_t row0, int32_t rows, float *out, qkv_error *err) {
    QKV_TRY(check_place(run, kind, layer, run->model->config.layers - 1, sequence, err));
    QKV_TRY(check_head(run, head, err));
    QKV_FAIL_IF(stage < QKV_STAGE_SCORES || stage > QKV_STAGE_WEIGHTS, QKV_ARGUMENT, "stage of a map", stage,
                QKV_STAGE_WEIGHTS);
    QKV_FAIL_IF(layer >= run->done, QKV_STATE, "the layer has not been run", layer, run->done - 1);
    const int32_t length = run->sequences[sequence].length;
    QKV_FAIL_IF(row0 < 0 || row0 > length, QKV_RANGE, "first row", row0, length);
    QKV_FAIL_IF(rows < 0 || rows > length - row0, QKV_RANGE, "rows", rows, length - row0);
    const qkv_block block = qkv_run_block(run, layer);
    map_rows(&block, sequence, head, stage, row0, rows, out);
    return QKV_OK;
}

/* ---- stages ------------------------------------------------------------------------------------------------- */

static void copy_rows(const float *from, const qkv_sequence *s, size_t width, float *out) {
    __builtin_memcpy(out, from + (size_t)s->first * width, (size_t)s->length * width * sizeof(float));
}

static void copy_context(const qkv_block *b, int32_t sequence, int32_t head, float *out) {
    const int32_t length = b->sequences[sequence].length;
    const size_t dim = (size_t)b->config->head_dim;

    if (b->ablate && b->ablate[head]) {
        __builtin_memset(out, 0, (size_t)length * dim * sizeof(float));
        return;
    }
    copy_queries(b, sequence, head, 0, length, b->scratch->q);
    const qkv_attention a = qkv_block_attention(b, sequence, head, b->scratch->q, dim);
    qkv_attention_context(&a, 0, length, out, dim, NULL, &b->scratch->attention);
}

static void copy_mixed(const qkv_block *b, int32_t sequence, qkv_stage stage, float *out) {
    qkv_block_all_queries(b, sequence);
    qkv_block_contexts(b, sequence, 1, 0);
    if (stage == QKV_STAGE_OUTPUT) {
        qkv_block_output(b, sequence, out);
    } else {
        copy_rows(b->scratch->context, &b->sequences[sequence], (size_t)(b->config->heads * b->config->head_dim), out);
    }
}

/* What Q, K and V are made of. */
static void copy_inputs(const qkv_block *b, int32_t sequence, float *out) {
    const qkv_sequence *s = &b->sequences[sequence];
    const size_t width = (size_t)b->config->width;

    for (int32_t done = 0, rows; done < s->length; done += rows) {
        rows = qkv_rows_at_once(s->length - done);
        const float *x = qkv_block_inputs(b, s->first + done, rows);
        __builtin_memcpy(out + (size_t)done * width, x, (size_t)rows * width * sizeof(float));
    }
}

static void copy_stage(const qkv_block *b, int32_t sequence, int32_t head, qkv_stage stage, float *out) {
    const int32_t length = b->sequences[sequence].length;

    switch (stage) {
    case QKV_STAGE_X: copy_inputs(b, sequence, out); break;
    case QKV_STAGE_Q_LINEAR: copy_projection(b, QKV_QUERIES, 1, sequence, head, 0, length, out); break;
    case QKV_STAGE_K_LINEAR:
        copy_projection(b, QKV_KEYS, 1, sequence, qkv_group_of(b->config, head), 0, length, out);
        break;
    case QKV_STAGE_Q: copy_queries(b, sequence, head, 0, length, out); break;
    case QKV_STAGE_K: qkv_block_copy_keys(b, sequence, head, out); break;
    case QKV_STAGE_V: qkv_block_copy_values(b, sequence, head, out); break;
    case QKV_STAGE_CONTEXT: copy_context(b, sequence, head, out); break;
    case QKV_STAGE_CONCAT:
    case QKV_STAGE_OUTPUT: copy_mixed(b, sequence, stage, out); break;
    default: map_rows(b, sequence, head, stage, 0, length, out); break;
    }
}

static int is_wide(qkv_stage stage) {
    return stage == QKV_STAGE_X || stage == QKV_STAGE_CONCAT || stage == QKV_STAGE_OUTPUT || stage == QKV_STAGE_HIDDEN;
}

/* The layers that must have been run for a stage, and the first and last layer it has: the input of the layer behind the
 * last is the last hidden state, the output of layer -1 the embeddings. */
static qkv_status check_stage(const qkv_run *run, qkv_kind kind, int32_t layer, qkv_stage stage, int32_t sequence,
                              qkv_error *err) {
    const int32_t layers = run->model->config.layers;
    const int behind = stage == QKV_STAGE_X && layer == layers, before = stage == QKV_STAGE_HIDDEN && layer == -1;

    QKV_TRY(check_place(run, kind, behind || before ? 0 : layer, layers - 1, sequence, err));
    const int32_t needed = stage == QKV_STAGE_X ? layer : layer + 1;
    QKV_FAIL_IF(needed > run->done, QKV_STATE, "the layer has not been run", layer, run->done - 1);
    return QKV_OK;
}

qkv_status qkv_get_stage(qkv_run *run, qkv_kind kind, int32_t layer, int32_t head, qkv_stage stage, int32_t sequence,
                         float *out, qkv_error *err) {
    QKV_FAIL_IF(stage >= QKV_STAGE_COUNT, QKV_ARGUMENT, "stage", stage, QKV_STAGE_COUNT - 1);
    QKV_TRY(check_stage(run, kind, layer, stage, sequence, err));
    if (!is_wide(stage)) QKV_TRY(check_head(run, head, err));
    const qkv_sequence *s = &run->sequences[sequence];
    if (stage == QKV_STAGE_HIDDEN) {
        copy_rows(qkv_run_x(run, layer + 1), s, (size_t)run->model->config.width, out);
    } else if (layer == run->model->config.layers) {
        qkv_run_final(run, s->first, s->length, out);
    } else {
        const qkv_block block = qkv_run_block(run, layer);
        copy_stage(&block, sequence, head, stage, out);
    }
    return QKV_OK;
}
