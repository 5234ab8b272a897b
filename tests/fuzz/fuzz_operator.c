/* Attention as an operator on any struct of numbers. Whatever comes, the engine refuses it or reads and writes only what sizes
 * and strides say; weights are between 0 and 1, or NaN; a second call in parts gives the bits of the first. */
#include <math.h>

#include "byte_source.h"
#include "qkv.h"

#define FLOATS_MOST 20000 /* of one buffer */
#define BYTES_MOST ((size_t)16 << 20)
#define WORK_MOST 2e6 /* multiplications: keeps one input far below a second */

static int32_t small_or_any(byte_source *from, int32_t least, int32_t most) {
    return take_number(from, 0, 63) == 63 ? take_any(from) : take_number(from, least, most);
}

/* ---- sizes and strides ----------------------------------------------------------------------------------------- */

static void draw_sizes(qkv_operator *op, byte_source *from) {
    op->batch = small_or_any(from, 0, 3);
    op->kv_heads = small_or_any(from, 1, 3);
    op->heads = take_number(from, 0, 63) == 63 ? take_any(from)
                                               : (int32_t)((uint32_t)op->kv_heads * (uint32_t)take_number(from, 1, 3));
    op->queries = small_or_any(from, 0, 40);
    op->keys = small_or_any(from, 0, 40);
    op->key_dim = small_or_any(from, 1, 20);
    op->value_dim = small_or_any(from, 1, 20);
}

/* Batch, head and row strides of one of the layouts that callers have, or any numbers. */
static void draw_strides(int32_t *batch, int32_t *head, int32_t *row, int32_t all_heads, int32_t all_rows,
                         int32_t width, byte_source *from) {
    const uint32_t how = take_byte(from), heads = (uint32_t)all_heads, rows = (uint32_t)all_rows, dim = (uint32_t)width;
    const uint32_t side_by_side[3] = {rows * heads * dim, dim, heads * dim},
                   one_by_one[3] = {heads * rows * dim, rows * dim, dim};
    const uint32_t *chosen = how % 2 ? side_by_side : one_by_one;

    *batch = (int32_t)chosen[0];
    *head = (int32_t)chosen[1];
    *row = (int32_t)chosen[2];
    if (how % 8 < 6) return;
    *batch = small_or_any(from, 0, 200);
    *head = small_or_any(from, 0, 200);
    *row = small_or_any(from, 0, 60);
}

static void draw_rules(qkv_operator *op, byte_source *from) {
    op->offset = small_or_any(from, -9, 40);
    op->offset_from_lengths = take_number(from, 0, 7) == 7;
    op->causal = take_number(from, 0, 1);
    op->window_left = small_or_any(from, -1, 12);
    op->window_right = small_or_any(from, -1, 12);
    op->scale = take_number(from, 0, 7) == 7 ? take_float(from) : 0.25f;
    op->softcap = take_number(from, 0, 3) == 3 ? take_float(from) : 0.0f;
    op->empty_nan = take_number(from, 0, 1);
    op->stage = small_or_any(from, 0, QKV_STAGE_COUNT);
    op->first = small_or_any(from, 0, 2);
    op->count = small_or_any(from, 0, 2);
}

/* ---- buffers ------------------------------------------------------------------------------------------------------ */

typedef struct buffers {
    float *query, *key, *value, *out, *again, *stage, *stage_again, *add;
    uint8_t *flags;
    int32_t *lengths;
    int64_t out_count, stage_count;
} buffers;

/* Elements that the strides of an array reach: 0 where an axis is empty, -1 where the fuzzer has no memory for it. */
static int64_t extent(int64_t batch, int64_t batch_stride, int64_t heads, int64_t head_stride, int64_t rows,
                      int64_t row_stride, int64_t dim) {
    if (batch <= 0 || heads <= 0 || rows <= 0 || dim <= 0) return 0;
    const double size = (double)(batch - 1) * (double)batch_stride + (double)(heads - 1) * (double)head_stride +
                        (double)(rows - 1) * (double)row_stride + (double)dim;
    if (batch_stride < 0 || head_stride < 0 || row_stride < 0) return 0; /* refused: nothing is read */
    return size > FLOATS_MOST ? -1 : (int64_t)size;
}

static float *floats(int64_t count, uint32_t *state) {
    float *data = exactly((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++) data[i] = stream_float(state);
    return data;
}

/* Returns 0 where one of them would be too large. */
static int draw_buffers(qkv_operator *op, buffers *b, byte_source *from) {
    uint32_t state = take_word(from);
    const uint32_t mask = take_byte(from);
    const int64_t n = op->batch, h = op->heads, q = op->queries;
    const int64_t heads = op->count > 0 ? op->count : n * h - op->first, columns = op->keys;
    const int64_t counts[] = {
        extent(n, op->query_batch_stride, h, op->query_head_stride, q, op->query_row_stride, op->key_dim),
        extent(n, op->key_batch_stride, op->kv_heads, op->key_head_stride, columns, op->key_row_stride, op->key_dim),
        extent(n, op->value_batch_stride, op->kv_heads, op->value_head_stride, columns, op->value_row_stride,
               op->value_dim),
        extent(n, op->out_batch_stride, h, op->out_head_stride, q, op->out_row_stride, op->value_dim),
        extent(1, 0, heads, q * columns, q, columns, columns),
        extent(n, op->mask_batch_stride, h, op->mask_head_stride, q, op->mask_row_stride, op->mask_columns),
        extent(1, 0, 1, 0, 1, 0, n),
    };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i] < 0) return 0;
    }
    b->query = floats(counts[0], &state);
    b->key = floats(counts[1], &state);
    b->value = floats(counts[2], &state);
    b->out_count = counts[3];
    b->stage_count = counts[4];
    b->out = exactly((size_t)counts[3] * sizeof(float));
    b->again = exactly((size_t)counts[3] * sizeof(float));
    b->stage = exactly((size_t)counts[4] * sizeof(float));
    b->stage_again = exactly((size_t)counts[4] * sizeof(float));
    b->add = floats(counts[5], &state);
    b->flags = exactly((size_t)counts[5]);
    for (int64_t i = 0; i < counts[5]; i++) {
        if (stream_next(&state) >> 30 == 0) b->add[i] = -INFINITY;
        b->flags[i] = (uint8_t)(stream_next(&state) >> 31);
    }
    b->lengths = exactly((size_t)counts[6] * sizeof(int32_t));
    for (int64_t i = 0; i < counts[6]; i++) {
        b->lengths[i] =
            stream_next(&state) >> 27 ? (int32_t)(state >> 16) % (op->keys > 0 ? op->keys + 1 : 1) : (int32_t)state;
    }
    op->query = b->query;
    op->key = b->key;
    op->value = b->value;
    if (mask % 4 == 1 || mask % 32 == 2) op->mask_add = b->add;
    if (mask % 4 == 2) op->mask_flags = b->flags;
    op->mask_allowed = mask & 64;
    if (mask & 128 || op->offset_from_lengths) op->key_lengths = b->lengths;
    if (mask % 64 == 63) op->key = NULL;
    return 1;
}

static void free_buffers(buffers *b) {
    void *all[] = {b->query, b->key,         b->value, b->out,   b->again,
                   b->stage, b->stage_again, b->add,   b->flags, b->lengths};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* One call, with scratch of exactly the size that was asked for. */
static qkv_status attend(const qkv_operator *op) {
    qkv_error err = {QKV_OK, "", 0, 0};
    const size_t bytes = qkv_attend_bytes(op, &err);

    PROMISE((bytes > 0) == (err.code == QKV_OK));
    if (bytes == 0) return err.code;
    if (bytes > BYTES_MOST) return QKV_MEMORY;
    void *scratch = exactly(bytes);
    const qkv_status status = qkv_attend(op, scratch, bytes, NULL);
    free(scratch);
    return status;
}

static int same(const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!(isnan(a[i]) && isnan(b[i])) && memcmp(&a[i], &b[i], sizeof *a) != 0) return 0;
    }
    return 1;
}

/* One head after the other: no head knows of another. */
static void attend_in_parts(qkv_operator op, const buffers *b) {
    const int64_t heads = op.count > 0 ? op.count : (int64_t)op.batch * op.heads - op.first;
    const int64_t map = (int64_t)op.queries * op.keys;

    op.out = b->again;
    op.count = 1;
    for (int64_t i = 0; i < heads; i++, op.first++) {
        if (op.stage_out) op.stage_out = b->stage_again + i * map;
        PROMISE(attend(&op) == QKV_OK);
    }
}

/* Whether outputs of one head lie where another one has its own: the layouts for which parts can be compared. */
static int is_apart(const qkv_operator *op) {
    const int64_t row = op->value_dim, rows = op->queries, heads = op->heads;
    const int one_by_one =
        op->out_row_stride == row && op->out_head_stride == rows * row && op->out_batch_stride == heads * rows * row;
    const int side_by_side =
        op->out_row_stride == heads * row && op->out_head_stride == row && op->out_batch_stride == heads * rows * row;
    return one_by_one || side_by_side;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    byte_source from = {data, size};
    qkv_operator op = {0};
    buffers b = {0};

    draw_sizes(&op, &from);
    draw_strides(&op.query_batch_stride, &op.query_head_stride, &op.query_row_stride, op.heads, op.queries, op.key_dim,
                 &from);
    draw_strides(&op.key_batch_stride, &op.key_head_stride, &op.key_row_stride, op.kv_heads, op.keys, op.key_dim,
                 &from);
    draw_strides(&op.value_batch_stride, &op.value_head_stride, &op.value_row_stride, op.kv_heads, op.keys,
                 op.value_dim, &from);
    draw_strides(&op.out_batch_stride, &op.out_head_stride, &op.out_row_stride, op.heads, op.queries, op.value_dim,
                 &from);
    draw_strides(&op.mask_batch_stride, &op.mask_head_stride, &op.mask_row_stride, op.heads, op.queries, op.keys,
                 &from);
    op.mask_columns = take_number(&from, 0, 3) ? op.keys : small_or_any(&from, 0, 40);
    draw_rules(&op, &from);
    const double work = (double)op.batch * op.heads * op.queries * op.keys * ((double)op.key_dim + op.value_dim);
    if (work <= WORK_MOST && draw_buffers(&op, &b, &from)) {
        op.out = b.out;
        if (take_number(&from, 0, 1)) op.stage_out = b.stage;
        if (attend(&op) == QKV_OK) {
            for (int64_t i = 0; op.stage_out && op.stage == QKV_STAGE_WEIGHTS && i < b.stage_count; i++) {
                PROMISE(isnan(b.stage[i]) || (b.stage[i] >= 0.0f && b.stage[i] <= 1.000001f));
            }
            if (op.queries > 0 && is_apart(&op)) {
                attend_in_parts(op, &b);
                PROMISE(same(b.out, b.again, b.out_count));
                PROMISE(!op.stage_out || same(b.stage, b.stage_again, b.stage_count));
            }
        }
    }
    free_buffers(&b);
    return 0;
}
