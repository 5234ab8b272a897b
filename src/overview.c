/* overview.c - every head of a sequence at a glance: a small picture and seven numbers each, made head by head in scratch
 * memory so that no [N, N] map is ever stored. */
#include "run.h"
#include "status.h"

enum {
#define QKV_X(name) STAT_##name,
    QKV_STATS(QKV_X) STATS
#undef QKV_X
};

/* One head being looked at. */
typedef struct glance {
    int32_t n, cells;          /* N, s */
    const uint8_t *separators; /* [N] or NULL */
    const float *distances;    /* |j| for j = 1 - N .. N - 1, so row i's distances begin at N - 1 - i */
    float *tallest;            /* [N] largest weight of each column over the rows of the current row of cells */
    float *thumbnail;          /* [s, s] */
    float *stats;              /* [7] sums over rows */
} glance;

static void add_row_stats(const glance *g, int32_t i, const float *row) {
    g->stats[STAT_entropy] += qkv_entropy_f32(row, g->n);
    g->stats[STAT_distance] += qkv_dot_f32(row, g->distances + (g->n - 1 - i), g->n);
    if (i > 0) g->stats[STAT_previous] += row[i - 1];
    if (i + 1 < g->n) g->stats[STAT_next] += row[i + 1];
    g->stats[STAT_self] += row[i];
    g->stats[STAT_first] += row[0];
    for (int32_t j = 0; g->separators && j < g->n; j++) {
        if (g->separators[j]) g->stats[STAT_separator] += row[j];
    }
}

/* Start of cell b: cell b spans [cell_start(b), cell_start(b + 1)). */
static int32_t cell_start(const glance *g, int32_t b) {
    return (int32_t)((int64_t)b * g->n / g->cells);
}

static void close_cells(const glance *g, int32_t cell_row) {
    float *out = g->thumbnail + (size_t)cell_row * (size_t)g->cells;

    for (int32_t b = 0; b < g->cells; b++) {
        float most = 0.0f;
        for (int32_t j = cell_start(g, b); j < cell_start(g, b + 1); j++) {
            if (!(g->tallest[j] <= most)) most = g->tallest[j]; /* true for a NaN too, so that the cell shows it */
        }
        out[b] = most;
    }
}

static void mean_stats(const glance *g) {
    const float steps = g->n > 1 ? (float)(g->n - 1) : 1.0f;

    for (int s = 0; s < STATS; s++) {
        g->stats[s] /= s == STAT_previous || s == STAT_next ? steps : (float)g->n;
    }
}

/* rows: [6, N] scratch for the weights. */
static void look(const glance *g, const qkv_attention *a, float *rows, const qkv_attention_scratch *scratch) {
    int32_t cell_row = 0;

    __builtin_memset(g->stats, 0, STATS * sizeof(float));
    __builtin_memset(g->tallest, 0, (size_t)g->n * sizeof(float));
    for (int32_t done = 0, block; done < g->n; done += block) {
        block = qkv_row_block(g->n - done);
        qkv_attention_map(a, QKV_STAGE_WEIGHTS, done, block, rows, scratch);
        for (int32_t r = 0; r < block; r++) {
            const float *row = rows + (size_t)r * (size_t)g->n;
            add_row_stats(g, done + r, row);
            qkv_max_f32(g->tallest, row, g->n);
            if (done + r + 1 < cell_start(g, cell_row + 1)) continue;
            close_cells(g, cell_row++);
            __builtin_memset(g->tallest, 0, (size_t)g->n * sizeof(float));
        }
    }
    mean_stats(g);
}

static qkv_status check(const qkv_run *run, qkv_kind kind, int32_t sequence, int32_t size, qkv_error *err) {
    QKV_TRY(qkv_check_kind(run, kind, err));
    QKV_FAIL_IF(sequence < 0 || sequence >= run->sequence_count, QKV_RANGE, "sequence", sequence,
                run->sequence_count - 1);
    QKV_FAIL_IF(size < 1 || size > QKV_THUMBNAIL_MAX, QKV_ARGUMENT, "size of a thumbnail", size, QKV_THUMBNAIL_MAX);
    QKV_FAIL_IF(run->done < run->model->config.layers, QKV_STATE, "layers run", run->done, run->model->config.layers);
    return QKV_OK;
}

/* The heads of one layer, a part each. */
typedef struct layer_region {
    const qkv_block *block;
    glance first; /* of head 0; tallest is that of slot 0, with [6, N] weights behind it */
    int32_t sequence;
} layer_region;

static void look_part(const void *region, int32_t head, int32_t slot) {
    const layer_region *all = region;
    const qkv_config *c = all->block->config;
    const qkv_sequence *s = &all->block->sequences[all->sequence];
    const size_t stride = (size_t)c->heads * (size_t)c->head_dim, n = (size_t)s->length;
    const float *q = all->block->scratch->q + (size_t)s->first * stride + (size_t)qkv_query_row(c, head);
    const qkv_attention a = qkv_block_attention(all->block, all->sequence, head, q, stride);
    glance g = all->first;

    g.thumbnail += (size_t)head * (size_t)g.cells * (size_t)g.cells;
    g.stats += head * STATS;
    g.tallest += (size_t)slot * (1 + QKV_ROWS_MAX) * n;
    look(&g, &a, g.tallest + n, &all->block->scratch[slot].attention);
}

qkv_status qkv_overview(qkv_run *run, qkv_kind kind, int32_t sequence, int32_t size, const uint8_t *separators,
                        float *out_thumbnails, float *out_stats, qkv_error *err) {
    QKV_TRY(check(run, kind, sequence, size, err));
    const qkv_config *c = &run->model->config;
    const qkv_sequence *s = &run->sequences[sequence];
    const int32_t cells = s->length < size ? s->length : size;
    const double work = 2.0 * s->length * s->length * c->heads * c->head_dim;
    float *distances = run->glance;
    glance g = {s->length, cells, separators, distances, distances + 2 * (size_t)s->length, out_thumbnails, out_stats};

    for (int32_t j = 1 - s->length; j < s->length; j++) distances[j + s->length - 1] = (float)(j < 0 ? -j : j);
    for (int32_t l = 0; l < c->layers; l++) {
        const qkv_block block = qkv_run_block(run, l);
        qkv_block_all_queries(&block, sequence);
        const layer_region region = {&block, g, sequence};
        qkv_pool_run(look_part, &region, c->heads, work);
        g.thumbnail += (size_t)c->heads * (size_t)cells * (size_t)cells;
        g.stats += c->heads * STATS;
    }
    return QKV_OK;
}
