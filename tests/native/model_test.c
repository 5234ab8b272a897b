/* Weights on their way in: every form a tensor can take, in any order, and everything that must be refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "seeded.h"
#include "tiny_model.h"

typedef struct planes {
    int8_t *high;
    uint8_t *low;
    float *scales;
} planes;

/* Rows in ten bits, as the file format says: written here from models' format text, not from src/matrix.c. */
static planes quantise(const float *w, int rows, int cols) {
    const int low_bytes = (cols + 3) / 4;
    const planes p = {malloc((size_t)(rows * cols)), calloc((size_t)(rows * low_bytes), 1),
                      malloc((size_t)rows * sizeof(float))};

    for (int r = 0; r < rows; r++) {
        float largest = 0;
        for (int c = 0; c < cols; c++) largest = fmaxf(largest, fabsf(w[r * cols + c]));
        p.scales[r] = largest / 511;
        for (int c = 0; c < cols; c++) {
            const int q = (int)rintf(w[r * cols + c] / p.scales[r]);
            const int low = ((q % 4) + 4) % 4;
            p.high[r * cols + c] = (int8_t)((q - low) / 4);
            p.low[r * low_bytes + c / 4] = (uint8_t)(p.low[r * low_bytes + c / 4] | low << (2 * (c % 4)));
        }
    }
    return p;
}

static void release(planes p) {
    free(p.high);
    free(p.low);
    free(p.scales);
}

static int takes_planes(qkv_slot slot) {
    return slot == QKV_SLOT_TOKENS || slot == QKV_SLOT_Q_WEIGHT || slot == QKV_SLOT_K_WEIGHT ||
           slot == QKV_SLOT_V_WEIGHT || slot == QKV_SLOT_O_WEIGHT || slot == QKV_SLOT_UP_WEIGHT ||
           slot == QKV_SLOT_DOWN_WEIGHT;
}

static qkv_model *empty_model(qkv_config config, qkv_precision precision) {
    qkv_error err = {QKV_OK, "", 0, 0};
    qkv_model *model = NULL;
    const size_t bytes = qkv_model_bytes(&config, precision, &err);

    qkv_model_create(&model, aligned_alloc(16, bytes), bytes, &config, precision, &err);
    return model;
}

/* Loads a plane in two parts, so that a part that begins inside a panel is tried too. */
static void load_plane(qkv_model *model, qkv_slot slot, int layer, qkv_plane plane, int rows, const void *data,
                       size_t row_bytes) {
    const int half = rows / 2;
    qkv_error err = {QKV_OK, "", 0, 0};

    CHECK(qkv_model_rows(model, slot, layer, plane, 0, half, data, &err) == QKV_OK, "%s", err.what);
    CHECK(qkv_model_rows(model, slot, layer, plane, half, rows - half, (const char *)data + (size_t)half * row_bytes,
                         &err) == QKV_OK,
          "%s", err.what);
}

/* The weights of a tiny model as q10 planes, slots from the last to the first, planes in the given order. */
static qkv_model *load_planes(const tiny_model *t, qkv_config config, qkv_precision precision, const int order[3]) {
    qkv_model *model = empty_model(config, precision);
    qkv_error err = {QKV_OK, "", 0, 0};

    for (int s = QKV_SLOT_COUNT - 1; s >= 0; s--) {
        for (int l = 0; l < tiny_slot_layers(&config, (qkv_slot)s); l++) {
            int rows, cols;
            const float *w = tiny_weights(t, (qkv_slot)s, l, &rows, &cols);
            if (!takes_planes((qkv_slot)s)) {
                load_plane(model, (qkv_slot)s, l, QKV_PLANE_F32, rows, w, (size_t)cols * 4);
                continue;
            }
            const planes p = quantise(w, rows, cols);
            const void *data[] = {p.high, p.low, p.scales};
            const size_t row_bytes[] = {(size_t)cols, (size_t)(cols + 3) / 4, 4};
            for (int i = 0; i < 3; i++) {
                const int plane = order[i];
                load_plane(model, (qkv_slot)s, l, (qkv_plane)(QKV_PLANE_Q10_HIGH + plane), rows, data[plane],
                           row_bytes[plane]);
            }
            release(p);
        }
    }
    CHECK(qkv_model_finish(model, &err) == QKV_OK, "%s", err.what);
    return model;
}

static void last_hidden(const tiny_model *t, qkv_model *model, float *out) {
    static const int32_t length = 13;
    tiny_model other = *t;
    qkv_error err = {QKV_OK, "", 0, 0};

    other.model = model;
    qkv_run *run = tiny_run(&other, (qkv_input){.lengths = &length, .sequences = 1}, 5, t->config.layers);
    qkv_get_stage(run, QKV_KIND_ENCODER, t->config.layers, 0, QKV_STAGE_X, 0, out, &err);
    free(run);
}

static void test_planes(qkv_config config) {
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    const size_t count = 13 * (size_t)config.width;
    float from_floats[13 * 32], from_planes[13 * 32], widened[13 * 32];

    config.table = QKV_PLANE_Q10_HIGH;
    tiny_model t = tiny_make(config, QKV_PRECISION_Q10, 3);
    last_hidden(&t, t.model, from_floats);
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        qkv_model *model = load_planes(&t, config, QKV_PRECISION_Q10, orders[o]);
        last_hidden(&t, model, from_planes);
        CHECK(check_same_bits(from_floats, from_planes, count), "planes in order %zu and floats give other bits", o);
        free(model);
        model = load_planes(&t, config, QKV_PRECISION_F32, orders[o]);
        last_hidden(&t, model, widened);
        double error = 0;
        for (size_t i = 0; i < count; i++) error = fmax(error, fabs((double)widened[i] - (double)from_planes[i]));
        CHECK(error > 0 && error <= 2e-2, "the same ten bits in float32 differ by %g", error); /* int16 activations */
        free(model);
    }
    tiny_free(&t);
}

/* Half-precision weights are the floats they stand for. */
static void test_halves(qkv_plane plane) {
    qkv_config config = tiny_odd;
    float as_floats[13 * 32], as_halves[13 * 32], values[83 * 25];
    uint16_t halves[83 * 25];
    qkv_error err = {QKV_OK, "", 0, 0};

    config.table = (int32_t)plane;
    qkv_model *model = empty_model(config, QKV_PRECISION_F32);
    qkv_model *same = empty_model(tiny_odd, QKV_PRECISION_F32);
    uint32_t seed = 9;
    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        for (int l = 0; l < tiny_slot_layers(&config, (qkv_slot)s); l++) {
            int rows, cols;
            qkv_model_shape(model, (qkv_slot)s, &rows, &cols, &err);
            for (int r = 0; r < rows; r++) {
                for (int c = 0; c < cols; c++) { /* 1.0 to 1.75 and their negatives: exact in both forms */
                    const uint32_t bits = seeded_next(&seed) >> 29;
                    values[c] = (1 + (float)(bits & 3) / 4) * (bits & 4 ? -1.0f : 1.0f);
                    halves[c] =
                        (uint16_t)(plane == QKV_PLANE_F16 ? 0x3c00 | (bits & 3) << 8 : 0x3f80 | (bits & 3) << 5);
                    if (bits & 4) halves[c] |= 0x8000;
                }
                qkv_model_rows(model, (qkv_slot)s, l, plane, r, 1, halves, &err);
                qkv_model_rows(same, (qkv_slot)s, l, QKV_PLANE_F32, r, 1, values, &err);
            }
        }
    }
    CHECK(qkv_model_finish(model, &err) == QKV_OK, "%s", err.what);
    CHECK(qkv_model_finish(same, &err) == QKV_OK, "%s", err.what);
    const tiny_model t = {.config = config};
    last_hidden(&t, model, as_halves);
    last_hidden(&t, same, as_floats);
    CHECK(check_same_bits(as_halves, as_floats, 13 * 25), "plane %d differs from the floats it stands for", (int)plane);
    free(model);
    free(same);
}

static void refused(qkv_status got, qkv_status want, const qkv_error *err, const char *what) {
    CHECK(got == want && err->code == want && err->what, "%s: status %d, want %d", what, (int)got, (int)want);
}

static void test_refusals(void) {
    static const float x[73 * 83] = {0};
    static const int8_t lowest[25] = {-128};
    static const uint8_t low[7] = {0, 0, 0, 0, 0, 0, 4}, none[7] = {0};
    qkv_config config = tiny_odd;
    qkv_model *model = empty_model(config, QKV_PRECISION_Q10);
    const qkv_slot q = QKV_SLOT_Q_WEIGHT;
    qkv_error err = {QKV_OK, "", 0, 0};

    refused(qkv_model_rows(model, QKV_SLOT_COUNT, 0, QKV_PLANE_F32, 0, 1, x, &err), QKV_ARGUMENT, &err, "slot");
    refused(qkv_model_rows(model, q, 0, QKV_PLANE_COUNT, 0, 1, x, &err), QKV_ARGUMENT, &err, "plane");
    refused(qkv_model_rows(model, q, 3, QKV_PLANE_F32, 0, 1, x, &err), QKV_RANGE, &err, "layer 3 of 3");
    refused(qkv_model_rows(model, q, -1, QKV_PLANE_F32, 0, 1, x, &err), QKV_RANGE, &err, "layer -1");
    refused(qkv_model_rows(model, QKV_SLOT_TOKENS, 1, QKV_PLANE_F32, 0, 1, x, &err), QKV_RANGE, &err,
            "layer of a table");
    refused(qkv_model_rows(model, q, 0, QKV_PLANE_F32, 1, 1, x, &err), QKV_WEIGHT, &err, "rows from the second");
    refused(qkv_model_rows(model, q, 0, QKV_PLANE_F32, 0, 31, x, &err), QKV_WEIGHT, &err, "31 rows of 30");
    refused(qkv_model_rows(model, q, 0, QKV_PLANE_F32, 0, -1, x, &err), QKV_WEIGHT, &err, "-1 rows");
    refused(qkv_model_rows(model, QKV_SLOT_Q_BIAS, 0, QKV_PLANE_SCALE, 0, 1, x, &err), QKV_WEIGHT, &err,
            "bias in planes");
    refused(qkv_model_rows(model, q, 0, QKV_PLANE_Q10_LOW, 0, 1, low, &err), QKV_WEIGHT, &err, "spare bits set");
    refused(qkv_model_finish(model, &err), QKV_WEIGHT, &err, "nothing loaded");

    const qkv_input input = {
        .ids = (const int32_t *)x, .lengths = (const int32_t[]){1}, .sequences = 1, .temperature = 1};
    CHECK(qkv_run_bytes(model, &input, &err) == 0 && err.code == QKV_STATE, "a run of an unfinished model");
    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        for (int l = 0; l < tiny_slot_layers(&config, (qkv_slot)s); l++) {
            int rows, cols;
            qkv_model_shape(model, (qkv_slot)s, &rows, &cols, &err);
            if (s == (int)q && l == 1) continue;
            for (int r = 0; r < rows; r++) qkv_model_rows(model, (qkv_slot)s, l, QKV_PLANE_F32, r, 1, x, &err);
        }
    }
    refused(qkv_model_finish(model, &err), QKV_WEIGHT, &err, "one tensor missing");
    CHECK(strcmp(err.what, "q.weight") == 0 && err.got == 0 && err.want == 30, "missing tensor: %s, got %g, want %g",
          err.what, err.got, err.want);
    for (int r = 0; r < 30; r++) {
        qkv_model_rows(model, q, 1, QKV_PLANE_Q10_HIGH, r, 1, lowest, &err);
        qkv_model_rows(model, q, 1, QKV_PLANE_Q10_LOW, r, 1, none, &err);
    }
    refused(qkv_model_finish(model, &err), QKV_WEIGHT, &err, "scales missing");
    qkv_model_rows(model, q, 1, QKV_PLANE_SCALE, 0, 30, x, &err);
    refused(qkv_model_finish(model, &err), QKV_WEIGHT, &err, "a weight of -512");
    free(model);
}

static void test_config_refusals(void) {
    static const struct {
        size_t field;
        int32_t value;
    } bad[] = {
        {offsetof(qkv_config, layers), 0},
        {offsetof(qkv_config, layers), 100000},
        {offsetof(qkv_config, heads), 0},
        {offsetof(qkv_config, heads), 7},
        {offsetof(qkv_config, kv_heads), 0},
        {offsetof(qkv_config, kv_heads), 4},
        {offsetof(qkv_config, head_dim), -1},
        {offsetof(qkv_config, width), 0},
        {offsetof(qkv_config, width), 1000000000},
        {offsetof(qkv_config, ffn), 0},
        {offsetof(qkv_config, vocab), 0},
        {offsetof(qkv_config, vocab), INT32_MAX},
        {offsetof(qkv_config, stored_layers), 0},
        {offsetof(qkv_config, stored_layers), 4},
        {offsetof(qkv_config, context), 0},
        {offsetof(qkv_config, context), 301},
        {offsetof(qkv_config, causal), 2},
        {offsetof(qkv_config, embed_width), 24},
        {offsetof(qkv_config, embed_scale), 0x7fc00000},
        {offsetof(qkv_config, positions), -1},
        {offsetof(qkv_config, position_first), 1},
        {offsetof(qkv_config, position_pad), 0},
        {offsetof(qkv_config, norm_kind), 2},
        {offsetof(qkv_config, norm_place), 3},
        {offsetof(qkv_config, norm_shift), 0x7f800000},
        {offsetof(qkv_config, parallel), 1},
        {offsetof(qkv_config, activation), 0},
        {offsetof(qkv_config, activation), QKV_ACTIVATION_COUNT},
        {offsetof(qkv_config, gated), -1},
        {offsetof(qkv_config, softcap), (int32_t)0xbf800000},
        {offsetof(qkv_config, rope_dim), 4},
        {offsetof(qkv_config, rope_dim), 3},
        {offsetof(qkv_config, rope_sets), -1},
        {offsetof(qkv_config, buckets), 4},
        {offsetof(qkv_config, head_rows), -1},
        {offsetof(qkv_config, head_rows), 73},
        {offsetof(qkv_config, segments), -1},
        {offsetof(qkv_config, table), QKV_PLANE_Q10_LOW},
        {offsetof(qkv_config, norm_eps), (int32_t)0xbf800000},
        {offsetof(qkv_config, norm_eps), 0x7fc00000},
    };
    qkv_error err = {QKV_OK, "", 0, 0};

    CHECK(qkv_config_check(&tiny_odd, &err) == QKV_OK, "the config of the tests is refused: %s", err.what);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qkv_config config = tiny_odd;
        memcpy((char *)&config + bad[i].field, &bad[i].value, 4);
        CHECK(qkv_config_check(&config, &err) == QKV_CONFIG && qkv_model_bytes(&config, QKV_PRECISION_F32, &err) == 0,
              "value %d at offset %zu is taken", bad[i].value, bad[i].field);
    }
    CHECK(qkv_model_bytes(&tiny_odd, QKV_PRECISION_COUNT, &err) == 0 && err.code == QKV_ARGUMENT, "precision");
}

static void test_input_refusals(void) {
    tiny_model t = tiny_make(tiny_square, QKV_PRECISION_F32, 1);
    float mask[16] = {0}, nan_mask[16] = {NAN};
    const int32_t ids[4] = {0, 1, 2, 49}, over[4] = {0, 50, 0, 0}, under[4] = {-1}, types[4] = {0, 1, 2, 0};
    const int32_t four = 4, long_one = 201, zero = 0, two[2] = {3, 1};
    const qkv_input good = {.ids = ids, .lengths = &four, .sequences = 1, .temperature = 1};
    qkv_input bad[14];
    static const qkv_status want[14] = {QKV_TOKEN,    QKV_TOKEN,    QKV_TOKEN,    QKV_ARGUMENT, QKV_ARGUMENT,
                                        QKV_ARGUMENT, QKV_ARGUMENT, QKV_ARGUMENT, QKV_ARGUMENT, QKV_ARGUMENT,
                                        QKV_ARGUMENT, QKV_ARGUMENT, QKV_ARGUMENT, QKV_ARGUMENT};
    qkv_error err = {QKV_OK, "", 0, 0};

    for (int i = 0; i < 14; i++) bad[i] = good;
    bad[0].ids = over;
    bad[1].ids = under;
    bad[2].type_ids = types;
    bad[3].lengths = &long_one;
    bad[4].lengths = &zero;
    bad[5].sequences = 0;
    bad[6].sequences = -1;
    bad[7].temperature = 0;
    bad[8].temperature = NAN;
    bad[9].has_scale = 1, bad[9].scale = INFINITY;
    bad[10].mask = mask, bad[10].mask_rows = 2, bad[10].mask_heads = 1;
    bad[11].mask = mask, bad[11].mask_rows = 4, bad[11].mask_heads = 3;
    bad[12].mask = nan_mask, bad[12].mask_rows = 1, bad[12].mask_heads = 1;
    bad[13].mask = mask, bad[13].mask_rows = 1, bad[13].mask_heads = 1, bad[13].lengths = two, bad[13].sequences = 2;
    CHECK(qkv_run_bytes(t.model, &good, &err) > 0, "the good input is refused: %s", err.what);
    for (int i = 0; i < 14; i++) {
        const size_t bytes = qkv_run_bytes(t.model, &bad[i], &err);
        CHECK(bytes == 0 && err.code == want[i], "input %d: %zu bytes, code %d", i, bytes, (int)err.code);
    }
    qkv_run *run = NULL;
    const size_t bytes = qkv_run_bytes(t.model, &good, &err);
    void *memory = aligned_alloc(16, bytes);
    refused(qkv_run_create(&run, memory, bytes - 1, t.model, &good, &err), QKV_MEMORY, &err, "a byte too few");
    CHECK(qkv_run_create(&run, memory, bytes, t.model, &good, &err) == QKV_OK, "%s", err.what);
    free(memory);
    tiny_free(&t);
}

int main(void) {
    test_planes(tiny_square);
    test_planes(tiny_odd);
    test_halves(QKV_PLANE_F16);
    test_halves(QKV_PLANE_BF16);
    test_refusals();
    test_config_refusals();
    test_input_refusals();
    return check_summary("model");
}
