#include "embed.h"

/* What the rows of one sequence are made from. */
typedef struct source {
    const qkv_model *model;
    const int32_t *ids, *type_ids; /* [N] */
    float *spare;                  /* [embed_width] */
} source;

/* Row of the learned position table for token i. counted: tokens before it that are no padding. */
static int32_t position_row(const qkv_config *c, int32_t id, int32_t i, int32_t counted) {
    if (c->position_pad < 0) return c->position_first + i;
    return id == c->position_pad ? c->position_first - 1 : c->position_first + counted;
}

/* x [embed_width] = token * scale + token type + position, added in the order of the PyTorch models, then the norm. */
static void embed_token(const source *s, int32_t i, int32_t position, float *x) {
    const qkv_model *m = s->model;
    const qkv_config *c = &m->config;

    qkv_token_row(m, s->ids[i], x);
    if (c->embed_scale != 1.0f) qkv_mul_f32(x, x, c->embed_width, c->embed_scale);
    if (c->segments > 0) {
        qkv_table_row(&m->segments, s->type_ids[i], s->spare);
        qkv_add_f32(x, s->spare, c->embed_width);
    }
    if (c->positions > 0) {
        qkv_table_row(&m->positions, position, s->spare);
        qkv_add_f32(x, s->spare, c->embed_width);
    }
    qkv_norm_row(c, &m->embed_norm, x, x, c->embed_width);
}

/* out [rows, embed_width]: tokens [first, first + rows). Returns the tokens up to there that are no padding. */
static int32_t embed_rows(const source *s, int32_t first, int32_t rows, int32_t counted, float *out) {
    const qkv_config *c = &s->model->config;

    for (int32_t i = first; i < first + rows; i++, out += c->embed_width) {
        embed_token(s, i, position_row(c, s->ids[i], i, counted), out);
        counted += s->ids[i] != c->position_pad;
    }
    return counted;
}

void qkv_embed(const qkv_model *model, const int32_t *ids, const int32_t *type_ids, const qkv_sequence *sequence,
               int32_t from, float *x, const qkv_scratch *scratch) {
    const qkv_config *c = &model->config;
    const size_t width = (size_t)c->width;
    const source s = {model, ids + sequence->first, type_ids + sequence->first, scratch->normed};
    int32_t counted = 0;

    for (int32_t i = 0; i < from; i++) counted += s.ids[i] != c->position_pad;
    for (int32_t done = from, rows; done < sequence->length; done += rows) {
        float *out = x + (size_t)(sequence->first + done) * width;
        rows = qkv_rows_at_once(sequence->length - done);
        counted = embed_rows(&s, done, rows, counted, c->embed_project ? scratch->narrow : out);
        if (!c->embed_project) continue;
        const qkv_gemm gemm = {.out = out, .out_stride = width, .rows = rows, .cols = c->width};
        qkv_linear(&model->embed_project, 0, scratch->narrow, (size_t)c->embed_width, gemm, &scratch->packed);
    }
}
