#include "any_config.h"

#define FLAG take_number(from, 0, 1)

static int32_t at_least(int32_t value, int32_t least) {
    return value < least ? least : value;
}

static void small_sizes(qkv_config *c, byte_source *from) {
    c->layers = take_number(from, 1, 4);
    c->stored_layers = take_number(from, 1, c->layers);
    c->kv_heads = take_number(from, 1, 3);
    c->heads = c->kv_heads * take_number(from, 1, 3);
    c->head_dim = take_number(from, 1, 20);
    c->width = take_number(from, 1, 40);
    c->ffn = take_number(from, 1, 50);
    c->vocab = take_number(from, 1, 40);
    c->context = take_number(from, 1, 200);
    c->causal = FLAG;
    c->embed_project = FLAG;
    c->embed_width = c->embed_project ? take_number(from, 1, 40) : c->width;
    c->embed_scale = 1.0f + (float)take_number(from, 0, 3);
    c->segments = take_number(from, 0, 2);
    c->position_first = take_number(from, 0, 2);
    c->positions = FLAG ? c->context + c->position_first : 0;
    c->position_pad = c->position_first > 0 && FLAG ? take_number(from, 0, c->vocab - 1) : -1;
    c->embed_norm = FLAG;
}

static void small_blocks(qkv_config *c, byte_source *from) {
    c->norm_kind = FLAG;
    c->norm_place = take_number(from, QKV_NORM_POST, QKV_NORM_SANDWICH);
    c->norm_bias = FLAG;
    c->norm_eps = FLAG ? 1e-5f : 0.0f;
    c->norm_shift = (float)FLAG;
    c->first_norm = FLAG;
    c->final_norm = FLAG;
    c->parallel = c->norm_place == QKV_NORM_PRE ? take_number(from, QKV_SERIAL, QKV_PARALLEL_ONE_NORM) : 0;
    c->qkv_bias = FLAG;
    c->o_bias = FLAG;
    c->ffn_bias = FLAG;
    c->qk_norm = FLAG;
    c->activation = take_number(from, QKV_ACTIVATION_GELU, QKV_ACTIVATION_COUNT - 1);
    c->gated = FLAG;
    c->softcap = FLAG ? 20.0f : 0.0f;
    c->rope_dim = take_number(from, 0, c->head_dim / 2) * 2;
    c->rope_sets = take_number(from, c->rope_dim > 0, 3);
    c->rope_scale = 1.0f;
    c->buckets = FLAG * take_number(from, 1, 9);
    c->bucket_reach = take_number(from, 0, 9);
}

static void small_head(qkv_config *c, byte_source *from) {
    static const int32_t tables[] = {QKV_PLANE_F32, QKV_PLANE_F16, QKV_PLANE_BF16, QKV_PLANE_Q10_HIGH, QKV_PLANE_Q8};

    c->table = tables[take_number(from, 0, 4)];
    c->head_tied = FLAG;
    c->head_rows = c->head_tied ? c->vocab : take_number(from, 0, 40);
    c->head_dense = FLAG || c->embed_width != c->width;
    c->head_width = c->head_tied ? c->embed_width : c->head_dense ? take_number(from, 1, 40) : c->width;
    c->head_dense_bias = FLAG;
    c->head_activation = take_number(from, 0, QKV_ACTIVATION_COUNT - 1);
    c->head_norm = FLAG;
    c->head_bias = FLAG;
    c->logit_softcap = FLAG ? 30.0f : 0.0f;
}

/* Any number in any field; the pointers are set later. */
static void wild_fields(qkv_config *c, byte_source *from) {
    static const size_t fields[] = {
#define QKV_X(type, name) offsetof(qkv_config, name),
        QKV_CONFIG_FIELDS(QKV_X)
#undef QKV_X
    };
    for (int32_t n = take_number(from, 0, 7) - 4; n > 0; n--) { /* none in five of eight inputs */
        const size_t field = fields[take_byte(from) % (sizeof fields / sizeof *fields)];
        const uint32_t how = take_byte(from);
        const int32_t value = how % 4 == 0 ? take_any(from) : (int32_t)(take_byte(from) << how % 24);
        memcpy((char *)c + field, &value, sizeof value);
    }
}

/* count numbers least .. most, some of them anything; NULL now and then unless it is needed. */
static int32_t *any_integers(byte_source *from, int needed, int64_t count, int32_t least, int32_t most) {
    if (!needed && !FLAG) return NULL;
    int32_t *list = exactly((size_t)count * sizeof *list);
    uint32_t state = take_word(from);
    for (int64_t i = 0; i < count; i++) {
        list[i] = least + (int32_t)((stream_next(&state) >> 8) % (uint32_t)at_least(most - least + 1, 1));
    }
    if (count > 0 && take_number(from, 0, 15) == 15) list[take_byte(from) % (uint32_t)count] = take_any(from);
    return list;
}

static float *any_floats(byte_source *from, int needed, int64_t count) {
    if (!needed && !FLAG) return NULL;
    float *list = exactly((size_t)count * sizeof *list);
    uint32_t state = take_word(from);
    for (int64_t i = 0; i < count; i++) list[i] = (float)(stream_next(&state) >> 8) * 0x1p-24f;
    if (count > 0 && take_number(from, 0, 15) == 15) list[take_byte(from) % (uint32_t)count] = take_float(from);
    return list;
}

static int64_t within(int32_t value, int32_t most) {
    return value >= 0 && value <= most ? value : 0; /* beyond: refused before the list is read */
}

static void any_lists(qkv_config *c, byte_source *from) {
    const int64_t layers = within(c->layers, 4096), sets = within(c->rope_sets, 16),
                  angles = within(c->rope_dim, 4096) / 2;
    const int32_t most_set = at_least((int32_t)sets - 1, 0), buckets = (int32_t)within(c->buckets, 1 << 16);

    c->scales = any_floats(from, 0, layers);
    c->windows = any_integers(from, 0, layers, -1, 20);
    c->rope_frequencies = any_floats(from, c->rope_dim > 0, sets * angles);
    c->rope_of_layer = any_integers(from, 0, layers, -1, most_set);
    c->bucket_of =
        any_integers(from, c->buckets > 0, 2 * within(c->bucket_reach, 1 << 16) + 1, 0, at_least(buckets - 1, 0));
}

qkv_config any_config(byte_source *from) {
    qkv_config config = {0};

    small_sizes(&config, from);
    small_blocks(&config, from);
    small_head(&config, from);
    wild_fields(&config, from);
    any_lists(&config, from);
    return config;
}

void any_config_free(qkv_config *config) {
    const void *lists[] = {config->scales, config->windows, config->rope_frequencies, config->rope_of_layer,
                           config->bucket_of};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free((void *)(uintptr_t)lists[i]);
}
