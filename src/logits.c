/* logits.c - the head: from the last hidden state of one position to a score for each word. */
#include "run.h"
#include "status.h"

qkv_status qkv_logits(qkv_run *run, int32_t sequence, int32_t position, float *out, qkv_error *err) {
    const qkv_model *m = run->model;
    const qkv_config *c = &m->config;

    QKV_FAIL_IF(c->head_rows == 0, QKV_STATE, "the model has no head", 0, 1);
    QKV_FAIL_IF(sequence < 0 || sequence >= run->sequence_count, QKV_RANGE, "sequence", sequence,
                run->sequence_count - 1);
    QKV_FAIL_IF(run->done < c->layers, QKV_STATE, "the layer has not been run", c->layers - 1, run->done - 1);
    const qkv_sequence *s = &run->sequences[sequence];
    QKV_FAIL_IF(position < -1 || position >= s->length, QKV_RANGE, "position", position, s->length - 1);
    const int32_t last = position < 0 ? s->length - 1 : position;
    const float *x = run->scratch.normed;
    qkv_gemm gemm = {.rows = 1};

    qkv_run_final(run, s->first + last, 1, run->scratch.normed);
    if (c->head_dense) {
        gemm.out = run->scratch.narrow;
        gemm.out_stride = (size_t)c->head_width;
        gemm.cols = c->head_width;
        gemm.activation = c->head_activation;
        qkv_linear(&m->head_dense, 0, x, (size_t)c->width, gemm, &run->scratch.packed);
        x = run->scratch.narrow;
    }
    if (m->head_norm.weight) {
        qkv_norm_row(c, &m->head_norm, run->scratch.narrow, x, c->head_width);
        x = run->scratch.narrow;
    }
    gemm = (qkv_gemm){.out = out, .out_stride = (size_t)c->head_rows, .rows = 1, .cols = c->head_rows};
    qkv_linear(&m->head, 0, x, (size_t)c->head_width, gemm, &run->scratch.packed);
    if (c->logit_softcap > 0.0f) qkv_softcap_f32(out, out, c->head_rows, c->logit_softcap);
    return QKV_OK;
}
