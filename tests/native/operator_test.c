/* qkv_attend: every rule of the operator at random, against the float64 reference, which knows no rules: the test makes
 * one mask of them, key by key. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "attention_f64.h"
#include "check.h"
#include "kernels.h"
#include "seeded.h"

/* Largest difference of weights and contexts (values up to 1) from float64; logits stay below 10. */
#define BOUND 2e-6
#define CASES 4000

typedef struct setup {
    qkv_operator op;
    float *query, *key, *value, *add, *out, *map; /* the operator's arrays, with their sizes */
    size_t query_count, key_count, value_count, mask_count, out_count, map_count;
    uint8_t *flags;
    int32_t lengths[3];
    void *scratch;
    size_t scratch_bytes;
} setup;

static float *floats(size_t n) {
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = NAN; /* gaps that are read show */
    return x;
}

/* Heads one behind the other, or side by side in each row, either with a gap. Returns the number of floats. */
static size_t set_strides(int32_t *strides, uint32_t *seed, int batch, int heads, int rows, int dim) {
    const int gap = seeded_int(seed, 3);

    if (seeded_int(seed, 2)) {
        strides[2] = dim + gap;
        strides[1] = rows * strides[2];
        strides[0] = heads * strides[1] + gap;
    } else {
        strides[1] = dim + gap;
        strides[2] = heads * strides[1];
        strides[0] = rows * strides[2] + gap;
    }
    return (size_t)(batch * strides[0]);
}

static void fill_rows(uint32_t *seed, float *x, const int32_t *strides, int batch, int heads, int rows, int dim,
                      float factor) {
    for (int b = 0; b < batch; b++) {
        for (int h = 0; h < heads; h++) {
            for (int i = 0; i < rows; i++) {
                float *row = x + b * strides[0] + h * strides[1] + i * strides[2];
                seeded_fill(seed, row, (size_t)dim, factor);
            }
        }
    }
}

static void choose_sizes(qkv_operator *op, uint32_t *seed) {
    static const int32_t queries[] = {0, 1, 2, 5, 6, 7, 12, 13}, keys[] = {0, 1, 2, 7, 8, 9, 16, 21};

    op->batch = 1 + seeded_int(seed, 3);
    op->kv_heads = 1 + seeded_int(seed, 2);
    op->heads = op->kv_heads * (1 + seeded_int(seed, 3));
    op->queries = queries[seeded_int(seed, 8)];
    op->keys = keys[seeded_int(seed, 8)];
    op->key_dim = 1 + seeded_int(seed, 12);
    op->value_dim = 1 + seeded_int(seed, 18);
}

static void choose_mask(setup *s, uint32_t *seed) {
    qkv_operator *op = &s->op;
    const int kind = seeded_int(seed, 3), rows = seeded_int(seed, 2), heads = seeded_int(seed, 2);

    if (kind == 0) return;
    op->mask_columns = seeded_int(seed, 2) ? op->keys : op->keys / 2;
    op->mask_row_stride = rows ? op->mask_columns : 0;
    const int32_t matrix = op->mask_columns * (rows ? op->queries : 1);
    op->mask_head_stride = heads ? matrix : 0;
    const int32_t all = matrix * (heads ? op->heads : 1);
    op->mask_batch_stride = seeded_int(seed, 2) ? all : 0;
    s->mask_count = (size_t)(all * op->batch);
    s->add = floats(s->mask_count);
    s->flags = malloc(s->mask_count + 1);
    const int density = 1 + seeded_int(seed, 8);
    for (size_t i = 0; i < s->mask_count; i++) {
        s->flags[i] = (uint8_t)(seeded_int(seed, density) ? 0 : 1 + seeded_int(seed, 255));
        s->add[i] = seeded_int(seed, density) ? -INFINITY : seeded_float(seed);
    }
    op->mask_allowed = seeded_int(seed, 2);
    if (kind == 1) {
        op->mask_add = s->add;
    } else {
        op->mask_flags = s->flags;
    }
}

static void choose_rules(setup *s, uint32_t *seed) {
    static const float scales[] = {1.0f, 0.0f, -0.7f, 0.25f}, caps[] = {0.0f, 0.0f, 0.5f, 20.0f};
    qkv_operator *op = &s->op;

    if (seeded_int(seed, 3) == 0) {
        for (int b = 0; b < op->batch; b++) s->lengths[b] = seeded_int(seed, op->keys + 1);
        op->key_lengths = s->lengths;
        op->offset_from_lengths = seeded_int(seed, 2);
    }
    op->offset = seeded_int(seed, 12) - 5;
    op->causal = seeded_int(seed, 2);
    op->window_left = seeded_int(seed, 2) ? -1 : seeded_int(seed, 5);
    op->window_right = seeded_int(seed, 2) ? -1 : seeded_int(seed, 5);
    op->scale = scales[seeded_int(seed, 4)];
    op->softcap = caps[seeded_int(seed, 4)];
    op->empty_nan = seeded_int(seed, 2);
}

static setup make(uint32_t *seed) {
    setup s = {.op = {.window_left = -1, .window_right = -1}};
    qkv_operator *op = &s.op;

    choose_sizes(op, seed);
    choose_mask(&s, seed);
    choose_rules(&s, seed);
    s.query_count = set_strides(&op->query_batch_stride, seed, op->batch, op->heads, op->queries, op->key_dim);
    s.key_count = set_strides(&op->key_batch_stride, seed, op->batch, op->kv_heads, op->keys, op->key_dim);
    s.value_count = set_strides(&op->value_batch_stride, seed, op->batch, op->kv_heads, op->keys, op->value_dim);
    s.out_count = set_strides(&op->out_batch_stride, seed, op->batch, op->heads, op->queries, op->value_dim);
    s.map_count = (size_t)(op->batch * op->heads * op->queries * op->keys);
    op->query = s.query = floats(s.query_count);
    op->key = s.key = floats(s.key_count);
    op->value = s.value = floats(s.value_count);
    op->out = s.out = floats(s.out_count);
    op->stage_out = s.map = floats(s.map_count);
    op->stage = QKV_STAGE_WEIGHTS;
    fill_rows(seed, s.query, &op->query_batch_stride, op->batch, op->heads, op->queries, op->key_dim, 1.5f);
    fill_rows(seed, s.key, &op->key_batch_stride, op->batch, op->kv_heads, op->keys, op->key_dim, 1.5f);
    fill_rows(seed, s.value, &op->value_batch_stride, op->batch, op->kv_heads, op->keys, op->value_dim, 1.0f);
    s.scratch_bytes = qkv_attend_bytes(op, NULL);
    s.scratch = malloc(s.scratch_bytes);
    memset(s.scratch, 0xff, s.scratch_bytes); /* NaN: what is read before it is written shows */
    return s;
}

static void release(setup *s) {
    float *all[] = {s->query, s->key, s->value, s->add, s->out, s->map};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(s->flags);
    free(s->scratch);
}

static void attend(setup *s) {
    qkv_error err = {0};

    const qkv_status status = qkv_attend(&s->op, s->scratch, s->scratch_bytes, &err);
    CHECK(status == QKV_OK, "qkv_attend returned %d: %s", (int)status, err.what ? err.what : "");
}

/* The rules of the operator, one key at a time: what is added to its logit. */
static float bias_of(const setup *s, int b, int h, int i, int j) {
    const qkv_operator *op = &s->op;
    const int place = i + (op->offset_from_lengths ? s->lengths[b] - op->queries : op->offset);

    if (op->key_lengths && j >= s->lengths[b]) return -INFINITY;
    if (op->causal && j > place) return -INFINITY;
    if (op->window_left >= 0 && j < place - op->window_left) return -INFINITY;
    if (op->window_right >= 0 && j > place + op->window_right) return -INFINITY;
    if (!op->mask_add && !op->mask_flags) return 0.0f;
    if (j >= op->mask_columns) return -INFINITY;
    const int at = b * op->mask_batch_stride + h * op->mask_head_stride + i * op->mask_row_stride + j;
    if (op->mask_add) return s->add[at];
    return (s->flags[at] != 0) == op->mask_allowed ? 0.0f : -INFINITY;
}

/* One head in plain rows. */
typedef struct dense {
    float q[13 * 12], k[21 * 12], v[21 * 18], mask[13 * 21];
    double weights[13 * 21], context[13 * 18];
} dense;

static void gather(float *to, const float *from, const int32_t *strides, int b, int h, int rows, int dim) {
    for (int i = 0; i < rows; i++) {
        for (int e = 0; e < dim; e++) *to++ = from[b * strides[0] + h * strides[1] + i * strides[2] + e];
    }
}

static void refer(dense *d, const setup *s, int b, int h) {
    const qkv_operator *op = &s->op;
    const int group = op->heads / op->kv_heads;

    gather(d->q, s->query, &op->query_batch_stride, b, h, op->queries, op->key_dim);
    gather(d->k, s->key, &op->key_batch_stride, b, h / group, op->keys, op->key_dim);
    gather(d->v, s->value, &op->value_batch_stride, b, h / group, op->keys, op->value_dim);
    for (int i = 0; i < op->queries; i++) {
        for (int j = 0; j < op->keys; j++) d->mask[i * op->keys + j] = bias_of(s, b, h, i, j);
    }
    const reference_attention a = {.q = d->q,
                                   .k = d->k,
                                   .v = d->v,
                                   .n = op->queries,
                                   .m = op->keys,
                                   .dim = op->key_dim,
                                   .value_dim = op->value_dim,
                                   .scale = (double)op->scale,
                                   .mask = d->mask,
                                   .softcap = (double)op->softcap,
                                   .empty = op->empty_nan ? (double)NAN : 0.0};
    reference_attend(&a, d->weights, d->context);
}

static double difference(float got, double want) {
    return isnan(want) && isnan(got) ? 0.0 : fabs((double)got - want);
}

static double worst;

static void check_reference(const setup *s, int number) {
    const qkv_operator *op = &s->op;
    dense d;
    double error = 0.0;
    bool is_number = true;

    for (int b = 0; b < op->batch; b++) {
        for (int h = 0; h < op->heads; h++) {
            const float *map = s->map + (b * op->heads + h) * op->queries * op->keys;
            refer(&d, s, b, h);
            for (int i = 0; i < op->queries; i++) {
                const float *out = s->out + b * op->out_batch_stride + h * op->out_head_stride + i * op->out_row_stride;
                for (int j = 0; j < op->keys; j++) {
                    const double off = difference(map[i * op->keys + j], d.weights[i * op->keys + j]);
                    is_number = is_number && !isnan(off);
                    error = fmax(error, off);
                }
                for (int c = 0; c < op->value_dim; c++) {
                    const double off = difference(out[c], d.context[i * op->value_dim + c]);
                    is_number = is_number && !isnan(off);
                    error = fmax(error, off);
                }
            }
        }
    }
    CHECK(is_number && error <= BOUND, "case %d: %g from float64", number, error);
    worst = fmax(worst, error);
}

/* The steps one by one give the bits of the fused pass. */
static void check_inspection(setup *s, int number) {
    float *fused = floats(s->map_count), *out = floats(s->out_count);

    memcpy(fused, s->map, s->map_count * sizeof(float));
    memcpy(out, s->out, s->out_count * sizeof(float));
    for (int stage = QKV_STAGE_SCORES; stage <= QKV_STAGE_WEIGHTS; stage++) {
        s->op.stage = stage;
        attend(s);
        CHECK(check_same_bits(out, s->out, s->out_count), "case %d: stage %d changes the output", number, stage);
        if (stage != QKV_STAGE_MASKED) continue;
        /* weights from the masked logits shown, with the engine's own steps */
        for (size_t row = 0; row < s->map_count; row += (size_t)s->op.keys) {
            float *x = s->map + row;
            const float top = qkv_scale_f32(x, x, s->op.keys, 1.0f, NULL);
            if (!(top > -INFINITY)) continue;
            qkv_mul_f32(x, x, s->op.keys, 1.0f / qkv_sum_exp_f32(x, x, s->op.keys, top));
            CHECK(check_same_bits(x, fused + row, (size_t)s->op.keys), "case %d: row at %zu", number, row);
        }
    }
    s->op.stage_out = NULL;
    attend(s);
    CHECK(check_same_bits(out, s->out, s->out_count), "case %d: without a stage", number);
    s->op.stage_out = s->map;
    s->op.stage = QKV_STAGE_WEIGHTS;
    attend(s);
    CHECK(check_same_bits(fused, s->map, s->map_count), "case %d: weights again", number);
    free(fused);
    free(out);
}

static bool is_seen(const setup *s, int b, int g, int j) {
    const int group = s->op.heads / s->op.kv_heads;

    for (int h = g * group; h < (g + 1) * group; h++) {
        for (int i = 0; i < s->op.queries; i++) {
            if (bias_of(s, b, h, i, j) > -INFINITY) return true;
        }
    }
    return false;
}

/* Garbage at keys that no query sees changes no bit. Returns whether there was such a key. */
static bool check_garbage(setup *s, uint32_t *seed, int number) {
    static const float garbage[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN};
    const qkv_operator *op = &s->op;
    float *map = floats(s->map_count), *out = floats(s->out_count);
    bool planted = false;

    memcpy(map, s->map, s->map_count * sizeof(float));
    memcpy(out, s->out, s->out_count * sizeof(float));
    for (int b = 0; b < op->batch; b++) {
        for (int g = 0; g < op->kv_heads; g++) {
            for (int j = 0; j < op->keys; j++) {
                float *k = s->key + b * op->key_batch_stride + g * op->key_head_stride + j * op->key_row_stride;
                float *v = s->value + b * op->value_batch_stride + g * op->value_head_stride + j * op->value_row_stride;
                if (is_seen(s, b, g, j)) continue;
                planted = true;
                for (int e = 0; e < op->key_dim; e++) k[e] = garbage[seeded_int(seed, 6)];
                for (int c = 0; c < op->value_dim; c++) v[c] = garbage[seeded_int(seed, 6)];
            }
        }
    }
    attend(s);
    CHECK(check_same_bits(map, s->map, s->map_count), "case %d: masked garbage changes a weight", number);
    CHECK(check_same_bits(out, s->out, s->out_count), "case %d: masked garbage changes an output", number);
    free(map);
    free(out);
    return planted;
}

static void test_random(void) {
    int planted = 0;

    for (int number = 0; number < CASES; number++) {
        uint32_t seed = 77u + (uint32_t)number * 2654435761u;
        setup s = make(&seed);
        attend(&s);
        check_reference(&s, number);
        check_inspection(&s, number);
        planted += check_garbage(&s, &seed, number);
        release(&s);
    }
    CHECK(planted > CASES / 4, "only %d of %d cases had a masked key", planted, CASES);
    printf("%d random operators: at most %.2g from float64; %d with garbage\n", CASES, worst, planted);
}

static void refuse(qkv_operator op, const char *what) {
    qkv_error err = {0};

    CHECK(qkv_attend_bytes(&op, &err) == 0, "%s was accepted", what);
    CHECK(err.what && strcmp(err.what, what) == 0, "%s: refused because of %s", what, err.what ? err.what : "nothing");
}

static void test_refusals(void) {
    const float f = 0.0f;
    const uint8_t u = 0;
    const qkv_operator good = {.batch = 1,
                               .heads = 4,
                               .kv_heads = 2,
                               .queries = 1,
                               .keys = 1,
                               .key_dim = 1,
                               .value_dim = 1,
                               .window_left = -1,
                               .window_right = -1,
                               .scale = 1.0f};
    qkv_operator bad;
    qkv_error err = {0};

    CHECK(qkv_attend_bytes(&good, &err) > 0, "the good one is refused: %s", err.what ? err.what : "");
#define BAD(what, ...) \
    bad = good;        \
    __VA_ARGS__;       \
    refuse(bad, what)
    BAD("batch", bad.batch = -1);
    BAD("heads", bad.heads = 0);
    BAD("heads is not a multiple of kv_heads", bad.kv_heads = 3);
    BAD("heads is not a multiple of kv_heads", bad.kv_heads = 0);
    BAD("queries", bad.queries = -1);
    BAD("keys", bad.keys = -1);
    BAD("key_dim", bad.key_dim = 0);
    BAD("value_dim", bad.value_dim = 0);
    BAD("masks", bad.mask_add = &f; bad.mask_flags = &u);
    BAD("scale", bad.scale = NAN);
    BAD("scale", bad.scale = INFINITY);
    BAD("softcap", bad.softcap = -1.0f);
    BAD("softcap", bad.softcap = NAN);
    BAD("softcap", bad.softcap = INFINITY);
    BAD("window_left", bad.window_left = -2);
    BAD("window_right", bad.window_right = -2);
    BAD("key_lengths", bad.offset_from_lengths = 1);
    BAD("a stride", bad.query_row_stride = -1);
    BAD("a stride", bad.mask_batch_stride = INT32_MIN);
#undef BAD
    char scratch[16];
    CHECK(qkv_attend(&good, scratch, sizeof scratch, &err) == QKV_MEMORY, "too little scratch was accepted");
}

/* What only the data tells is refused by the call; nothing to compute is no reason to look at it. */
static void test_refused_data(void) {
    _Alignas(16) static char scratch[65536];
    const float in[4] = {0};
    const uint8_t allowed[4] = {0};
    int32_t lengths[1] = {1};
    float out[4];
    qkv_operator op = {.query = in,
                       .key = in,
                       .value = in,
                       .out = out,
                       .batch = 1,
                       .heads = 1,
                       .kv_heads = 1,
                       .queries = 1,
                       .keys = 1,
                       .key_dim = 1,
                       .value_dim = 1,
                       .window_left = -1,
                       .window_right = -1,
                       .scale = 1.0f};

    CHECK(qkv_attend(&op, scratch, sizeof scratch, NULL) == QKV_OK, "the good one");
    op.key_lengths = lengths;
    for (int32_t length = -1; length <= 2; length++) {
        lengths[0] = length;
        const qkv_status want = length < 0 || length > 1 ? QKV_ARGUMENT : QKV_OK;
        CHECK(qkv_attend(&op, scratch, sizeof scratch, NULL) == want, "length %d of 1 key", length);
    }
    op.key_lengths = NULL;
    op.mask_flags = allowed;
    for (int32_t columns = -1; columns <= 2; columns++) {
        op.mask_columns = columns;
        const qkv_status want = columns < 0 || columns > 1 ? QKV_ARGUMENT : QKV_OK;
        CHECK(qkv_attend(&op, scratch, sizeof scratch, NULL) == want, "%d columns for 1 key", columns);
    }
    op.mask_flags = NULL;
    op.key = NULL;
    CHECK(qkv_attend(&op, scratch, sizeof scratch, NULL) == QKV_ARGUMENT, "no keys");
    op.batch = 0;
    CHECK(qkv_attend(&op, scratch, sizeof scratch, NULL) == QKV_OK, "no sequences: divided by their number");
    op.batch = INT32_MAX;
    op.queries = 0;
    CHECK(qkv_attend(&op, scratch, sizeof scratch, NULL) == QKV_OK, "no queries of many sequences");
}

int main(void) {
    test_random();
    test_refused_data();
    test_refusals();
    return check_summary("operator");
}
