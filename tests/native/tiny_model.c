#include "tiny_model.h"

#include <stdlib.h>

#include "check.h"
#include "seeded.h"

const qkv_config tiny_square = {.layers = 2,
                                .heads = 4,
                                .kv_heads = 4,
                                .head_dim = 8,
                                .width = 32,
                                .ffn = 64,
                                .vocab = 50,
                                .positions = 200,
                                .segments = 2,
                                .norm_eps = 1e-12f,
                                .table = QKV_PLANE_F32};
const qkv_config tiny_odd = {.layers = 3,
                             .heads = 6,
                             .kv_heads = 2,
                             .head_dim = 5,
                             .width = 25,
                             .ffn = 83,
                             .vocab = 73,
                             .positions = 300,
                             .segments = 0,
                             .norm_eps = 1e-3f,
                             .table = QKV_PLANE_F32};

static int is_layer_slot(qkv_slot slot) {
    return slot >= QKV_SLOT_Q_WEIGHT;
}

const float *tiny_weights(const tiny_model *tiny, qkv_slot slot, int layer, int *out_rows, int *out_cols) {
    qkv_model_shape(tiny->model, slot, out_rows, out_cols, NULL);
    return tiny->weights[slot] + (size_t)layer * (size_t)*out_rows * (size_t)*out_cols;
}

static void load_slot(tiny_model *tiny, qkv_slot slot, uint32_t *seed) {
    const int layers = is_layer_slot(slot) ? tiny->config.layers : 1;
    int32_t rows, cols;
    qkv_error err = {QKV_OK, "", 0, 0};

    qkv_model_shape(tiny->model, slot, &rows, &cols, NULL);
    const size_t count = (size_t)rows * (size_t)cols;
    tiny->weights[slot] = malloc((size_t)layers * count * sizeof(float) + 1);
    for (int l = 0; l < layers; l++) {
        float *w = tiny->weights[slot] + (size_t)l * count;
        seeded_fill(seed, w, count, 0.5f);
        const qkv_status status = qkv_model_rows(tiny->model, slot, l, QKV_PLANE_F32, 0, rows, w, &err);
        CHECK(status == QKV_OK, "slot %d, layer %d: %s", (int)slot, l, err.what);
    }
}

tiny_model tiny_make(qkv_config config, qkv_precision precision, uint32_t seed) {
    tiny_model tiny = {.config = config};
    qkv_error err = {QKV_OK, "", 0, 0};
    const size_t bytes = qkv_model_bytes(&config, precision, &err);

    qkv_model_create(&tiny.model, aligned_alloc(16, bytes), bytes, &config, precision, &err);
    for (int s = 0; s < QKV_SLOT_COUNT; s++) load_slot(&tiny, (qkv_slot)s, &seed);
    CHECK(qkv_model_finish(tiny.model, &err) == QKV_OK, "%s", err.what);
    return tiny;
}

void tiny_free(tiny_model *tiny) {
    for (int s = 0; s < QKV_SLOT_COUNT; s++) free(tiny->weights[s]);
    free(tiny->model);
}

qkv_run *tiny_run(const tiny_model *tiny, qkv_input input, uint32_t seed, int layers) {
    int32_t tokens = 0;
    qkv_error err = {QKV_OK, "", 0, 0};
    qkv_run *run = NULL;

    for (int32_t n = 0; n < input.sequences; n++) tokens += input.lengths[n];
    int32_t *ids = malloc((size_t)tokens * sizeof *ids), *types = malloc((size_t)tokens * sizeof *types);
    for (int32_t t = 0; t < tokens; t++) {
        ids[t] = seeded_int(&seed, tiny->config.vocab);
        types[t] = seeded_int(&seed, 2);
    }
    input.ids = ids;
    input.type_ids = types;
    if (!(input.temperature > 0)) input.temperature = 1;
    const size_t bytes = qkv_run_bytes(tiny->model, &input, &err);
    void *memory = bytes ? aligned_alloc(16, bytes) : NULL;
    CHECK(bytes > 0, "run refused: %s, got %g, want %g", err.what, err.got, err.want);
    if (memory) {
        qkv_run_create(&run, memory, bytes, tiny->model, &input, &err);
        CHECK(qkv_forward(run, 0, layers, &err) == QKV_OK, "%s", err.what);
    }
    free(ids);
    free(types);
    return run;
}
