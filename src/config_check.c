/* config_check.c - which configurations the engine takes. The bounds keep every size below 2^63 before it is multiplied out
 * with checks, and every count within int32; no real model comes near them. */
#include "qkv.h"
#include "status.h"

#define LAYERS_MAX 4096
#define HEADS_MAX 4096
#define HEAD_DIM_MAX 4096
#define WIDTH_MAX (1 << 20)
#define ROWS_MAX (1 << 24) /* rows of a table: every integer up to here is a float */
#define SETS_MAX 16
#define REACH_MAX (1 << 16)
#define FLOAT_MAX 3.402823466e38f

static qkv_status check_range(const char *what, int32_t value, int32_t least, int32_t most, qkv_error *err) {
    QKV_FAIL_IF(value < least, QKV_CONFIG, what, value, least);
    QKV_FAIL_IF(value > most, QKV_CONFIG, what, value, most);
    return QKV_OK;
}

static qkv_status check_flag(const char *what, int32_t value, qkv_error *err) {
    return check_range(what, value, 0, 1, err);
}

static qkv_status check_finite(const char *what, float value, float least, qkv_error *err) {
    QKV_FAIL_IF(!(value >= least && value <= FLOAT_MAX), QKV_CONFIG, what, value, least);
    return QKV_OK;
}

static qkv_status check_list(const char *what, const int32_t *values, int32_t n, int32_t least, int32_t most,
                             qkv_error *err) {
    for (int32_t i = 0; values && i < n; i++) QKV_TRY(check_range(what, values[i], least, most, err));
    return QKV_OK;
}

static qkv_status check_sizes(const qkv_config *c, qkv_error *err) {
    QKV_TRY(check_range("layers", c->layers, 1, LAYERS_MAX, err));
    QKV_TRY(check_range("heads", c->heads, 1, HEADS_MAX, err));
    QKV_TRY(check_range("kv_heads", c->kv_heads, 1, c->heads, err));
    QKV_FAIL_IF(c->heads % c->kv_heads != 0, QKV_CONFIG, "heads is not a multiple of kv_heads", c->heads, c->kv_heads);
    QKV_TRY(check_range("head_dim", c->head_dim, 1, HEAD_DIM_MAX, err));
    QKV_TRY(check_range("width", c->width, 1, WIDTH_MAX, err));
    QKV_TRY(check_range("ffn", c->ffn, 1, WIDTH_MAX, err));
    QKV_TRY(check_range("vocab", c->vocab, 1, ROWS_MAX, err));
    QKV_TRY(check_range("stored_layers", c->stored_layers, 1, c->layers, err));
    QKV_TRY(check_range("context", c->context, 1, ROWS_MAX, err));
    return check_flag("causal", c->causal, err);
}

static qkv_status check_embeddings(const qkv_config *c, qkv_error *err) {
    QKV_TRY(check_range("embed_width", c->embed_width, 1, WIDTH_MAX, err));
    QKV_FAIL_IF(c->embed_width != c->width && !c->embed_project, QKV_CONFIG, "embed_width without embed_project",
                c->embed_width, c->width);
    QKV_TRY(check_finite("embed_scale", c->embed_scale, -FLOAT_MAX, err));
    QKV_TRY(check_range("segments", c->segments, 0, ROWS_MAX, err));
    QKV_TRY(check_range("positions", c->positions, 0, ROWS_MAX, err));
    QKV_TRY(check_range("position_first", c->position_first, 0, ROWS_MAX, err));
    QKV_FAIL_IF(c->positions > 0 && c->context > c->positions - c->position_first, QKV_CONFIG, "context", c->context,
                c->positions - c->position_first);
    QKV_TRY(check_range("position_pad", c->position_pad, -1, ROWS_MAX, err));
    QKV_FAIL_IF(c->position_pad >= 0 && c->position_first < 1, QKV_CONFIG, "position_first", c->position_first, 1);
    QKV_TRY(check_flag("embed_norm", c->embed_norm, err));
    QKV_TRY(check_flag("embed_project", c->embed_project, err));
    const int keeps = c->table == QKV_PLANE_F32 || c->table == QKV_PLANE_F16 || c->table == QKV_PLANE_BF16 ||
                      c->table == QKV_PLANE_Q10_HIGH || c->table == QKV_PLANE_Q8;
    QKV_FAIL_IF(!keeps, QKV_CONFIG, "table", c->table, QKV_PLANE_F32);
    return QKV_OK;
}

static qkv_status check_norms(const qkv_config *c, qkv_error *err) {
    QKV_TRY(check_range("norm_kind", c->norm_kind, 0, QKV_NORM_KIND_COUNT - 1, err));
    QKV_TRY(check_range("norm_place", c->norm_place, 0, QKV_NORM_PLACE_COUNT - 1, err));
    QKV_TRY(check_flag("norm_bias", c->norm_bias, err));
    QKV_FAIL_IF(!(c->norm_eps >= 0.0f && c->norm_eps <= 1e30f), QKV_CONFIG, "norm_eps", c->norm_eps, 0);
    QKV_TRY(check_finite("norm_shift", c->norm_shift, -FLOAT_MAX, err));
    QKV_TRY(check_flag("first_norm", c->first_norm, err));
    return check_flag("final_norm", c->final_norm, err);
}

static qkv_status check_blocks(const qkv_config *c, qkv_error *err) {
    QKV_TRY(check_range("parallel", c->parallel, 0, QKV_BRANCHES_COUNT - 1, err));
    QKV_FAIL_IF(c->parallel && c->norm_place != QKV_NORM_PRE, QKV_CONFIG, "norm_place of parallel blocks",
                c->norm_place, QKV_NORM_PRE);
    QKV_TRY(check_flag("qkv_bias", c->qkv_bias, err));
    QKV_TRY(check_flag("o_bias", c->o_bias, err));
    QKV_TRY(check_flag("ffn_bias", c->ffn_bias, err));
    QKV_TRY(check_flag("qk_norm", c->qk_norm, err));
    QKV_TRY(check_range("activation", c->activation, QKV_ACTIVATION_GELU, QKV_ACTIVATION_COUNT - 1, err));
    return check_flag("gated", c->gated, err);
}

static qkv_status check_attention(const qkv_config *c, qkv_error *err) {
    QKV_TRY(check_finite("softcap", c->softcap, 0.0f, err));
    for (int32_t l = 0; c->scales && l < c->layers; l++) {
        QKV_TRY(check_finite("scales", c->scales[l], -FLOAT_MAX, err));
    }
    QKV_TRY(check_list("windows", c->windows, c->layers, -1, ROWS_MAX, err));
    QKV_TRY(check_range("rope_dim", c->rope_dim, 0, c->head_dim, err));
    QKV_FAIL_IF(c->rope_dim % 2 != 0, QKV_CONFIG, "rope_dim is odd", c->rope_dim, c->rope_dim - 1);
    QKV_TRY(check_range("rope_sets", c->rope_sets, c->rope_dim > 0, SETS_MAX, err));
    QKV_FAIL_IF(c->rope_dim > 0 && !c->rope_frequencies, QKV_CONFIG, "rope_frequencies", 0, c->rope_dim / 2);
    QKV_TRY(check_finite("rope_scale", c->rope_scale, -FLOAT_MAX, err));
    for (int32_t i = 0; c->rope_dim > 0 && i < c->rope_sets * (c->rope_dim / 2); i++) {
        QKV_FAIL_IF(!(__builtin_fabsf(c->rope_frequencies[i]) <= 1.0f), QKV_CONFIG, "rope_frequencies",
                    c->rope_frequencies[i], 1);
    }
    QKV_TRY(check_list("rope_of_layer", c->rope_of_layer, c->rope_dim > 0 ? c->layers : 0, -1, c->rope_sets - 1, err));
    QKV_TRY(check_range("buckets", c->buckets, 0, REACH_MAX, err));
    QKV_TRY(check_range("bucket_reach", c->bucket_reach, 0, REACH_MAX, err));
    QKV_FAIL_IF(c->buckets > 0 && !c->bucket_of, QKV_CONFIG, "bucket_of", 0, 2 * c->bucket_reach + 1);
    return check_list("bucket_of", c->bucket_of, c->buckets > 0 ? 2 * c->bucket_reach + 1 : 0, 0, c->buckets - 1, err);
}

static qkv_status check_head(const qkv_config *c, qkv_error *err) {
    QKV_TRY(check_range("head_rows", c->head_rows, 0, ROWS_MAX, err));
    QKV_TRY(check_range("head_width", c->head_width, c->head_rows > 0, WIDTH_MAX, err)); /* scratch is sized by it */
    if (c->head_rows == 0) return QKV_OK;
    QKV_TRY(check_flag("head_dense", c->head_dense, err));
    QKV_TRY(check_flag("head_dense_bias", c->head_dense_bias, err));
    QKV_FAIL_IF(!c->head_dense && c->head_width != c->width, QKV_CONFIG, "head_width without head_dense", c->head_width,
                c->width);
    QKV_TRY(check_range("head_activation", c->head_activation, 0, QKV_ACTIVATION_COUNT - 1, err));
    QKV_TRY(check_flag("head_norm", c->head_norm, err));
    QKV_TRY(check_flag("head_bias", c->head_bias, err));
    QKV_TRY(check_flag("head_tied", c->head_tied, err));
    QKV_FAIL_IF(c->head_tied && c->head_rows != c->vocab, QKV_CONFIG, "head_rows of a tied head", c->head_rows,
                c->vocab);
    QKV_FAIL_IF(c->head_tied && c->head_width != c->embed_width, QKV_CONFIG, "head_width of a tied head", c->head_width,
                c->embed_width);
    return check_finite("logit_softcap", c->logit_softcap, 0.0f, err);
}

qkv_status qkv_config_check(const qkv_config *config, qkv_error *err) {
    QKV_TRY(check_sizes(config, err));
    QKV_TRY(check_embeddings(config, err));
    QKV_TRY(check_norms(config, err));
    QKV_TRY(check_blocks(config, err));
    QKV_TRY(check_attention(config, err));
    return check_head(config, err);
}
