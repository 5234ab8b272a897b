/* Weights in every form a file can hold them, in chunks and in any order, against the same numbers as floats; heads that
 * are the token table; and what a slot does not take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "planes.h"
#include "seeded.h"
#include "slots.h"
#include "tiny_model.h"

#define SIDE 256 /* columns of every matrix: a block of any format divides it */
#define TOKENS 9
#define VOCAB 40

static qkv_config wide_config(int tied) {
    return (qkv_config){.layers = 1,
                        .heads = 4,
                        .kv_heads = 2,
                        .head_dim = SIDE / 4,
                        .width = SIDE,
                        .ffn = SIDE,
                        .vocab = VOCAB,
                        .stored_layers = 1,
                        .context = 64,
                        .embed_width = SIDE,
                        .embed_scale = 1.0f,
                        .position_pad = -1,
                        .norm_kind = QKV_NORM_RMS,
                        .norm_place = QKV_NORM_PRE,
                        .norm_eps = 1e-5f,
                        .first_norm = 1,
                        .final_norm = 1,
                        .o_bias = 1,
                        .activation = QKV_ACTIVATION_SILU,
                        .gated = 1,
                        .rope_scale = 1.0f,
                        .head_rows = VOCAB,
                        .head_width = SIDE,
                        .head_tied = tied,
                        .head_bias = 1};
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */

/* One tensor in two forms: planes as a file has them, and the floats they stand for. */
typedef struct tensor {
    int planes;
    qkv_plane plane[3];
    uint8_t *data[3];
    float *floats;
} tensor;

static int is_large(qkv_slot slot) {
    return qkv_slot_kinds[slot].role == QKV_ROLE_matrix || slot == QKV_SLOT_TOKENS;
}

/* Finite numbers below 2 in any float plane: halves in the blocks have their upper exponent bit cleared. */
static void fill(uint32_t *seed, qkv_plane plane, uint8_t *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) data[i] = (uint8_t)(seeded_next(seed) >> 24);
    if (plane == QKV_PLANE_F32) seeded_fill(seed, (float *)(void *)data, bytes / 4, 0.1f);
    for (size_t i = 1; i < bytes && plane == QKV_PLANE_F16; i += 2) data[i] = (uint8_t)(data[i] & 0xab);
    for (size_t i = 1; i < bytes && plane == QKV_PLANE_BF16; i += 2) data[i] = (uint8_t)((data[i] & 0x83) | 0x3c);
}

static void tame_blocks(qkv_plane plane, uint8_t *data, size_t bytes, size_t block) {
    for (size_t at = 0; at < bytes; at += block) {
        const size_t d = plane == QKV_PLANE_Q6_K ? at + 208 : at;
        const int two =
            plane == QKV_PLANE_Q4_1 || plane == QKV_PLANE_Q5_1 || plane == QKV_PLANE_Q4_K || plane == QKV_PLANE_Q5_K;
        data[d + 1] = 0x10; /* about 2^-11 */
        if (two) data[d + 3] = 0x14;
    }
}

static size_t block_bytes(qkv_plane plane) {
    return qkv_plane_step(plane) > 1 ? qkv_plane_row_bytes(plane, qkv_plane_step(plane)) : 0;
}

static tensor float_tensor(uint32_t *seed, qkv_plane plane, int rows, int cols) {
    const size_t bytes = (size_t)rows * qkv_plane_row_bytes(plane, cols), count = (size_t)rows * (size_t)cols;
    tensor t = {
        .planes = 1, .plane = {plane}, .data = {malloc(bytes + 1)}, .floats = malloc((count + 1) * sizeof(float))};

    fill(seed, plane, t.data[0], bytes);
    if (block_bytes(plane) > 0) tame_blocks(plane, t.data[0], bytes, block_bytes(plane));
    qkv_floats(t.floats, plane, t.data[0], (int32_t)count);
    return t;
}

/* Integers up to most, which each row has, times a power of two: quantising the floats gives the same integers again. */
static tensor integer_tensor(uint32_t *seed, int most, int rows, int cols) {
    const size_t count = (size_t)rows * (size_t)cols;
    const int is_q8 = most == QKV_Q8_MAX;
    tensor t = {.planes = is_q8 ? 2 : 3, .floats = malloc((count + 1) * sizeof(float))};
    uint8_t *high = malloc(count + 1), *low = calloc(count / 4 + 1, 1), *scales = malloc((size_t)rows * 4 + 1);

    for (size_t i = 0; i < count; i++) {
        const size_t row = i / (size_t)cols;
        const int q = i % (size_t)cols == row % 7 ? most : seeded_int(seed, 2 * most + 1) - most;
        const float scale = row % 3 ? 0x1p-12f : 0x1p-11f;
        high[i] = (uint8_t)(is_q8 ? q : (q - (q & 3)) / 4);
        low[i / 4] = (uint8_t)(low[i / 4] | (q & 3) << (2 * (i % 4)));
        memcpy(scales + row * 4, &scale, sizeof scale);
        t.floats[i] = (float)q * scale;
    }
    const tensor q10 = {.plane = {QKV_PLANE_Q10_LOW, QKV_PLANE_SCALE, QKV_PLANE_Q10_HIGH}, .data = {low, scales, high}};
    const tensor q8 = {.plane = {QKV_PLANE_SCALE, QKV_PLANE_Q8}, .data = {scales, high, low}};
    memcpy(t.plane, is_q8 ? q8.plane : q10.plane, sizeof t.plane);
    memcpy(t.data, is_q8 ? q8.data : q10.data, sizeof t.data);
    return t;
}

static void release(tensor *t) {
    for (int i = 0; i < 3; i++) free(t->data[i]);
    free(t->floats);
}

/* ---- models ------------------------------------------------------------------------------------------------- */

static qkv_model *empty_model(qkv_config config, qkv_precision precision) {
    qkv_error err = {QKV_OK, "", 0, 0};
    qkv_model *model = NULL;
    const size_t bytes = qkv_model_bytes(&config, precision, &err);

    CHECK(bytes > 0, "%s, got %g, want %g", err.what, err.got, err.want);
    qkv_model_create(&model, malloc(bytes), bytes, &config, precision, &err);
    return model;
}

/* In chunks of any size. */
static void load(qkv_model *model, qkv_slot slot, qkv_plane plane, int rows, int cols, const void *data,
                 uint32_t *seed) {
    const size_t row_bytes = qkv_plane_row_bytes(plane, cols);
    qkv_error err = {QKV_OK, "", 0, 0};

    for (int at = 0, count; at < rows; at += count) {
        count = seeded_int(seed, 19);
        if (count > rows - at) count = rows - at;
        const char *from = (const char *)data + (size_t)at * row_bytes;
        const qkv_status status = qkv_model_rows(model, slot, 0, plane, at, count, from, &err);
        CHECK(status == QKV_OK, "slot %d, plane %d, rows %d..%d: %s", (int)slot, (int)plane, at, at + count, err.what);
        if (status != QKV_OK) return;
    }
}

/* Both models get the same numbers: `model` as planes, slots from the last to the first, `same` as floats. most: of
 * integers, or 0 for a float plane. */
static void load_both(qkv_model *model, qkv_model *same, qkv_plane plane, int most) {
    uint32_t seed = 31;
    qkv_error err = {QKV_OK, "", 0, 0};

    for (int s = QKV_SLOT_COUNT - 1; s >= 0; s--) {
        int rows, cols;
        qkv_model_shape(model, (qkv_slot)s, &rows, &cols, NULL);
        if (rows == 0) continue;
        const qkv_plane own = is_large((qkv_slot)s) ? plane : QKV_PLANE_F32;
        tensor t = most > 0 && is_large((qkv_slot)s) ? integer_tensor(&seed, most, rows, cols)
                                                     : float_tensor(&seed, own, rows, cols);
        for (int i = 0; i < t.planes; i++) load(model, (qkv_slot)s, t.plane[i], rows, cols, t.data[i], &seed);
        load(same, (qkv_slot)s, QKV_PLANE_F32, rows, cols, t.floats, &seed);
        release(&t);
    }
    CHECK(qkv_model_finish(model, &err) == QKV_OK, "%s, got %g, want %g", err.what, err.got, err.want);
    CHECK(qkv_model_finish(same, &err) == QKV_OK, "%s, got %g, want %g", err.what, err.got, err.want);
}

static void outcome(qkv_model *model, qkv_config config, float *embeddings, float *logits) {
    const int32_t length = TOKENS;
    const tiny_model t = {.config = config, .model = model};
    qkv_run *run = tiny_run(&t, (qkv_input){.lengths = &length, .sequences = 1}, 5, 1);

    CHECK(qkv_get_stage(run, QKV_KIND_ENCODER, -1, 0, QKV_STAGE_HIDDEN, 0, embeddings, NULL) == QKV_OK, "embeddings");
    for (int i = 0; i < TOKENS; i++) CHECK(qkv_logits(run, 0, i, logits + i * VOCAB, NULL) == QKV_OK, "logits %d", i);
    free(run);
}

static void compare(qkv_model *model, qkv_config config, qkv_model *same, qkv_config other, double bound,
                    const char *what, int plane, int precision) {
    static float embeddings[2][TOKENS * SIDE], logits[2][TOKENS * VOCAB];
    double error = 0, largest = 0;
    int finite = 1;

    outcome(model, config, embeddings[0], logits[0]);
    outcome(same, other, embeddings[1], logits[1]);
    for (int i = 0; i < TOKENS * VOCAB; i++) {
        finite &= isfinite(logits[0][i]);
        largest = fmax(largest, fabs((double)logits[0][i]));
        error = fmax(error, fabs((double)logits[0][i] - (double)logits[1][i]));
    }
    CHECK(largest > 1e-3, "%s: no logit is above %g", what, largest);
    const int bits = check_same_bits(embeddings[0], embeddings[1], TOKENS * SIDE) && error == 0;
    CHECK(finite && (bits || (bound > 0 && error <= bound)), "%s, plane %d, precision %d: logits are off by %g", what,
          plane, precision, error);
}

/* ---- tests -------------------------------------------------------------------------------------------------- */

static void test_floats(qkv_plane plane, qkv_precision precision, int tied) {
    const qkv_config config = wide_config(tied);
    qkv_model *model = empty_model(config, precision), *same = empty_model(config, precision);

    load_both(model, same, plane, 0);
    compare(model, config, same, config, 0, "floats", (int)plane, (int)precision);
    free(model);
    free(same);
}

/* Integers that a form holds as they are give the bits that their floats give there. A q10 model that gets q8 keeps those
 * integers, while the floats get ten bits: close, not equal. */
static void test_integers(int most, qkv_precision precision, int tied) {
    qkv_config config = wide_config(tied), other = config;
    const int between = most == QKV_Q8_MAX && precision == QKV_PRECISION_Q10;

    config.table = most == QKV_Q8_MAX ? QKV_PLANE_Q8 : QKV_PLANE_Q10_HIGH;
    qkv_model *model = empty_model(config, precision), *same = empty_model(other, precision);
    load_both(model, same, QKV_PLANE_F32, most);
    compare(model, config, same, other, between ? 1e-2 : 0, "integers", most, (int)precision);
    free(model);
    free(same);
}

/* A table keeps its form and gives back what it was given. */
static void test_halves_in_a_table(qkv_plane plane) {
    qkv_config config = wide_config(0), other = config;

    config.table = (int32_t)plane;
    qkv_model *model = empty_model(config, QKV_PRECISION_F32), *same = empty_model(other, QKV_PRECISION_F32);
    load_both(model, same, plane, 0);
    compare(model, config, same, other, 0, "a table of halves", (int)plane, 0);
    free(model);
    free(same);
}

/* A tied head is looked up as a table of the same form is, and multiplies as a head of its own does. */
static void test_tied(qkv_precision precision) {
    static const qkv_plane tables[] = {QKV_PLANE_F32, QKV_PLANE_Q10_HIGH, QKV_PLANE_Q8};
    qkv_config tied = wide_config(1), own = wide_config(0);
    own.table = (int32_t)tables[precision];
    qkv_model *one = empty_model(tied, precision), *two = empty_model(own, precision);
    uint32_t seed = 6;

    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        int rows, cols;
        qkv_model_shape(one, (qkv_slot)s, &rows, &cols, NULL);
        if (rows == 0) continue;
        tensor t = float_tensor(&seed, QKV_PLANE_F32, rows, cols);
        load(one, (qkv_slot)s, QKV_PLANE_F32, rows, cols, t.floats, &seed);
        load(two, (qkv_slot)s, QKV_PLANE_F32, rows, cols, t.floats, &seed);
        if (s == QKV_SLOT_TOKENS) load(two, QKV_SLOT_HEAD_WEIGHT, QKV_PLANE_F32, rows, cols, t.floats, &seed);
        release(&t);
    }
    CHECK(qkv_model_finish(one, NULL) == QKV_OK && qkv_model_finish(two, NULL) == QKV_OK, "a tensor is missing");
    compare(one, tied, two, own, 0, "tied", 0, (int)precision);
    free(one);
    free(two);
}

static void refused(qkv_status got, qkv_status want, const char *what, int number) {
    CHECK(got == want, "%s (%d): status %d, want %d", what, number, (int)got, (int)want);
}

static void test_refusals(void) {
    static const uint8_t zeros[SIDE * SIDE * 4];
    const qkv_slot q = QKV_SLOT_Q_WEIGHT, bias = QKV_SLOT_O_BIAS;

    for (int p = QKV_PLANE_Q4_0; p < QKV_PLANE_COUNT; p++) { /* rows of 25 are no blocks */
        qkv_model *odd = empty_model(tiny_odd, QKV_PRECISION_F32);
        refused(qkv_model_rows(odd, q, 0, (qkv_plane)p, 0, 1, zeros, NULL), QKV_WEIGHT, "no multiple of the block", p);
        free(odd);
    }
    for (int p = 0; p < QKV_PRECISION_COUNT; p++) {
        const qkv_status ten_bits = p == QKV_PRECISION_Q8 ? QKV_WEIGHT : QKV_OK;
        qkv_model *model = empty_model(wide_config(0), (qkv_precision)p);
        refused(qkv_model_rows(model, q, 0, QKV_PLANE_Q10_HIGH, 0, 1, zeros, NULL), ten_bits, "high", p);
        refused(qkv_model_rows(model, q, 0, QKV_PLANE_Q10_LOW, 0, 1, zeros, NULL), ten_bits, "low", p);
        refused(qkv_model_rows(model, QKV_SLOT_TOKENS, 0, QKV_PLANE_Q8, 0, 1, zeros, NULL), QKV_WEIGHT, "q8 in floats",
                p);
        refused(qkv_model_rows(model, QKV_SLOT_TOKENS, 0, QKV_PLANE_SCALE, 0, 1, zeros, NULL), QKV_WEIGHT, "a scale",
                p);
        refused(qkv_model_rows(model, bias, 0, QKV_PLANE_Q8, 0, 1, zeros, NULL), QKV_WEIGHT, "a bias in q8", p);
        refused(qkv_model_rows(model, bias, 0, QKV_PLANE_Q8_0, 0, 1, zeros, NULL), QKV_OK, "a bias in blocks", p);
        refused(qkv_model_rows(model, QKV_SLOT_POSITIONS, 0, QKV_PLANE_F32, 0, 1, zeros, NULL), QKV_WEIGHT,
                "no such slot", p);
        refused(qkv_model_rows(model, QKV_SLOT_POSITIONS, 0, QKV_PLANE_F32, 0, 0, zeros, NULL), QKV_OK,
                "nothing for it", p);
        free(model);
    }
}

/* Everything is there, and one matrix twice: as floats and as integers. */
static void test_mixed(qkv_precision precision, qkv_plane second, const char *what) {
    static const uint8_t zeros[SIDE * SIDE * 4];
    qkv_model *model = empty_model(wide_config(0), precision);
    qkv_error err = {QKV_OK, "", 0, 0};

    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        int rows, cols;
        qkv_model_shape(model, (qkv_slot)s, &rows, &cols, NULL);
        qkv_model_rows(model, (qkv_slot)s, 0, QKV_PLANE_F32, 0, rows, zeros, NULL);
    }
    CHECK(qkv_model_rows(model, QKV_SLOT_Q_WEIGHT, 0, second, 0, SIDE, zeros, &err) == QKV_OK, "%s", err.what);
    refused(qkv_model_finish(model, &err), QKV_WEIGHT, what, (int)precision);
    CHECK(strcmp(err.what, "q.weight") == 0, "%s is blamed", err.what);
    free(model);
}

/* Integers at the end of their range that are not in the format: sums of them could overflow. */
static void test_lowest(qkv_precision precision, qkv_plane plane, int value, qkv_status want) {
    static uint8_t zeros[SIDE * SIDE * 4], lowest[SIDE * SIDE];
    qkv_model *model = empty_model(wide_config(0), precision);

    memset(lowest, value, sizeof lowest);
    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        int rows, cols;
        qkv_model_shape(model, (qkv_slot)s, &rows, &cols, NULL);
        if (s != QKV_SLOT_DOWN_WEIGHT) {
            qkv_model_rows(model, (qkv_slot)s, 0, QKV_PLANE_F32, 0, rows, zeros, NULL);
            continue;
        }
        qkv_model_rows(model, (qkv_slot)s, 0, plane, 0, rows, lowest, NULL);
        if (plane == QKV_PLANE_Q10_HIGH) qkv_model_rows(model, (qkv_slot)s, 0, QKV_PLANE_Q10_LOW, 0, rows, zeros, NULL);
        qkv_model_rows(model, (qkv_slot)s, 0, QKV_PLANE_SCALE, 0, rows, zeros, NULL);
    }
    refused(qkv_model_finish(model, NULL), want, "the lowest integer", value);
    free(model);
}

/* A row that is no number anywhere has a scale that is none; a row of zeros has scale 0. */
static void check_spoiled_rows(void) {
    static const float spoilers[] = {INFINITY, -INFINITY, NAN};
    float x[19];
    int16_t q[19];

    for (int at = 0; at < 19; at++) {
        for (int s = 0; s < 3; s++) {
            for (int i = 0; i < 19; i++) x[i] = (float)(i - 9);
            CHECK(qkv_quantise_row(q, x, 19, 511) == 9.0f / 511.0f && q[0] == -511 && q[9] == 0, "a row of numbers");
            x[at] = spoilers[s];
            CHECK(isnan(qkv_quantise_row(q, x, 19, 511)), "the scale of a row with %g at %d", (double)spoilers[s], at);
            for (int i = 0; i < 19; i++) CHECK(q[i] == 0, "q[%d] of a row with %g", i, (double)spoilers[s]);
        }
    }
    memset(x, 0, sizeof x);
    x[3] = -0.0f;
    CHECK(qkv_quantise_row(q, x, 19, 127) == 0.0f && q[3] == 0, "a row of zeros");
}

int main(void) {
    for (int p = 0; p < QKV_PRECISION_COUNT; p++) {
        const qkv_precision precision = (qkv_precision)p;
        for (int plane = 0; plane < QKV_PLANE_COUNT; plane++) {
            if (!qkv_plane_is_float((qkv_plane)plane)) continue;
            test_floats((qkv_plane)plane, precision, 0);
            test_floats((qkv_plane)plane, precision, 1);
        }
        test_integers(QKV_Q8_MAX, precision, 0);
        test_integers(QKV_Q8_MAX, precision, 1);
        if (p != QKV_PRECISION_Q8) test_integers(QKV_Q10_MAX, precision, 0);
        if (p != QKV_PRECISION_Q8) test_integers(QKV_Q10_MAX, precision, 1);
        test_tied(precision);
        test_mixed(precision, QKV_PLANE_Q8, "floats and q8");
        if (p != QKV_PRECISION_Q8) test_mixed(precision, QKV_PLANE_Q10_LOW, "floats and low bits");
        test_mixed(precision, QKV_PLANE_SCALE, "floats and scales");
    }
    test_halves_in_a_table(QKV_PLANE_F16);
    test_halves_in_a_table(QKV_PLANE_BF16);
    test_refusals();
    test_lowest(QKV_PRECISION_Q8, QKV_PLANE_Q8, -128, QKV_WEIGHT);
    test_lowest(QKV_PRECISION_Q8, QKV_PLANE_Q8, -127, QKV_OK);
    test_lowest(QKV_PRECISION_Q10, QKV_PLANE_Q8, -128, QKV_OK);
    test_lowest(QKV_PRECISION_Q10, QKV_PLANE_Q10_HIGH, -128, QKV_WEIGHT);
    test_lowest(QKV_PRECISION_F32, QKV_PLANE_Q8, -128, QKV_OK);
    check_spoiled_rows();
    return check_summary("planes");
}
