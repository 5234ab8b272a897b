/* norm.h - LayerNorm or RMSNorm of rows, where a model has one. */
#ifndef QKV_NORM_H
#define QKV_NORM_H

#include "kernels/kernels.h"
#include "qkv.h"

typedef struct qkv_norm {
    float *weight; /* NULL: there is no norm here */
    float *bias;   /* NULL: LayerNorm without one, or RMSNorm */
} qkv_norm;

/* y [n] = norm of x [n], y may be x; a copy where there is no norm. */
static inline void qkv_norm_row(const qkv_config *c, const qkv_norm *norm, float *y, const float *x, int32_t n) {
    if (!norm->weight) {
        if (y != x) __builtin_memcpy(y, x, (size_t)n * sizeof(float));
    } else if (c->norm_kind == QKV_NORM_RMS) {
        qkv_rms_norm_f32(y, x, n, norm->weight, c->norm_eps);
    } else {
        qkv_layer_norm_f32(y, x, n, norm->weight, norm->bias, c->norm_eps);
    }
}

#endif
