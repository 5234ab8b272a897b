#include "planes.h"

#include "ggml_blocks.h"
#include "kernels/kernels.h"

/* Adding it to a float of magnitude below 2^22 rounds to the nearest integer, ties to even. */
#define ROUND_MAGIC 12582912.0f

int qkv_plane_is_float(qkv_plane plane) {
    return plane != QKV_PLANE_Q10_HIGH && plane != QKV_PLANE_Q10_LOW && plane != QKV_PLANE_Q8 &&
           plane != QKV_PLANE_SCALE;
}

int32_t qkv_plane_step(qkv_plane plane) {
    const int32_t values = qkv_block_values(plane);
    return values > 0 ? values : 1;
}

size_t qkv_plane_row_bytes(qkv_plane plane, int32_t cols) {
    switch (plane) {
    case QKV_PLANE_F32: return (size_t)cols * sizeof(float);
    case QKV_PLANE_F16:
    case QKV_PLANE_BF16: return (size_t)cols * sizeof(uint16_t);
    case QKV_PLANE_Q10_HIGH:
    case QKV_PLANE_Q8: return (size_t)cols;
    case QKV_PLANE_Q10_LOW: return ((size_t)cols + 3) / 4;
    case QKV_PLANE_SCALE: return sizeof(float);
    default: return (size_t)(cols / qkv_block_values(plane)) * qkv_block_bytes(plane);
    }
}

void qkv_floats(float *y, qkv_plane plane, const void *data, int32_t n) {
    if (plane == QKV_PLANE_F16) {
        qkv_from_f16(y, data, n);
    } else if (plane == QKV_PLANE_BF16) {
        qkv_from_bf16(y, data, n);
    } else if (plane == QKV_PLANE_F32) {
        __builtin_memcpy(y, data, (size_t)n * sizeof(float));
    } else {
        qkv_from_blocks(y, plane, data, n);
    }
}

float qkv_quantise_row(float *q, const float *x, int32_t n, int32_t most) {
    const float bound = (float)most;
    float largest = 0.0f;
    int finite = 1;

    for (int32_t i = 0; i < n; i++) {
        const float magnitude = __builtin_fabsf(x[i]);
        if (!(magnitude <= 3.402823466e38f)) finite = 0;
        if (magnitude > largest) largest = magnitude;
    }
    const float scale = largest / bound;
    for (int32_t i = 0; i < n; i++) {
        float rounded = finite && scale > 0.0f ? (x[i] / scale + ROUND_MAGIC) - ROUND_MAGIC : 0.0f;
        if (rounded > bound) rounded = bound; /* a denormal scale is inexact */
        if (rounded < -bound) rounded = -bound;
        q[i] = rounded;
    }
    return finite ? scale : __builtin_nanf("");
}
