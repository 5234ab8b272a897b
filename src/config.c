/* config.c - which configurations the engine takes. The bounds keep every size below 2^63 before it is multiplied out
 * with checks, and every count within int32; no real model comes near them. */
#include "qkv.h"
#include "status.h"

#define LAYERS_MAX 4096
#define HEADS_MAX 4096
#define HEAD_DIM_MAX 4096
#define WIDTH_MAX (1 << 20)
#define ROWS_MAX (1 << 24) /* rows of a table: every integer up to here is a float */

static qkv_status check_range(const char *what, int32_t value, int32_t least, int32_t most, qkv_error *err) {
    QKV_FAIL_IF(value < least, QKV_CONFIG, what, value, least);
    QKV_FAIL_IF(value > most, QKV_CONFIG, what, value, most);
    return QKV_OK;
}

qkv_status qkv_config_check(const qkv_config *config, qkv_error *err) {
    QKV_TRY(check_range("layers", config->layers, 1, LAYERS_MAX, err));
    QKV_TRY(check_range("heads", config->heads, 1, HEADS_MAX, err));
    QKV_TRY(check_range("kv_heads", config->kv_heads, 1, config->heads, err));
    QKV_FAIL_IF(config->heads % config->kv_heads != 0, QKV_CONFIG, "heads is not a multiple of kv_heads", config->heads,
                config->kv_heads);
    QKV_TRY(check_range("head_dim", config->head_dim, 1, HEAD_DIM_MAX, err));
    QKV_TRY(check_range("width", config->width, 1, WIDTH_MAX, err));
    QKV_TRY(check_range("ffn", config->ffn, 1, WIDTH_MAX, err));
    QKV_TRY(check_range("vocab", config->vocab, 1, ROWS_MAX, err));
    QKV_TRY(check_range("positions", config->positions, 1, ROWS_MAX, err));
    QKV_TRY(check_range("segments", config->segments, 0, ROWS_MAX, err));
    QKV_FAIL_IF(!(config->norm_eps >= 0.0f && config->norm_eps <= 1e30f), QKV_CONFIG, "norm_eps", config->norm_eps, 0);
    QKV_FAIL_IF(config->table != QKV_PLANE_F32 && config->table != QKV_PLANE_F16 && config->table != QKV_PLANE_BF16 &&
                    config->table != QKV_PLANE_Q10_HIGH,
                QKV_CONFIG, "table", config->table, QKV_PLANE_F32);
    return QKV_OK;
}
