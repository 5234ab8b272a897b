#include "kernels.h"

void qkv_rms_norm_f32_scalar(float *y, const float *x, int n, const float *weight, float eps) {
    const float square = qkv_dot_f32_scalar(x, x, n) / (float)n;
    const float inverse = 1.0f / __builtin_sqrtf(square + eps);

    for (int i = 0; i < n; i++) y[i] = x[i] * inverse * weight[i];
}
