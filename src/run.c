/* run.c - lays a run out in memory, checks its input, and sends the tokens through the blocks. */
#include "run.h"

#include "embed.h"
#include "rotary.h"
#include "status.h"

#define CAPACITY_STEP 64 /* tokens; runs of similar length then take blocks of equal size, which the free list reuses */
#define SEQUENCES_MAX (1 << 20)
#define FLOAT_MAX 3.402823466e38f

/* ---- checking the input ------------------------------------------------------------------------------------- */

static qkv_status check_room(const qkv_model *model, const qkv_input *input, qkv_error *err) {
    QKV_FAIL_IF(input->room < 0, QKV_ARGUMENT, "room", input->room, 0);
    if (input->room == 0) return QKV_OK;
    QKV_FAIL_IF(!model->config.causal, QKV_ARGUMENT, "room in a model that is not causal", input->room, 0);
    QKV_FAIL_IF(input->sequences != 1, QKV_ARGUMENT, "sequences of a run with room", input->sequences, 1);
    QKV_FAIL_IF(input->mask != NULL, QKV_ARGUMENT, "room under a mask", input->room, 0);
    return QKV_OK;
}

static qkv_status check_lengths(const qkv_model *model, const qkv_input *input, qkv_run *run, qkv_error *err) {
    const int32_t context = model->config.context;
    int64_t tokens = 0, padded = 0;

    QKV_FAIL_IF(input->sequences < 1 || input->sequences > SEQUENCES_MAX, QKV_ARGUMENT, "sequences", input->sequences,
                1);
    for (int32_t n = 0; n < input->sequences; n++) {
        const int32_t length = input->lengths[n];
        QKV_FAIL_IF(length < 1, QKV_ARGUMENT, "length of a sequence", length, 1);
        QKV_FAIL_IF(length > context - input->room, QKV_ARGUMENT, "length of a sequence", length,
                    context - input->room);
        tokens += length;
        padded += ((int64_t)length + input->room + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
        if (length + input->room > run->longest) run->longest = length + input->room;
    }
    QKV_FAIL_IF(padded > INT32_MAX - CAPACITY_STEP, QKV_ARGUMENT, "tokens of all sequences", padded,
                INT32_MAX - CAPACITY_STEP);
    run->tokens = (int32_t)tokens;
    run->capacity = (int32_t)(padded + CAPACITY_STEP - 1) / CAPACITY_STEP * CAPACITY_STEP;
    run->sequence_count = input->sequences;
    run->room = input->room;
    return QKV_OK;
}

static qkv_status check_ids(const qkv_model *model, const qkv_input *input, int32_t tokens, qkv_error *err) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t id = input->ids[t];
        QKV_FAIL_IF(id < 0 || id >= model->config.vocab, QKV_TOKEN, "token id", id, model->config.vocab - 1);
        if (!input->type_ids || model->config.segments == 0) continue;
        const int32_t type = input->type_ids[t];
        QKV_FAIL_IF(type < 0 || type >= model->config.segments, QKV_TOKEN, "token type id", type,
                    model->config.segments - 1);
    }
    return QKV_OK;
}

static qkv_status check_mask(const qkv_model *model, const qkv_input *input, const qkv_run *run, qkv_error *err) {
    if (!input->mask) return QKV_OK;
    for (int32_t n = 0; n < input->sequences; n++) {
        QKV_FAIL_IF(input->lengths[n] != run->longest, QKV_ARGUMENT, "sequences under one mask need equal lengths",
                    input->lengths[n], run->longest);
    }
    QKV_FAIL_IF(input->mask_rows != 1 && input->mask_rows != run->longest, QKV_ARGUMENT, "mask rows", input->mask_rows,
                run->longest);
    QKV_FAIL_IF(input->mask_heads != 1 && input->mask_heads != model->config.heads, QKV_ARGUMENT, "mask heads",
                input->mask_heads, model->config.heads);
    const uint64_t rows = (uint64_t)input->mask_heads * (uint64_t)input->mask_rows;
    QKV_FAIL_IF(rows > SIZE_MAX / sizeof(float) / (size_t)run->longest, QKV_MEMORY, "mask rows and heads", rows,
                SIZE_MAX / sizeof(float) / (size_t)run->longest);
    const size_t count = (size_t)rows * (size_t)run->longest;
    for (size_t i = 0; i < count; i++) { /* NaN fails both comparisons */
        QKV_FAIL_IF(!(input->mask[i] <= FLOAT_MAX), QKV_ARGUMENT, "mask value", input->mask[i], 0);
    }
    return QKV_OK;
}

/* What Q K^T of a layer is multiplied by. The temperature divides all logits, so the cap and the relative biases are
 * divided as well, where they are applied. */
static float layer_scale(const qkv_run *run, int32_t layer) {
    const qkv_config *c = &run->model->config;
    double scale = 1.0 / __builtin_sqrt((double)c->head_dim);

    if (c->scales) scale = (double)c->scales[layer];
    if (run->has_scale) scale = (double)run->scale;
    return (float)(scale / (double)run->temperature);
}

static qkv_status check_input(const qkv_model *model, const qkv_input *input, qkv_run *run, qkv_error *err) {
    QKV_FAIL_IF(!model->finished, QKV_STATE, "the model has not all its weights", 0, 1);
    QKV_TRY(check_room(model, input, err));
    QKV_TRY(check_lengths(model, input, run, err));
    QKV_TRY(check_ids(model, input, run->tokens, err));
    QKV_TRY(check_mask(model, input, run, err));
    QKV_FAIL_IF(!(input->temperature > 0.0f && input->temperature <= FLOAT_MAX), QKV_ARGUMENT, "temperature",
                input->temperature, 1);
    QKV_FAIL_IF(input->has_scale && !(__builtin_fabsf(input->scale) <= FLOAT_MAX), QKV_ARGUMENT, "scale", input->scale,
                1);
    run->has_scale = input->has_scale;
    run->scale = input->scale;
    run->temperature = input->temperature;
    const float cap = model->config.softcap / input->temperature;
    QKV_FAIL_IF(!(cap <= FLOAT_MAX), QKV_ARGUMENT, "softcap / temperature", cap, FLOAT_MAX);
    for (int32_t l = 0; l < model->config.layers; l++) {
        const float scale = layer_scale(run, l);
        QKV_FAIL_IF(!(__builtin_fabsf(scale) <= FLOAT_MAX), QKV_ARGUMENT, "scale / temperature", scale, 1);
    }
    return QKV_OK;
}

/* ---- layout ------------------------------------------------------------------------------------------------- */

static void lay_out(qkv_run *run, qkv_arena *arena, const qkv_input *input) {
    const qkv_config *c = &run->model->config;
    const size_t layers = (size_t)c->layers, tokens = (size_t)run->capacity;

    run->sequences = qkv_arena_take(arena, (size_t)input->sequences, sizeof(qkv_sequence));
    run->ids = qkv_arena_take(arena, tokens, sizeof(int32_t));
    run->type_ids = qkv_arena_take(arena, tokens, sizeof(int32_t));
    if (input->mask) {
        run->mask_rows = input->mask_rows;
        run->mask_heads = input->mask_heads;
        run->mask = qkv_arena_take(arena, (size_t)run->mask_heads * (size_t)run->mask_rows * (size_t)run->longest,
                                   sizeof(float));
    }
    if (input->mask && input->mask_layers) run->mask_layers = qkv_arena_take(arena, layers, 1);
    if (input->ablate) run->ablate = qkv_arena_take(arena, layers * (size_t)c->heads, 1);
    const size_t longest = (size_t)run->longest, angles = (size_t)c->rope_sets * (size_t)(c->rope_dim / 2);
    if (c->rope_dim > 0) {
        run->cos = qkv_arena_take(arena, longest, angles * sizeof(float));
        run->sin = qkv_arena_take(arena, longest, angles * sizeof(float));
    }
    if (c->buckets > 0) run->relative = qkv_arena_take(arena, 2 * longest - 1, (size_t)c->heads * sizeof(float));
    run->keys_layer = qkv_arena_product(arena, tokens, qkv_keys_size(c));
    run->values_layer = qkv_arena_product(arena, tokens, qkv_values_size(c));
    run->x = qkv_arena_take(arena, qkv_arena_product(arena, layers + 1, tokens), (size_t)c->width * sizeof(float));
    run->keys = qkv_arena_take(arena, qkv_arena_product(arena, layers, run->keys_layer), sizeof(float));
    run->values = qkv_arena_take(arena, qkv_arena_product(arena, layers, run->values_layer), sizeof(float));
    qkv_scratch_take(run->scratch, arena, c, run->capacity, run->capacity);
    run->glance = qkv_arena_take(arena, tokens, qkv_glance_rows() * sizeof(float));
}

static qkv_status measure(size_t *out_bytes, qkv_run *run, const qkv_input *input, qkv_error *err) {
    qkv_arena arena = qkv_arena_measure();

    QKV_TRY(check_input(run->model, input, run, err));
    qkv_arena_take(&arena, 1, sizeof(qkv_run));
    lay_out(run, &arena, input);
    QKV_FAIL_IF(arena.overflow, QKV_MEMORY, "the run does not fit the address space", 0, (double)SIZE_MAX);
    *out_bytes = arena.used;
    return QKV_OK;
}

size_t qkv_run_bytes(const qkv_model *model, const qkv_input *input, qkv_error *err) {
    qkv_run run = {.model = model};
    size_t bytes = 0;
    return measure(&bytes, &run, input, err) == QKV_OK ? bytes : 0;
}

static void copy_input(qkv_run *run, const qkv_input *input) {
    const qkv_config *c = &run->model->config;
    const size_t tokens = (size_t)run->tokens, layers = (size_t)c->layers;
    int32_t first = 0, before = 0;

    for (int32_t n = 0; n < input->sequences; n++) {
        const int32_t length = input->lengths[n];
        const int32_t padded = (length + input->room + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
        run->sequences[n] = (qkv_sequence){first, length, padded, before};
        first += length;
        before += padded;
    }
    __builtin_memcpy(run->ids, input->ids, tokens * sizeof(int32_t));
    if (input->type_ids) {
        __builtin_memcpy(run->type_ids, input->type_ids, tokens * sizeof(int32_t));
    } else {
        __builtin_memset(run->type_ids, 0, tokens * sizeof(int32_t));
    }
    if (run->mask) {
        const size_t count = (size_t)run->mask_heads * (size_t)run->mask_rows * (size_t)run->longest;
        __builtin_memcpy(run->mask, input->mask, count * sizeof(float));
    }
    if (run->mask_layers) __builtin_memcpy(run->mask_layers, input->mask_layers, layers);
    if (run->ablate) __builtin_memcpy(run->ablate, input->ablate, layers * (size_t)c->heads);
}

static void fill_tables(const qkv_run *run) {
    const qkv_config *c = &run->model->config;
    const int32_t half = c->rope_dim / 2, reach = run->longest - 1;
    float *relative = run->relative;

    for (int32_t set = 0; set < c->rope_sets && half > 0; set++) {
        const size_t start = (size_t)set * (size_t)run->longest * (size_t)half;
        qkv_rotary_fill(run->cos + start, run->sin + start, run->longest, half,
                        c->rope_frequencies + (size_t)set * (size_t)half, c->rope_scale);
    }
    for (int32_t h = 0; h < c->heads && relative; h++) {
        for (int32_t distance = -reach; distance <= reach; distance++) {
            const int32_t far = distance > c->bucket_reach ? c->bucket_reach : distance;
            const int32_t bucket = c->bucket_of[(far < -c->bucket_reach ? -c->bucket_reach : far) + c->bucket_reach];
            const float *values = run->model->relative.values;
            *relative++ = values[(size_t)bucket * (size_t)c->heads + (size_t)h] / run->temperature;
        }
    }
}

qkv_status qkv_run_create(qkv_run **out_run, void *memory, size_t bytes, const qkv_model *model, const qkv_input *input,
                          qkv_error *err) {
    qkv_run checked = {.model = model};
    size_t needed = 0;

    QKV_TRY(measure(&needed, &checked, input, err));
    QKV_FAIL_IF(bytes < needed, QKV_MEMORY, "memory for the run", bytes, needed);
    qkv_arena arena = qkv_arena_over(memory, bytes);
    qkv_run *run = qkv_arena_take(&arena, 1, sizeof(qkv_run));
    *run = checked;
    run->done = -1;
    lay_out(run, &arena, input);
    copy_input(run, input);
    fill_tables(run);
    for (int32_t l = 0; l < model->config.layers; l++) {
        const qkv_block block = qkv_run_block(run, l);
        qkv_block_clear_padding(&block);
    }
    *out_run = run;
    return QKV_OK;
}

/* ---- forward ------------------------------------------------------------------------------------------------ */

float *qkv_run_x(const qkv_run *run, int32_t layer) {
    return run->x + (size_t)layer * (size_t)run->capacity * (size_t)run->model->config.width;
}

/* The set of rotation angles of a layer, -1 = it has none. */
static int32_t rope_set(const qkv_config *c, int32_t layer) {
    if (c->rope_dim == 0) return -1;
    return c->rope_of_layer ? c->rope_of_layer[layer] : 0;
}

qkv_block qkv_run_block(const qkv_run *run, int32_t layer) {
    const qkv_config *c = &run->model->config;
    const int masked = run->mask && (!run->mask_layers || run->mask_layers[layer]);
    const int32_t set = rope_set(c, layer);
    const size_t angles = set < 0 ? 0 : (size_t)set * (size_t)run->longest * (size_t)(c->rope_dim / 2);

    return (qkv_block){
        .config = c,
        .layer = qkv_layer_of(run->model, layer),
        .sequences = run->sequences,
        .sequence_count = run->sequence_count,
        .fresh = run->fresh,
        .tokens = run->tokens,
        .x = qkv_run_x(run, layer),
        .keys = run->keys + (size_t)layer * run->keys_layer,
        .values = run->values + (size_t)layer * run->values_layer,
        .scale = layer_scale(run, layer),
        .softcap = c->softcap / run->temperature,
        .window = c->windows ? c->windows[layer] : -1,
        .cos = set < 0 ? NULL : run->cos + angles,
        .sin = set < 0 ? NULL : run->sin + angles,
        .relative = run->relative,
        .relative_reach = run->longest - 1,
        .mask = masked ? run->mask : NULL,
        .mask_rows = run->mask_rows,
        .mask_heads = run->mask_heads,
        .ablate = run->ablate ? run->ablate + (size_t)layer * (size_t)c->heads : NULL,
        .scratch = run->scratch,
    };
}

void qkv_run_final(const qkv_run *run, int32_t first, int32_t rows, float *out) {
    const qkv_config *c = &run->model->config;
    const size_t width = (size_t)c->width;
    const float *x = qkv_run_x(run, c->layers) + (size_t)first * width;

    for (int32_t r = 0; r < rows; r++) {
        qkv_norm_row(c, &run->model->final_norm, out + (size_t)r * width, x + (size_t)r * width, c->width);
    }
}

qkv_status qkv_append(qkv_run *run, const int32_t *ids, int32_t count, qkv_error *err) {
    const int32_t layers = run->model->config.layers;

    QKV_FAIL_IF(run->done < layers, QKV_STATE, "the layer has not been run", layers - 1, run->done - 1);
    QKV_FAIL_IF(count < 1 || count > run->room, QKV_ARGUMENT, "tokens to append", count, run->room);
    for (int32_t t = 0; t < count; t++) {
        QKV_FAIL_IF(ids[t] < 0 || ids[t] >= run->model->config.vocab, QKV_TOKEN, "token id", ids[t],
                    run->model->config.vocab - 1);
    }
    for (int32_t t = 0; t < count; t++) {
        run->ids[run->tokens + t] = ids[t];
        run->type_ids[run->tokens + t] = 0;
    }
    run->fresh = run->tokens;
    run->tokens += count;
    run->room -= count;
    run->sequences[0].length = run->tokens;
    run->done = -1;
    return QKV_OK;
}

qkv_status qkv_forward(qkv_run *run, int32_t from_layer, int32_t to_layer, qkv_error *err) {
    const int32_t layers = run->model->config.layers;
    const int32_t furthest = run->done > 0 ? run->done : 0;

    QKV_FAIL_IF(from_layer < 0 || from_layer > furthest, QKV_RANGE, "from_layer", from_layer, furthest);
    QKV_FAIL_IF(to_layer < from_layer || to_layer > layers, QKV_RANGE, "to_layer", to_layer, layers);
    for (int32_t n = 0; n < run->sequence_count && from_layer == 0; n++) {
        qkv_embed(run->model, run->ids, run->type_ids, &run->sequences[n], run->fresh, qkv_run_x(run, 0), run->scratch);
    }
    for (int32_t l = from_layer; l < to_layer; l++) {
        const qkv_block block = qkv_run_block(run, l);
        qkv_block_forward(&block, qkv_run_x(run, l + 1));
        run->done = l + 1;
    }
    run->done = to_layer;
    if (to_layer == layers) run->fresh = 0; /* a layer that is run again is computed for all tokens */
    return QKV_OK;
}
