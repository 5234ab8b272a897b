/* operator.c - attention as an operator: head by head through the core that the model's blocks use. */
#include "attention.h"
#include "kernels/kernels.h"
#include "pool.h"
#include "status.h"

#define FLOAT_MAX 3.402823466e38f

#define LEAST_ROWS 32 /* queries of a part */

/* What one thread works with. */
typedef struct work {
    float *k, *v;  /* panels of one key/value head */
    int64_t group; /* which, b * kv_heads + g; -1: none yet */
    qkv_attention_scratch attention;
} work;

static size_t padded(int32_t n) {
    return ((size_t)n + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
}

/* w: [slots] */
static void lay_out(work *w, qkv_arena *arena, const qkv_operator *op) {
    for (int32_t slot = 0; slot < qkv_pool_slots(); slot++, w++) {
        w->k = qkv_arena_take(arena, padded(op->keys), (size_t)op->key_dim * sizeof(float));
        w->v = qkv_arena_take(arena, padded(op->keys), padded(op->value_dim) * sizeof(float));
        w->group = -1;
        qkv_attention_scratch_take(&w->attention, arena, op->keys, op->key_dim);
    }
}

/* ---- checks ------------------------------------------------------------------------------------------------- */

static qkv_status check_sizes(const qkv_operator *op, qkv_error *err) {
    QKV_FAIL_IF(op->batch < 0, QKV_ARGUMENT, "batch", op->batch, 0);
    QKV_FAIL_IF(op->heads < 1, QKV_ARGUMENT, "heads", op->heads, 1);
    QKV_FAIL_IF(op->kv_heads < 1 || op->heads % op->kv_heads != 0, QKV_ARGUMENT, "heads is not a multiple of kv_heads",
                op->heads, op->kv_heads);
    QKV_FAIL_IF(op->queries < 0, QKV_ARGUMENT, "queries", op->queries, 0);
    QKV_FAIL_IF(op->keys < 0, QKV_ARGUMENT, "keys", op->keys, 0);
    QKV_FAIL_IF(op->key_dim < 1, QKV_ARGUMENT, "key_dim", op->key_dim, 1);
    QKV_FAIL_IF(op->value_dim < 1, QKV_ARGUMENT, "value_dim", op->value_dim, 1);
    QKV_FAIL_IF(op->mask_add && op->mask_flags, QKV_ARGUMENT, "masks", 2, 1);
    QKV_FAIL_IF(op->stage_out && (op->stage < QKV_STAGE_SCORES || op->stage > QKV_STAGE_WEIGHTS), QKV_ARGUMENT, "stage",
                op->stage, QKV_STAGE_WEIGHTS);
    return QKV_OK;
}

static qkv_status check_numbers(const qkv_operator *op, qkv_error *err) {
    QKV_FAIL_IF(!(__builtin_fabsf(op->scale) <= FLOAT_MAX), QKV_ARGUMENT, "scale", op->scale, 1);
    QKV_FAIL_IF(!(op->softcap >= 0.0f && op->softcap <= FLOAT_MAX), QKV_ARGUMENT, "softcap", op->softcap, 0);
    QKV_FAIL_IF(op->window_left < -1, QKV_ARGUMENT, "window_left", op->window_left, -1);
    QKV_FAIL_IF(op->window_right < -1, QKV_ARGUMENT, "window_right", op->window_right, -1);
    QKV_FAIL_IF(op->offset_from_lengths && !op->key_lengths, QKV_ARGUMENT, "key_lengths", 0, 1);
    const int64_t heads = (int64_t)op->batch * op->heads;
    QKV_FAIL_IF(heads > INT32_MAX, QKV_ARGUMENT, "batch times heads", heads, INT32_MAX);
    QKV_FAIL_IF(op->first < 0 || op->first > heads, QKV_RANGE, "first", op->first, heads);
    QKV_FAIL_IF(op->count < 0 || op->count > heads - op->first, QKV_RANGE, "count", op->count, heads - op->first);
    return QKV_OK;
}

static qkv_status check_strides(const qkv_operator *op, qkv_error *err) {
    const int32_t strides[] = {
        op->query_batch_stride, op->query_head_stride, op->query_row_stride,   op->key_batch_stride,
        op->key_head_stride,    op->key_row_stride,    op->value_batch_stride, op->value_head_stride,
        op->value_row_stride,   op->out_batch_stride,  op->out_head_stride,    op->out_row_stride,
        op->mask_batch_stride,  op->mask_head_stride,  op->mask_row_stride,
    };
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        QKV_FAIL_IF(strides[i] < 0, QKV_ARGUMENT, "a stride", strides[i], 0);
    }
    return QKV_OK;
}

/* What is behind the pointers, as far as it says what is read. */
static qkv_status check_buffers(const qkv_operator *op, qkv_error *err) {
    const int mask = op->mask_add || op->mask_flags;

    QKV_FAIL_IF(!op->query || !op->key || !op->value || !op->out, QKV_ARGUMENT, "an array is missing", 0, 1);
    QKV_FAIL_IF(mask && (op->mask_columns < 0 || op->mask_columns > op->keys), QKV_ARGUMENT, "mask_columns",
                op->mask_columns, op->keys);
    for (int32_t b = 0; op->key_lengths && b < op->batch; b++) {
        QKV_FAIL_IF(op->key_lengths[b] < 0 || op->key_lengths[b] > op->keys, QKV_ARGUMENT, "key_lengths",
                    op->key_lengths[b], op->keys);
    }
    return QKV_OK;
}

static qkv_status measure(size_t *out_bytes, const qkv_operator *op, qkv_error *err) {
    qkv_arena arena = qkv_arena_measure();
    work w[QKV_SLOTS_MAX];

    QKV_TRY(check_sizes(op, err));
    QKV_TRY(check_numbers(op, err));
    QKV_TRY(check_strides(op, err));
    lay_out(w, &arena, op);
    QKV_FAIL_IF(arena.overflow, QKV_MEMORY, "attention does not fit the address space", 0, (double)SIZE_MAX);
    *out_bytes = arena.used;
    return QKV_OK;
}

size_t qkv_attend_bytes(const qkv_operator *op, qkv_error *err) {
    size_t bytes = 0;
    return measure(&bytes, op, err) == QKV_OK ? bytes : 0;
}

/* ---- one head ----------------------------------------------------------------------------------------------- */

static size_t place(int32_t b, int32_t batch_stride, int32_t h, int32_t head_stride) {
    return (size_t)b * (size_t)batch_stride + (size_t)h * (size_t)head_stride;
}

static qkv_mask mask_of(const qkv_operator *op, int32_t b, int32_t h) {
    const size_t at = place(b, op->mask_batch_stride, h, op->mask_head_stride);
    const int64_t offset = op->offset_from_lengths ? (int64_t)op->key_lengths[b] - op->queries : op->offset;
    qkv_mask mask = qkv_mask_none(op->keys);

    if (op->mask_add || op->mask_flags) {
        if (op->mask_add) mask.add = op->mask_add + at;
        if (op->mask_flags) mask.flags = op->mask_flags + at;
        mask.allowed = op->mask_allowed != 0;
        mask.stride = (size_t)op->mask_row_stride;
        mask.columns = op->mask_columns;
    }
    if (op->key_lengths) mask.limit = op->key_lengths[b];
    if (op->window_left >= 0) mask.from = offset - op->window_left;
    if (op->window_right >= 0) mask.to = offset + op->window_right + 1;
    if (op->causal && offset + 1 < mask.to) mask.to = offset + 1;
    return mask;
}

/* The keys that queries of sequence b look at. A map of an early stage shows all of them. */
static qkv_span reach_of(const qkv_operator *op, int32_t b) {
    const qkv_mask mask = mask_of(op, b, 0); /* the edges are those of all heads */

    if (op->queries == 0 || (op->stage_out && op->stage < QKV_STAGE_MASKED)) return (qkv_span){0, op->keys};
    return qkv_mask_reach(&mask, op->keys, 0, op->queries);
}

/* Packs the keys and values that query head h of sequence b looks at, unless they are there already. */
static void put_group(const qkv_operator *op, int32_t b, int32_t h, work *w) {
    const int32_t g = h / (op->heads / op->kv_heads);
    const float *k = op->key + place(b, op->key_batch_stride, g, op->key_head_stride);
    const float *v = op->value + place(b, op->value_batch_stride, g, op->value_head_stride);
    const int64_t group = (int64_t)b * op->kv_heads + g;

    if (w->group == group) return;
    w->group = group;
    const qkv_span reach = reach_of(op, b);
    const size_t first = (size_t)reach.first, whole = (size_t)(reach.last / QKV_PANEL * QKV_PANEL);
    const size_t k_stride = (size_t)op->key_row_stride, v_stride = (size_t)op->value_row_stride;
    const size_t behind = (padded(reach.last) - whole) * (size_t)op->key_dim;
    const int32_t rows = reach.last - reach.first;

    __builtin_memset(w->k + whole * (size_t)op->key_dim, 0, behind * sizeof(float)); /* columns behind the last key */
    qkv_attention_put_keys(w->k, reach.first, k + first * k_stride, k_stride, rows, op->key_dim);
    qkv_attention_put_values(w->v, padded(op->keys) * QKV_PANEL, reach.first, v + first * v_stride, v_stride, rows,
                             op->value_dim);
}

/* Queries [row0, row0 + rows) of a head. map: [L, M] or NULL. */
static void attend_head(const qkv_operator *op, int32_t b, int32_t h, int32_t row0, int32_t rows, float *map,
                        const work *w) {
    const qkv_attention a = {
        .q = op->query + place(b, op->query_batch_stride, h, op->query_head_stride),
        .q_stride = (size_t)op->query_row_stride,
        .k = w->k,
        .v = w->v,
        .v_stride = padded(op->keys) * QKV_PANEL,
        .keys = op->keys,
        .key_dim = op->key_dim,
        .value_dim = op->value_dim,
        .scale = op->scale,
        .softcap = op->softcap,
        .empty = op->empty_nan ? __builtin_nanf("") : 0.0f,
        .mask = mask_of(op, b, h),
    };
    const size_t out_stride = (size_t)op->out_row_stride;
    float *out = op->out + place(b, op->out_batch_stride, h, op->out_head_stride) + (size_t)row0 * out_stride;
    float *map_rows = map ? map + (size_t)row0 * (size_t)op->keys : NULL;
    const int with_weights = map && op->stage == QKV_STAGE_WEIGHTS;

    qkv_attention_context(&a, row0, rows, out, out_stride, with_weights ? map_rows : NULL, &w->attention);
    if (map && !with_weights) qkv_attention_map(&a, (qkv_stage)op->stage, row0, rows, map_rows, &w->attention);
}

/* ---- all of them -------------------------------------------------------------------------------------------- */

/* Heads, each cut into `pieces` by rows: part = (head from the first, piece). */
typedef struct head_region {
    const qkv_operator *op;
    work *work; /* [slots] */
    int32_t pieces;
} head_region;

static void attend_part(const void *region, int32_t part, int32_t slot) {
    const head_region *all = region;
    const qkv_operator *op = all->op;
    const int32_t nth = part / all->pieces, piece = part % all->pieces;
    const int32_t b = (op->first + nth) / op->heads, h = (op->first + nth) % op->heads;
    const int32_t row0 = qkv_pool_first(op->queries, piece, all->pieces);
    const int32_t rows = qkv_pool_first(op->queries, piece + 1, all->pieces) - row0;
    const size_t map_size = (size_t)op->queries * (size_t)op->keys;

    put_group(op, b, h, &all->work[slot]);
    attend_head(op, b, h, row0, rows, op->stage_out ? op->stage_out + (size_t)nth * map_size : NULL, &all->work[slot]);
}

qkv_status qkv_attend(const qkv_operator *op, void *scratch, size_t bytes, qkv_error *err) {
    size_t needed = 0;
    work w[QKV_SLOTS_MAX];

    QKV_TRY(measure(&needed, op, err));
    QKV_FAIL_IF(bytes < needed, QKV_MEMORY, "scratch for attention", bytes, needed);
    qkv_arena arena = qkv_arena_over(scratch, bytes);
    lay_out(w, &arena, op);
    const int32_t heads = op->count > 0 ? op->count : op->batch * op->heads - op->first;
    if (heads == 0 || op->queries == 0) return QKV_OK;
    QKV_TRY(check_buffers(op, err));
    const double row_work = 2.0 * op->keys * (op->key_dim + (double)op->value_dim);
    const double work_of_all = row_work * op->queries * heads;
    const int32_t pieces_most = op->queries / LEAST_ROWS > 1 ? op->queries / LEAST_ROWS : 1;
    const int32_t wanted = qkv_pool_parts(pieces_most, work_of_all);
    const head_region region = {op, w, heads < wanted ? (wanted + heads - 1) / heads : 1};
    qkv_pool_run(attend_part, &region, heads * region.pieces, work_of_all);
    return QKV_OK;
}
