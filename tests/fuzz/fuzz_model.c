/* A model and a run of any numbers: config, weights, input, forward in parts, appended tokens, every way of looking in.
 * Whatever comes, the engine refuses it or stays inside the memory it asked for; weights of attention are between 0 and 1,
 * or NaN. */
#include <math.h>

#include "any_config.h"
#include "planes.h"
#include "qkv.h"

#define BYTES_MOST ((size_t)16 << 20)
#define WORK_MOST 3e7 /* bytes of weights times tokens: keeps one input below a second */
#define TOKENS_MOST 160
#define LAYERS_MOST 32

typedef struct memories {
    void *model, *run;
} memories;

static int32_t small_or_any(byte_source *from, int32_t least, int32_t most) {
    return take_number(from, 0, 31) == 31 ? take_any(from) : take_number(from, least, most);
}

/* ---- weights ------------------------------------------------------------------------------------------------ */

static void feed(qkv_model *model, qkv_slot slot, int32_t layer, qkv_plane plane, int32_t row0, int32_t rows,
                 uint32_t *state) {
    int32_t all, cols;
    PROMISE(qkv_model_shape(model, slot, &all, &cols, NULL) == QKV_OK);
    const int whole = plane < QKV_PLANE_COUNT && cols % qkv_plane_step(plane) == 0 && rows >= 0 && rows <= all;
    const size_t row_bytes = whole ? qkv_plane_row_bytes(plane, cols) : 0, bytes = whole ? (size_t)rows * row_bytes : 0;
    uint8_t *data = exactly(bytes);

    for (size_t i = 0; i + sizeof(float) <= bytes; i += sizeof(float)) {
        const float value = stream_float(state);
        memcpy(data + i, &value, sizeof value);
    }
    for (int32_t r = 0; r < rows && plane == QKV_PLANE_Q10_LOW && whole && cols % 4 != 0; r++) {
        data[(size_t)(r + 1) * row_bytes - 1] &= (uint8_t)((1 << (2 * (cols % 4))) - 1);
    }
    qkv_model_rows(model, slot, layer, plane, row0, rows, data, NULL);
    free(data);
}

/* One tensor in the way `how` says; what the slot does not take comes as floats, in one or the other form. */
static void feed_all(qkv_model *model, qkv_slot slot, int32_t layer, uint32_t how, uint32_t *state) {
    static const qkv_plane ways[][3] = {
        {QKV_PLANE_Q10_HIGH, QKV_PLANE_Q10_LOW, QKV_PLANE_SCALE}, {QKV_PLANE_SCALE, QKV_PLANE_Q8, QKV_PLANE_COUNT},
        {QKV_PLANE_Q4_0, QKV_PLANE_COUNT, QKV_PLANE_COUNT},       {QKV_PLANE_F16, QKV_PLANE_COUNT, QKV_PLANE_COUNT},
        {QKV_PLANE_BF16, QKV_PLANE_COUNT, QKV_PLANE_COUNT},       {QKV_PLANE_F32, QKV_PLANE_COUNT, QKV_PLANE_COUNT}};
    int32_t rows, cols;

    qkv_model_shape(model, slot, &rows, &cols, NULL);
    const int32_t first = rows > 1 ? (int32_t)(how % (uint32_t)rows) : 0;
    for (int i = 0; i < 3; i++) {
        const qkv_plane plane = ways[how % 6][i];
        if (plane == QKV_PLANE_COUNT) break;
        feed(model, slot, layer, plane, 0, first, state);
        feed(model, slot, layer, plane, first, rows - first, state);
    }
    feed(model, slot, layer, QKV_PLANE_F32, 0, rows, state); /* refused where the rows have come */
    feed(model, slot, layer, QKV_PLANE_F16, 0, rows, state);
    feed(model, slot, layer, QKV_PLANE_BF16, 0, rows, state);
}

static void odd_rows(qkv_model *model, byte_source *from, uint32_t *state) {
    for (int32_t n = take_number(from, 0, 7) - 5; n > 0; n--) {
        const int32_t slot = small_or_any(from, 0, QKV_SLOT_COUNT - 1);
        const int32_t layer = small_or_any(from, 0, 3), plane = small_or_any(from, 0, QKV_PLANE_COUNT - 1);
        const int32_t row0 = small_or_any(from, 0, 3), rows = small_or_any(from, 0, 40);
        if ((uint32_t)slot < QKV_SLOT_COUNT) {
            feed(model, (qkv_slot)slot, layer, (qkv_plane)plane, row0, rows, state);
        } else {
            PROMISE(qkv_model_rows(model, (qkv_slot)slot, layer, (qkv_plane)plane, row0, 0, "", NULL) != QKV_OK);
        }
    }
}

static qkv_model *make_model(const qkv_config *config, byte_source *from, memories *memory) {
    const qkv_precision precision = (qkv_precision)small_or_any(from, 0, QKV_PRECISION_COUNT - 1);
    qkv_error err = {QKV_OK, "", 0, 0};
    const size_t bytes = qkv_model_bytes(config, precision, &err);
    qkv_model *model = NULL;
    uint32_t state = take_word(from), how = take_word(from);

    PROMISE((bytes > 0) == (err.code == QKV_OK) && (bytes > 0 || err.what));
    if (bytes == 0 || bytes > BYTES_MOST || config->layers > LAYERS_MOST) return NULL;
    memory->model = exactly(bytes);
    PROMISE(qkv_model_create(&model, memory->model, bytes, config, precision, &err) == QKV_OK);
    odd_rows(model, from, &state);
    for (int s = 0; s < QKV_SLOT_COUNT; s++) {
        for (int32_t l = 0; l < config->stored_layers; l++)
            feed_all(model, (qkv_slot)s, l, how % 3 ? stream_next(&how) >> 9 : 5, &state);
    }
    if (qkv_model_finish(model, &err) != QKV_OK) return NULL;
    return model;
}

/* ---- input -------------------------------------------------------------------------------------------------- */

typedef struct any_input {
    qkv_input input;
    int32_t *ids, *types, *lengths;
    float *mask;
    uint8_t *mask_layers, *ablate;
    int32_t tokens;
} any_input;

static void draw_mask(any_input *in, const qkv_config *config, byte_source *from) {
    const int32_t n = in->lengths[0], rows = take_number(from, 0, 1) ? n : 1,
                  heads = take_number(from, 0, 1) ? config->heads : 1;
    const size_t count = (size_t)n * (size_t)rows * (size_t)heads;
    uint32_t state = take_word(from);

    in->mask = exactly(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        in->mask[i] = stream_next(&state) >> 30 ? (float)(state >> 24) * 0.01f : -INFINITY;
    }
    in->mask_layers = exactly((size_t)config->layers);
    for (int32_t l = 0; l < config->layers; l++) in->mask_layers[l] = (uint8_t)(stream_next(&state) >> 31);
    in->input.mask = in->mask;
    in->input.mask_rows = rows;
    in->input.mask_heads = heads;
    if (take_number(from, 0, 1)) in->input.mask_layers = in->mask_layers;
}

static void draw_tokens(any_input *in, const qkv_config *config, byte_source *from) {
    in->tokens = 0;
    for (int32_t n = 0; n < in->input.sequences; n++) {
        in->lengths[n] = take_number(from, 1, 40);
        if (in->tokens + in->lengths[n] > TOKENS_MOST) in->lengths[n] = 1;
        in->tokens += in->lengths[n];
    }
    in->ids = exactly((size_t)in->tokens * sizeof(int32_t));
    in->types = exactly((size_t)in->tokens * sizeof(int32_t));
    for (int32_t t = 0; t < in->tokens; t++) {
        in->ids[t] = (int32_t)(take_byte(from) % (uint32_t)config->vocab);
        in->types[t] = config->segments > 0 ? t % config->segments : t;
    }
    if (take_number(from, 0, 15) == 15) in->ids[take_byte(from) % (uint32_t)in->tokens] = take_any(from);
    if (take_number(from, 0, 15) == 15) in->types[take_byte(from) % (uint32_t)in->tokens] = take_any(from);
}

static any_input draw_input(const qkv_config *config, byte_source *from) {
    any_input in = {.input = {.sequences = take_number(from, 1, 4), .temperature = 1.0f}};

    in.lengths = exactly((size_t)in.input.sequences * sizeof(int32_t));
    draw_tokens(&in, config, from);
    if (in.input.sequences == 1 && take_number(from, 0, 1)) draw_mask(&in, config, from);
    if (take_number(from, 0, 3) == 3) {
        in.ablate = exactly((size_t)config->layers * (size_t)config->heads);
        for (size_t i = 0; i < (size_t)config->layers * (size_t)config->heads; i++) in.ablate[i] = i % 3 == 0;
        in.input.ablate = in.ablate;
    }
    in.input.ids = in.ids;
    in.input.lengths = in.lengths;
    if (take_number(from, 0, 1)) in.input.type_ids = in.types;
    if (take_number(from, 0, 7) == 7) in.input.temperature = take_float(from);
    in.input.has_scale = take_number(from, 0, 7) == 7;
    if (in.input.has_scale) in.input.scale = take_float(from);
    in.input.room = take_number(from, 0, 3) == 3 ? small_or_any(from, 0, 30) : 0;
    return in;
}

static void free_input(any_input *in) {
    void *all[] = {in->ids, in->types, in->lengths, in->mask, in->mask_layers, in->ablate};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- looking in --------------------------------------------------------------------------------------------- */

typedef struct session {
    const qkv_config *config;
    qkv_run *run;
    const any_input *in;
    int32_t added; /* tokens of the first sequence that came later */
} session;

static int32_t length_of(const session *s, int32_t sequence) {
    if (sequence < 0 || sequence >= s->in->input.sequences) return 0; /* refused: nothing is written */
    return s->in->lengths[sequence] + (sequence == 0 ? s->added : 0);
}

static void check_weights(const float *w, size_t n) {
    for (size_t i = 0; i < n; i++) PROMISE(isnan(w[i]) || (w[i] >= 0.0f && w[i] <= 1.000001f));
}

static void look_at_rows(const session *s, byte_source *from) {
    const int32_t sequence = small_or_any(from, 0, 3), n = length_of(s, sequence);
    const int32_t row0 = small_or_any(from, 0, n), rows = small_or_any(from, 0, n);
    const int32_t stage = small_or_any(from, 0, QKV_STAGE_COUNT - 1);
    const size_t cells = rows >= 0 && rows <= n ? (size_t)rows * (size_t)n : 0;
    float *out = exactly(cells * sizeof(float));
    const qkv_status status =
        qkv_get_weights(s->run, (qkv_kind)s->config->causal, small_or_any(from, 0, s->config->layers - 1),
                        small_or_any(from, 0, s->config->heads - 1), (qkv_stage)stage, sequence, row0, rows, out, NULL);
    if (status == QKV_OK && stage == QKV_STAGE_WEIGHTS) check_weights(out, cells);
    free(out);
}

static void look_at_stage(const session *s, byte_source *from) {
    const int32_t sequence = small_or_any(from, 0, 3), stage = small_or_any(from, 0, QKV_STAGE_COUNT - 1);
    const size_t n = (size_t)length_of(s, sequence);
    const int is_map = stage >= QKV_STAGE_SCORES && stage <= QKV_STAGE_WEIGHTS;
    const int32_t columns = stage == QKV_STAGE_X || stage == QKV_STAGE_OUTPUT || stage == QKV_STAGE_HIDDEN
                                ? s->config->width
                            : stage == QKV_STAGE_CONCAT ? s->config->heads * s->config->head_dim
                                                        : s->config->head_dim;
    const size_t cells = n * (is_map ? n : (size_t)columns);
    float *out = exactly(cells * sizeof(float));
    const qkv_status status =
        qkv_get_stage(s->run, (qkv_kind)small_or_any(from, s->config->causal, s->config->causal),
                      small_or_any(from, -1, s->config->layers), small_or_any(from, 0, s->config->heads - 1),
                      (qkv_stage)stage, sequence, out, NULL);
    if (status == QKV_OK && stage == QKV_STAGE_WEIGHTS) check_weights(out, cells);
    free(out);
}

static void look_at_all(const session *s, byte_source *from) {
    const int32_t sequence = small_or_any(from, 0, 3), size = small_or_any(from, 1, 32), n = length_of(s, sequence);
    const size_t heads = (size_t)s->config->layers * (size_t)s->config->heads, side = (size_t)(n < size   ? n
                                                                                               : size > 0 ? size
                                                                                                          : 0);
    uint8_t *separators = exactly((size_t)n);
    float *thumbnails = exactly(heads * side * side * sizeof(float)), *stats = exactly(heads * 7 * sizeof(float));

    for (int32_t i = 0; i < n; i++) separators[i] = i % 5 == 0;
    const qkv_status status = qkv_overview(s->run, (qkv_kind)s->config->causal, sequence, size,
                                           take_number(from, 0, 1) ? separators : NULL, thumbnails, stats, NULL);
    if (status == QKV_OK) check_weights(thumbnails, heads * side * side);
    free(separators);
    free(thumbnails);
    free(stats);
}

static void look_at_the_end(const session *s, byte_source *from) {
    float *out = exactly((size_t)s->config->width * sizeof(float)),
          *logits = exactly((size_t)s->config->head_rows * sizeof(float));
    const int32_t sequence = small_or_any(from, 0, 3), first = small_or_any(from, 0, length_of(s, sequence));

    qkv_embedding(s->run, sequence, (qkv_pooling)small_or_any(from, 0, QKV_POOL_COUNT - 1), first,
                  take_number(from, 0, 1), out, NULL);
    qkv_logits(s->run, sequence, small_or_any(from, -1, length_of(s, sequence)), logits, NULL);
    free(out);
    free(logits);
}

static void add_tokens(session *s, byte_source *from) {
    const int32_t count = small_or_any(from, 0, 9), held = count > 0 && count < 64 ? count : 1;
    int32_t *ids = exactly((size_t)held * sizeof *ids);

    for (int32_t i = 0; i < held; i++) ids[i] = (int32_t)(take_byte(from) % (uint32_t)s->config->vocab);
    if (take_number(from, 0, 15) == 15) ids[0] = take_any(from);
    if (qkv_append(s->run, ids, count, NULL) == QKV_OK) s->added += count;
    free(ids);
}

static void use(session *s, byte_source *from) {
    for (int32_t n = 0; n < 24 && from->left > 0; n++) {
        const int32_t first = small_or_any(from, 0, s->config->layers);
        switch (take_number(from, 0, 6)) {
        case 0: qkv_forward(s->run, first, small_or_any(from, 0, s->config->layers), NULL); break;
        case 1: look_at_rows(s, from); break;
        case 2: look_at_stage(s, from); break;
        case 3: look_at_all(s, from); break;
        case 4: look_at_the_end(s, from); break;
        case 5: add_tokens(s, from); break;
        default: qkv_forward(s->run, 0, s->config->layers, NULL); break;
        }
    }
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

static void run_input(const qkv_config *config, const qkv_model *model, byte_source *from, memories *memory) {
    any_input in = draw_input(config, from);
    qkv_error err = {QKV_OK, "", 0, 0};
    session s = {.config = config, .in = &in};
    const size_t bytes = qkv_run_bytes(model, &in.input, &err);
    const double work = (double)(in.tokens + 8) * (double)qkv_model_bytes(config, QKV_PRECISION_F32, NULL);

    PROMISE((bytes > 0) == (err.code == QKV_OK));
    if (bytes > 0 && bytes <= BYTES_MOST && work <= WORK_MOST) {
        memory->run = exactly(bytes);
        PROMISE(qkv_run_create(&s.run, memory->run, bytes, model, &in.input, &err) == QKV_OK);
        qkv_forward(s.run, 0, config->layers, NULL);
        use(&s, from);
    }
    free_input(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    byte_source from = {data, size};
    qkv_config config = any_config(&from);
    memories memory = {NULL, NULL};
    const qkv_model *model = make_model(&config, &from, &memory);

    if (model) run_input(&config, model, &from, &memory);
    free(memory.model);
    free(memory.run);
    any_config_free(&config);
    return 0;
}
