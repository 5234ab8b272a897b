/* Masks, ablated heads, scale, temperature and ranges of any numbers on two small models. Whatever comes, the engine refuses it or
 * stays inside its memory; a forbidden key has the weight 0 unless the row is NaN, an ablated head the context 0, weights are
 * between 0 and 1 or NaN, and a forward pass in parts gives the bits of one in one go. */
#include <math.h>

#include "byte_source.h"
#include "qkv.h"

#define TOKENS_MOST 24
#define LAYERS 2
#define HEADS 4

/* ---- the models, made once ----------------------------------------------------------------------------------------- */

static const float frequencies[2] = {1.0f, 0.1f};
static const int32_t windows[LAYERS] = {5, -1};

static const qkv_config configs[2] = {{.layers = LAYERS,
                                       .heads = HEADS,
                                       .kv_heads = HEADS,
                                       .head_dim = 5,
                                       .width = 11,
                                       .ffn = 9,
                                       .vocab = 13,
                                       .stored_layers = LAYERS,
                                       .context = 40,
                                       .embed_width = 11,
                                       .embed_scale = 1.0f,
                                       .segments = 2,
                                       .positions = 40,
                                       .position_pad = -1,
                                       .embed_norm = 1,
                                       .norm_place = QKV_NORM_POST,
                                       .norm_bias = 1,
                                       .norm_eps = 1e-5f,
                                       .first_norm = 1,
                                       .qkv_bias = 1,
                                       .o_bias = 1,
                                       .ffn_bias = 1,
                                       .activation = QKV_ACTIVATION_GELU,
                                       .rope_scale = 1.0f},
                                      {.layers = LAYERS,
                                       .heads = HEADS,
                                       .kv_heads = 2,
                                       .head_dim = 6,
                                       .width = 12,
                                       .ffn = 10,
                                       .vocab = 13,
                                       .stored_layers = LAYERS,
                                       .context = 40,
                                       .causal = 1,
                                       .embed_width = 12,
                                       .embed_scale = 1.0f,
                                       .position_pad = -1,
                                       .norm_kind = QKV_NORM_RMS,
                                       .norm_place = QKV_NORM_PRE,
                                       .norm_eps = 1e-5f,
                                       .first_norm = 1,
                                       .final_norm = 1,
                                       .activation = QKV_ACTIVATION_SILU,
                                       .gated = 1,
                                       .softcap = 4.0f,
                                       .windows = windows,
                                       .rope_dim = 4,
                                       .rope_sets = 1,
                                       .rope_scale = 1.0f,
                                       .rope_frequencies = frequencies}};

static const qkv_model *model_of(int which) {
    static qkv_model *models[2];
    if (models[which]) return models[which];
    const size_t bytes = qkv_model_bytes(&configs[which], QKV_PRECISION_F32, NULL);
    uint32_t state = 3;
    PROMISE(qkv_model_create(&models[which], exactly(bytes), bytes, &configs[which], QKV_PRECISION_F32, NULL) ==
            QKV_OK);
    for (int slot = 0; slot < QKV_SLOT_COUNT; slot++) {
        for (int32_t l = 0; l < LAYERS; l++) {
            float data[4096];
            int32_t rows, cols;
            qkv_model_shape(models[which], (qkv_slot)slot, &rows, &cols, NULL);
            for (int32_t i = 0; i < rows * cols; i++) data[i] = (float)(int32_t)stream_next(&state) * 0x1p-31f;
            qkv_model_rows(models[which], (qkv_slot)slot, l, QKV_PLANE_F32, 0, rows, data,
                           NULL); /* layer 1 of a table: refused */
        }
    }
    PROMISE(qkv_model_finish(models[which], NULL) == QKV_OK);
    return models[which];
}

/* ---- input --------------------------------------------------------------------------------------------------------- */

static int32_t small_or_any(byte_source *from, int32_t least, int32_t most) {
    return take_number(from, 0, 31) == 31 ? take_any(from) : take_number(from, least, most);
}

typedef struct session {
    const qkv_config *config;
    const qkv_model *model;
    qkv_input input;
    int32_t ids[TOKENS_MOST], lengths[3];
    float *mask;
    uint8_t *mask_layers, *ablate;
    void *memory;
    qkv_run *run;
    int32_t done, length; /* layers that were run, tokens of the first sequence */
} session;

/* A mask of exactly the size that its numbers say, as far as they can be right. */
static void draw_mask(session *s, byte_source *from) {
    const int32_t n = s->lengths[0];
    s->input.mask_rows = take_number(from, 0, 15) == 15 ? take_any(from) : take_number(from, 0, 1) ? n : 1;
    s->input.mask_heads = take_number(from, 0, 15) == 15 ? take_any(from) : take_number(from, 0, 1) ? HEADS : 1;
    const int32_t rows = s->input.mask_rows == n ? n : 1, heads = s->input.mask_heads == HEADS ? HEADS : 1;
    const size_t count = (size_t)rows * (size_t)heads * (size_t)n;
    uint32_t state = take_word(from);

    s->mask = exactly(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        s->mask[i] = stream_next(&state) >> 30 ? stream_float(&state) : -INFINITY;
    }
    s->input.mask = s->mask;
    s->mask_layers = exactly(LAYERS);
    for (int l = 0; l < LAYERS; l++) s->mask_layers[l] = (uint8_t)take_byte(from);
    if (take_number(from, 0, 1)) s->input.mask_layers = s->mask_layers;
}

static void draw_input(session *s, byte_source *from) {
    int32_t tokens = 0;
    s->input.sequences = take_number(from, 0, 3) == 3 ? 3 : 1;
    for (int32_t n = 0; n < s->input.sequences; n++) tokens += s->lengths[n] = take_number(from, 1, TOKENS_MOST / 3);
    for (int32_t t = 0; t < tokens; t++) s->ids[t] = (int32_t)(take_byte(from) % 13);
    s->input.ids = s->ids;
    s->input.lengths = s->lengths;
    s->length = s->lengths[0];
    if (take_number(from, 0, 1)) draw_mask(s, from);
    if (take_number(from, 0, 1)) {
        s->ablate = exactly((size_t)LAYERS * HEADS);
        const uint32_t bits = take_byte(from);
        for (uint32_t i = 0; i < LAYERS * HEADS; i++) s->ablate[i] = (uint8_t)(bits >> i & 1u ? take_byte(from) : 0);
        s->input.ablate = s->ablate;
    }
    s->input.has_scale = take_number(from, 0, 1) ? take_any(from) : 0;
    s->input.scale = take_number(from, 0, 1) ? take_float(from) : 0.5f;
    s->input.temperature = take_number(from, 0, 1) ? take_float(from) : 1.0f;
    s->input.room = take_number(from, 0, 3) == 3 ? small_or_any(from, 0, 9) : 0;
}

/* ---- promises ------------------------------------------------------------------------------------------------------ */

static int same(const float *a, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!(isnan(a[i]) && isnan(b[i])) && memcmp(&a[i], &b[i], sizeof *a) != 0) return 0;
    }
    return 1;
}

static int is_forbidden(const session *s, int32_t layer, int32_t head, int32_t query, int32_t key) {
    if (s->config->causal && key > query) return 1;
    if (s->config->windows && s->config->windows[layer] >= 0 && query - key > s->config->windows[layer]) return 1;
    if (!s->input.mask || (s->input.mask_layers && !s->input.mask_layers[layer])) return 0;
    const int32_t n = s->lengths[0], rows = s->input.mask_rows, h = s->input.mask_heads == 1 ? 0 : head;
    return s->mask[((size_t)h * (size_t)rows + (size_t)(rows == 1 ? 0 : query)) * (size_t)n + (size_t)key] == -INFINITY;
}

/* Where a score that is looked at is NaN or +infinity all weights of the row are NaN, as in PyTorch. */
static void check_row(const session *s, int32_t layer, int32_t head, int32_t query, const float *weights) {
    int spoilt = 0, wrong = 0;

    for (int32_t j = 0; j < s->length; j++) {
        PROMISE(isnan(weights[j]) || (weights[j] >= 0.0f && weights[j] <= 1.000001f));
        if (is_forbidden(s, layer, head, query, j)) {
            wrong += weights[j] != 0.0f;
        } else {
            spoilt += isnan(weights[j]);
        }
    }
    PROMISE(wrong == 0 || spoilt > 0);
}

static void look_at_weights(const session *s, byte_source *from) {
    const int32_t layer = small_or_any(from, 0, LAYERS - 1), head = small_or_any(from, 0, HEADS - 1), n = s->length;
    const int32_t row0 = small_or_any(from, 0, n), rows = small_or_any(from, 0, n);
    const int fits = row0 >= 0 && rows >= 0 && row0 <= n && rows <= n - row0;
    float *out = exactly(fits ? (size_t)rows * (size_t)n * sizeof(float) : 0);

    if (qkv_get_weights(s->run, (qkv_kind)s->config->causal, layer, head, QKV_STAGE_WEIGHTS, 0, row0, rows, out,
                        NULL) == QKV_OK) {
        PROMISE(fits && layer < s->done);
        for (int32_t i = 0; i < rows; i++) check_row(s, layer, head, row0 + i, out + (size_t)i * (size_t)n);
    }
    free(out);
}

static void look_at_context(const session *s, byte_source *from) {
    const int32_t layer = small_or_any(from, 0, LAYERS - 1), head = small_or_any(from, 0, HEADS - 1);
    const size_t count = (size_t)s->length * (size_t)s->config->head_dim;
    float *out = exactly(count * sizeof(float));

    if (qkv_get_stage(s->run, (qkv_kind)s->config->causal, layer, head, QKV_STAGE_CONTEXT, 0, out, NULL) == QKV_OK) {
        const int is_ablated = s->ablate && s->ablate[layer * HEADS + head];
        for (size_t i = 0; is_ablated && i < count; i++) PROMISE(out[i] == 0.0f);
    }
    free(out);
}

/* Any layers in any order, then all: the bits of a run that went through once. */
static void compare_with_one_go(session *s) {
    const size_t bytes = qkv_run_bytes(s->model, &s->input, NULL), count = (size_t)s->config->width;
    void *memory = exactly(bytes);
    float *a = exactly(count * sizeof(float)), *b = exactly(count * sizeof(float));
    qkv_run *once;

    PROMISE(qkv_run_create(&once, memory, bytes, s->model, &s->input, NULL) == QKV_OK);
    PROMISE(qkv_forward(once, 0, LAYERS, NULL) == QKV_OK);
    PROMISE(qkv_forward(s->run, 0, LAYERS, NULL) == QKV_OK);
    s->done = LAYERS;
    PROMISE(qkv_embedding(once, 0, QKV_POOL_LAST, 0, 0, a, NULL) == QKV_OK);
    PROMISE(qkv_embedding(s->run, 0, QKV_POOL_LAST, 0, 0, b, NULL) == QKV_OK);
    PROMISE(same(a, b, count));
    free(memory);
    free(a);
    free(b);
}

static void use(session *s, byte_source *from) {
    for (int32_t n = 0; n < 16 && from->left > 0; n++) {
        const int32_t first = small_or_any(from, 0, LAYERS), last = small_or_any(from, 0, LAYERS);
        switch (take_number(from, 0, 2)) {
        case 0:
            if (qkv_forward(s->run, first, last, NULL) == QKV_OK) s->done = last;
            break;
        case 1: look_at_weights(s, from); break;
        default: look_at_context(s, from); break;
        }
    }
    compare_with_one_go(s);
    look_at_weights(s, from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    byte_source from = {data, size};
    const int which = take_number(&from, 0, 1);
    session s = {.config = &configs[which], .model = model_of(which)};
    qkv_error err = {QKV_OK, "", 0, 0};

    draw_input(&s, &from);
    const size_t bytes = qkv_run_bytes(s.model, &s.input, &err);
    PROMISE((bytes > 0) == (err.code == QKV_OK));
    if (bytes > 0 && bytes < (size_t)16 << 20) {
        s.memory = exactly(bytes);
        PROMISE(qkv_run_create(&s.run, s.memory, bytes, s.model, &s.input, &err) == QKV_OK);
        use(&s, &from);
    }
    free(s.memory);
    free(s.mask);
    free(s.mask_layers);
    free(s.ablate);
    return 0;
}
