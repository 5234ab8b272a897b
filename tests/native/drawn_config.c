#include "drawn_config.h"

#include "seeded.h"

const int drawn_values[DRAWN_COUNT] = {
#define QKV_X(name, values) values,
    DRAWN_OPTIONS(QKV_X)
#undef QKV_X
};

static int between(uint32_t *seed, int least, int most) {
    return least + seeded_int(seed, most - least + 1);
}

static void draw_sizes(uint32_t *seed, const int *o, qkv_config *c) {
    static const int groups[] = {1, 2, 3}; /* query heads of a key/value head */

    c->layers = between(seed, 2, 4);
    c->stored_layers = o[DRAWN_shared] ? between(seed, 1, c->layers - 1) : c->layers;
    if (o[DRAWN_shared] && !o[DRAWN_first_norm]) { /* numbers grow fast where many layers have no norm in front */
        c->layers = 3;
        c->stored_layers = 2;
    }
    c->kv_heads = between(seed, 1, 3);
    c->heads = c->kv_heads * groups[o[DRAWN_grouped]];
    c->head_dim = between(seed, 4, 17);
    c->width = between(seed, 9, 40);
    c->ffn = between(seed, 9, 50);
    c->vocab = between(seed, 4, 40);
    c->context = 80;
    c->causal = o[DRAWN_causal];
    c->embed_project = o[DRAWN_project];
    c->embed_width = o[DRAWN_project] ? between(seed, 9, 40) : c->width;
    c->embed_scale = o[DRAWN_embed_norm] ? 1.0f : 1.0f + (float)between(seed, 0, 8) * 0.125f;
    c->segments = o[DRAWN_segments] * 2;
    c->embed_norm = o[DRAWN_embed_norm];
    c->position_pad = -1;
    if (o[DRAWN_positions] == 0) return;
    c->position_first = between(seed, o[DRAWN_positions] == 2, 3);
    c->positions = c->context + c->position_first;
    if (o[DRAWN_positions] == 2) c->position_pad = between(seed, 0, c->vocab - 1);
}

static void draw_blocks(uint32_t *seed, const int *o, qkv_config *c) {
    static const qkv_norm_place places[] = {QKV_NORM_POST, QKV_NORM_PRE, QKV_NORM_SANDWICH, QKV_NORM_PRE, QKV_NORM_PRE};
    static const qkv_branches branches[] = {QKV_SERIAL, QKV_SERIAL, QKV_SERIAL, QKV_PARALLEL, QKV_PARALLEL_ONE_NORM};

    c->norm_kind = o[DRAWN_kind];
    c->norm_place = (int32_t)places[o[DRAWN_place]];
    c->parallel = (int32_t)branches[o[DRAWN_place]];
    c->norm_bias = o[DRAWN_norm_bias];
    c->norm_eps = (float)between(seed, 1, 9) * 1e-4f;
    c->norm_shift = (float)o[DRAWN_shift];
    c->first_norm = o[DRAWN_first_norm];
    c->final_norm = o[DRAWN_final_norm];
    c->qkv_bias = o[DRAWN_qkv_bias];
    c->o_bias = o[DRAWN_o_bias];
    c->ffn_bias = o[DRAWN_ffn_bias];
    c->qk_norm = o[DRAWN_qk_norm];
    c->activation = QKV_ACTIVATION_GELU + o[DRAWN_activation];
    c->gated = o[DRAWN_gated];
}

static void draw_attention(uint32_t *seed, drawn_config *out) {
    const int *o = out->options;
    qkv_config *c = &out->config;

    c->softcap = o[DRAWN_softcap] ? (float)between(seed, 2, 9) * 0.5f : 0.0f;
    for (int l = 0; l < c->layers; l++) {
        out->scales[l] = seeded_float(seed) * 0.5f + 0.6f;
        out->windows[l] = seeded_int(seed, 3) ? between(seed, 0, 12) : -1;
    }
    if (o[DRAWN_scales]) c->scales = out->scales;
    if (o[DRAWN_windows]) c->windows = out->windows;
    c->rope_scale = 1.0f;
    if (o[DRAWN_rope] > 0) { /* a part of the head or all of it, one set or several, for all layers or some */
        c->rope_dim = o[DRAWN_rope] == 1 ? c->head_dim / 2 * 2 : 2 * between(seed, 1, c->head_dim / 2);
        c->rope_sets = o[DRAWN_rope];
        c->rope_scale = o[DRAWN_rope] == 2 ? 1.25f : 1.0f;
        c->rope_frequencies = out->rope_frequencies;
        for (int i = 0; i < c->rope_sets * (c->rope_dim / 2); i++) {
            out->rope_frequencies[i] = (seeded_float(seed) + 1.0f) * 0.5f;
        }
        for (int l = 0; l < c->layers; l++) out->rope_of_layer[l] = between(seed, -1, c->rope_sets - 1);
        if (o[DRAWN_rope] > 1) c->rope_of_layer = out->rope_of_layer;
    }
    if (!o[DRAWN_buckets]) return;
    c->buckets = between(seed, 1, 7);
    c->bucket_reach = between(seed, 0, 9);
    c->bucket_of = out->bucket_of;
    for (int i = 0; i <= 2 * c->bucket_reach; i++) out->bucket_of[i] = seeded_int(seed, c->buckets);
}

static void draw_head(uint32_t *seed, const int *o, qkv_config *c) {
    static const qkv_plane tables[] = {QKV_PLANE_F32, QKV_PLANE_Q10_HIGH, QKV_PLANE_Q8};

    c->table = (int32_t)tables[o[DRAWN_table]];
    if (o[DRAWN_head] == 0) return;
    const int tied = o[DRAWN_head] == 1;
    c->head_tied = tied;
    c->head_dense = o[DRAWN_head] == 2 || (tied && c->embed_width != c->width);
    c->head_dense_bias = c->head_dense;
    c->head_activation = c->head_dense ? seeded_int(seed, QKV_ACTIVATION_COUNT) : 0;
    c->head_rows = tied ? c->vocab : between(seed, 1, 50);
    c->head_width = tied ? c->embed_width : c->head_dense ? between(seed, 9, 40) : c->width;
    c->head_norm = o[DRAWN_head_norm];
    c->head_bias = o[DRAWN_head_bias];
    c->logit_softcap = o[DRAWN_head_softcap] ? (float)between(seed, 3, 9) : 0.0f;
}

void draw_config(uint32_t *seed, drawn_config *out) {
    *out = (drawn_config){0};
    for (int i = 0; i < DRAWN_COUNT; i++) out->options[i] = seeded_int(seed, drawn_values[i]);
    out->precision = (qkv_precision)out->options[DRAWN_precision];
    draw_sizes(seed, out->options, &out->config);
    draw_blocks(seed, out->options, &out->config);
    draw_attention(seed, out);
    draw_head(seed, out->options, &out->config);
}
