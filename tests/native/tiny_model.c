#include "tiny_model.h"

#include <stdlib.h>

#include "check.h"
#include "seeded.h"
#include "slots.h"

/* What makes a config an encoder of the BERT kind, besides its sizes. */
#define BERT                                                                                               \
    .embed_scale = 1.0f, .position_pad = -1, .embed_norm = 1, .norm_place = QKV_NORM_POST, .norm_bias = 1, \
    .first_norm = 1, .qkv_bias = 1, .o_bias = 1, .ffn_bias = 1, .activation = QKV_ACTIVATION_GELU, .rope_scale = 1.0f

const qkv_config tiny_square = {.layers = 2,
                                .heads = 4,
                                .kv_heads = 4,
                                .head_dim = 8,
                                .width = 32,
                                .ffn = 64,
                                .vocab = 50,
                                .stored_layers = 2,
                                .context = 200,
                                .embed_width = 32,
                                .segments = 2,
                                .positions = 200,
                                .norm_eps = 1e-12f,
                                BERT};
const qkv_config tiny_odd = {.layers = 3,
                             .heads = 6,
                             .kv_heads = 2,
                             .head_dim = 5,
                             .width = 25,
                             .ffn = 83,
                             .vocab = 73,
                             .stored_layers = 3,
                             .context = 300,
                             .embed_width = 25,
                             .positions = 300,
                             .norm_eps = 1e-3f,
                             BERT};

static const int32_t decoder_windows[] = {4, -1, 9}, decoder_ropes[] = {0, 1, -1};
static const float decoder_scales[] = {0.3f, 0.2f, 0.4f};
static const float decoder_frequencies[] = {1.0f, 0.21f, 0.044f, 0.7f, 0.01f, 0.0003f};

const qkv_config tiny_decoder = {.layers = 3,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .head_dim = 10,
                                 .width = 24,
                                 .ffn = 40,
                                 .vocab = 61,
                                 .stored_layers = 3,
                                 .context = 300,
                                 .causal = 1,
                                 .embed_width = 24,
                                 .embed_scale = 2.5f,
                                 .position_pad = -1,
                                 .norm_kind = QKV_NORM_RMS,
                                 .norm_place = QKV_NORM_SANDWICH,
                                 .norm_eps = 1e-4f,
                                 .norm_shift = 1.0f,
                                 .first_norm = 1,
                                 .final_norm = 1,
                                 .qk_norm = 1,
                                 .activation = QKV_ACTIVATION_GELU_TANH,
                                 .gated = 1,
                                 .softcap = 3.0f,
                                 .scales = decoder_scales,
                                 .windows = decoder_windows,
                                 .rope_dim = 6,
                                 .rope_sets = 2,
                                 .rope_scale = 1.0f,
                                 .rope_frequencies = decoder_frequencies,
                                 .rope_of_layer = decoder_ropes,
                                 .head_rows = 61,
                                 .head_width = 24,
                                 .head_tied = 1,
                                 .logit_softcap = 8.0f};

static const int32_t relative_windows[] = {-1, 5, -1, 30}, relative_buckets[] = {4, 3, 2, 0, 1, 5, 6};
static const float relative_frequencies[] = {1.0f, 0.1f};

const qkv_config tiny_relative = {.layers = 4,
                                  .heads = 3,
                                  .kv_heads = 3,
                                  .head_dim = 7,
                                  .width = 22,
                                  .ffn = 35,
                                  .vocab = 47,
                                  .stored_layers = 2,
                                  .context = 200,
                                  .embed_width = 13,
                                  .embed_scale = 1.0f,
                                  .segments = 2,
                                  .positions = 202,
                                  .position_first = 2,
                                  .position_pad = 1,
                                  .embed_norm = 1,
                                  .embed_project = 1,
                                  .norm_place = QKV_NORM_PRE,
                                  .norm_eps = 1e-5f,
                                  .final_norm = 1,
                                  .parallel = QKV_PARALLEL,
                                  .o_bias = 1,
                                  .activation = QKV_ACTIVATION_SILU,
                                  .windows = relative_windows,
                                  .rope_dim = 4,
                                  .rope_sets = 1,
                                  .rope_scale = 1.3f,
                                  .rope_frequencies = relative_frequencies,
                                  .buckets = 7,
                                  .bucket_reach = 3,
                                  .bucket_of = relative_buckets,
                                  .head_rows = 5,
                                  .head_width = 9,
                                  .head_dense = 1,
                                  .head_dense_bias = 1,
                                  .head_activation = QKV_ACTIVATION_RELU,
                                  .head_norm = 1,
                                  .head_bias = 1};

qkv_kind tiny_kind(const qkv_config *config) {
    return config->causal ? QKV_KIND_DECODER : QKV_KIND_ENCODER;
}

int tiny_slot_layers(const qkv_config *config, qkv_slot slot) {
    return qkv_slot_kinds[slot].scope == QKV_SCOPE_layer ? config->stored_layers : 1;
}

const float *tiny_weights(const tiny_model *tiny, qkv_slot slot, int layer, int *out_rows, int *out_cols) {
    qkv_model_shape(tiny->model, slot, out_rows, out_cols, NULL);
    return tiny->weights[slot] + (size_t)layer * (size_t)*out_rows * (size_t)*out_cols;
}

static void load_slot(tiny_model *tiny, qkv_slot slot, uint32_t *seed) {
    const int layers = tiny_slot_layers(&tiny->config, slot);
    int32_t rows, cols;
    qkv_error err = {QKV_OK, "", 0, 0};

    qkv_model_shape(tiny->model, slot, &rows, &cols, NULL);
    const size_t count = (size_t)rows * (size_t)cols;
    tiny->weights[slot] = malloc((size_t)layers * count * sizeof(float) + 1);
    for (int l = 0; l < layers; l++) {
        float *w = tiny->weights[slot] + (size_t)l * count;
        seeded_fill(seed, w, count, 0.5f);
        const int32_t own = qkv_find_slot(tiny->model, slot, l).rows; /* layer 0 may lack a norm */
        const qkv_status status = own ? qkv_model_rows(tiny->model, slot, l, QKV_PLANE_F32, 0, rows, w, &err) : QKV_OK;
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
