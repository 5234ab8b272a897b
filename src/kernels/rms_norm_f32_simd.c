#include "kernels.h"
#include "simd.h"

void qkv_rms_norm_f32_simd(float *y, const float *x, int n, const float *weight, float eps) {
    const float square = qkv_dot_f32_simd(x, x, n) / (float)n;
    const float inverse = 1.0f / __builtin_sqrtf(square + eps);
    const v128_t factor = wasm_f32x4_splat(inverse);
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        const v128_t v = wasm_f32x4_mul(wasm_v128_load(x + i), factor);
        wasm_v128_store(y + i, wasm_f32x4_mul(v, wasm_v128_load(weight + i)));
    }
    for (; i < n; i++) y[i] = x[i] * inverse * weight[i];
}
