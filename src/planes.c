#include "planes.h"

#include "ggml_blocks.h"
#include "kernels/kernels.h"

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

float qkv_quantise_row(int16_t *q, const float *x, int32_t n, int32_t most) {
    float least = 0.0f;
    const float top = qkv_range_f32(&least, x, n, 1.0f); /* NaN for a NaN or +infinity; -infinity shows in `least` */
    const int finite = top - top == 0.0f && least - least == 0.0f;
    const float scale = finite ? (top > -least ? top : -least) / (float)most : __builtin_nanf("");

    qkv_quantize_f32(q, x, n, scale, most);
    return scale;
}

void qkv_integers(int16_t *q, qkv_plane plane, const void *data, int32_t n) {
    if (plane == QKV_PLANE_Q10_LOW) qkv_widen_low(q, data, n);
    else qkv_widen_i8(q, data, n, plane == QKV_PLANE_Q10_HIGH ? 4 : 1);
}
