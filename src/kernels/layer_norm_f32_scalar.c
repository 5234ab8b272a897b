#include "kernels.h"

void qkv_layer_norm_f32_scalar(float *y, const float *x, int n, const float *weight, const float *bias, float eps) {
    float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float square[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int i = 0; i < n; i++) lane[i % 4] += x[i];
    const float mean = ((lane[0] + lane[2]) + (lane[1] + lane[3])) / (float)n;

    for (int i = 0; i < n; i++) {
        const float d = x[i] - mean;
        square[i % 4] = square[i % 4] + d * d;
    }
    const float var = ((square[0] + square[2]) + (square[1] + square[3])) / (float)n;
    const float inverse = 1.0f / __builtin_sqrtf(var + eps);

    for (int i = 0; i < n; i++) {
        const float v = (x[i] - mean) * inverse * weight[i];
        y[i] = bias ? v + bias[i] : v;
    }
}
