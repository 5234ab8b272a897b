/* run.c - lays a run out in memory, checks its input, and sends the tokens through the blocks. */
#include "run.h"

#include "status.h"

#define CAPACITY_STEP 64 /* tokens; runs of similar length then take blocks of equal size, which the free list reuses */
#define SEQUENCES_MAX (1 << 20)

/* ---- checking the input ------------------------------------------------------------------------------------- */

static qkv_status check_lengths(const qkv_model *model, const qkv_input *input, qkv_run *run, qkv_error *err) {
    int64_t tokens = 0, padded = 0;

    QKV_FAIL_IF(input->sequences < 1 || input->sequences > SEQUENCES_MAX, QKV_ARGUMENT, "sequences", input->sequences,
                1);
    for (int32_t n = 0; n < input->sequences; n++) {
        const int32_t length = input->lengths[n];
        QKV_FAIL_IF(length < 1, QKV_ARGUMENT, "length of a sequence", length, 1);
        QKV_FAIL_IF(length > model->config.positions, QKV_ARGUMENT, "length of a sequence", length,
                    model->config.positions);
        tokens += length;
        padded += ((int64_t)length + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
        if (length > run->longest) run->longest = length;
    }
    QKV_FAIL_IF(padded > INT32_MAX - CAPACITY_STEP, QKV_ARGUMENT, "tokens of all sequences", padded,
                INT32_MAX - CAPACITY_STEP);
    run->tokens = (int32_t)tokens;
    run->capacity = (int32_t)(padded + CAPACITY_STEP - 1) / CAPACITY_STEP * CAPACITY_STEP;
    run->sequence_count = input->sequences;
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
    const size_t count = (size_t)input->mask_heads * (size_t)input->mask_rows * (size_t)run->longest;
    for (size_t i = 0; i < count; i++) { /* NaN fails both comparisons */
        QKV_FAIL_IF(!(input->mask[i] <= 3.402823466e38f), QKV_ARGUMENT, "mask value", input->mask[i], 0);
    }
    return QKV_OK;
}

static qkv_status check_input(const qkv_model *model, const qkv_input *input, qkv_run *run, qkv_error *err) {
    QKV_FAIL_IF(!model->finished, QKV_STATE, "the model has not all its weights", 0, 1);
    QKV_TRY(check_lengths(model, input, run, err));
    QKV_TRY(check_ids(model, input, run->tokens, err));
    QKV_TRY(check_mask(model, input, run, err));
    QKV_FAIL_IF(!(input->temperature > 0.0f && input->temperature <= 3.402823466e38f), QKV_ARGUMENT, "temperature",
                input->temperature, 1);
    const double scale = input->has_scale ? (double)input->scale : 1.0 / __builtin_sqrt((double)model->config.head_dim);
    run->scale = (float)(scale / (double)input->temperature);
    QKV_FAIL_IF(!(__builtin_fabsf(run->scale) <= 3.402823466e38f), QKV_ARGUMENT, "scale / temperature", run->scale, 1);
    return QKV_OK;
}

/* ---- layout ------------------------------------------------------------------------------------------------- */

static void lay_out(qkv_run *run, qkv_arena *arena, const qkv_input *input) {
    const qkv_config *c = &run->model->config;
    const size_t layers = (size_t)c->layers, tokens = (size_t)run->capacity;
    const qkv_sequence all = {.padded = run->capacity};

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
    run->keys_layer = qkv_keys_size(c, &all);
    run->values_layer = qkv_values_size(c, &all);
    run->x = qkv_arena_take(arena, (layers + 1) * tokens, (size_t)c->width * sizeof(float));
    run->keys = qkv_arena_take(arena, layers, run->keys_layer * sizeof(float));
    run->values = qkv_arena_take(arena, layers, run->values_layer * sizeof(float));
    qkv_scratch_take(&run->scratch, arena, c, run->capacity, run->capacity);
    run->glance = qkv_arena_take(arena, tokens, (3 + QKV_ROWS_MAX) * sizeof(float));
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
        const int32_t padded = (length + QKV_PANEL - 1) / QKV_PANEL * QKV_PANEL;
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

qkv_block qkv_run_block(const qkv_run *run, int32_t layer) {
    const int masked = run->mask && (!run->mask_layers || run->mask_layers[layer]);

    return (qkv_block){
        .config = &run->model->config,
        .layer = &run->model->layers[layer],
        .sequences = run->sequences,
        .sequence_count = run->sequence_count,
        .tokens = run->tokens,
        .x = qkv_run_x(run, layer),
        .keys = run->keys + (size_t)layer * run->keys_layer,
        .values = run->values + (size_t)layer * run->values_layer,
        .scale = run->scale,
        .mask = masked ? run->mask : NULL,
        .mask_rows = run->mask_rows,
        .mask_heads = run->mask_heads,
        .ablate = run->ablate ? run->ablate + (size_t)layer * (size_t)run->model->config.heads : NULL,
        .scratch = &run->scratch,
    };
}

/* x of layer 0 = norm(token + token type + position), added in the order of the PyTorch model. */
static void embed(const qkv_run *run) {
    const qkv_model *m = run->model;
    const int32_t width = m->config.width;
    float *row = run->scratch.narrow;

    for (int32_t n = 0; n < run->sequence_count; n++) {
        const qkv_sequence *s = &run->sequences[n];
        for (int32_t i = 0; i < s->length; i++) {
            float *x = qkv_run_x(run, 0) + (size_t)(s->first + i) * (size_t)width;
            qkv_table_row(&m->tokens, run->ids[s->first + i], x);
            if (m->config.segments > 0) {
                qkv_table_row(&m->segments, run->type_ids[s->first + i], row);
                qkv_add_f32(x, row, width);
            }
            qkv_table_row(&m->positions, i, row);
            qkv_add_f32(x, row, width);
            qkv_layer_norm_f32(x, x, width, m->embed_norm.weight, m->embed_norm.bias, m->config.norm_eps);
        }
    }
}

qkv_status qkv_forward(qkv_run *run, int32_t from_layer, int32_t to_layer, qkv_error *err) {
    const int32_t layers = run->model->config.layers;

    const int32_t furthest = run->done > 0 ? run->done : 0;
    QKV_FAIL_IF(from_layer < 0 || from_layer > furthest, QKV_RANGE, "from_layer", from_layer, furthest);
    QKV_FAIL_IF(to_layer < from_layer || to_layer > layers, QKV_RANGE, "to_layer", to_layer, layers);
    if (from_layer == 0) embed(run);
    for (int32_t l = from_layer; l < to_layer; l++) {
        const qkv_block block = qkv_run_block(run, l);
        qkv_block_forward(&block, qkv_run_x(run, l + 1));
        run->done = l + 1;
    }
    run->done = to_layer;
    return QKV_OK;
}
