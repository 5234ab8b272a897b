/* Rows: one operation an element. The last few elements are plain C, which rounds the same. */
#include "kernels.h"
#include "simd.h"

void qkv_add_f32_simd(float *y, const float *x, int n) {
    int i = 0;

    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, wasm_f32x4_add(wasm_v128_load(y + i), wasm_v128_load(x + i)));
    for (; i < n; i++) y[i] = y[i] + x[i];
}

void qkv_mul_f32_simd(float *y, const float *x, int n, float factor) {
    const v128_t factors = wasm_f32x4_splat(factor);
    int i = 0;

    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, wasm_f32x4_mul(wasm_v128_load(x + i), factors));
    for (; i < n; i++) y[i] = x[i] * factor;
}

/* A number less itself is +0, all bits clear; for a NaN or an infinity it is NaN. */
int qkv_mul_rows_f32_simd(float *y, size_t y_stride, const float *factors, int rows, int n) {
    v128_t odd = wasm_f32x4_splat(0.0f);
    int finite = 1;

    for (int m = 0; m < rows; m++, y += y_stride) {
        const v128_t factor = wasm_f32x4_splat(factors[m]);
        int i = 0;
        for (; i + 4 <= n; i += 4) {
            const v128_t v = wasm_f32x4_mul(wasm_v128_load(y + i), factor);
            wasm_v128_store(y + i, v);
            odd = wasm_v128_or(odd, wasm_f32x4_sub(v, v));
        }
        for (; i < n; i++) {
            y[i] = y[i] * factors[m];
            finite &= y[i] - y[i] == 0.0f;
        }
    }
    return finite && !wasm_v128_any_true(odd);
}

void qkv_max_f32_simd(float *y, const float *x, int n) {
    int i = 0;

    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, wasm_f32x4_pmax(wasm_v128_load(y + i), wasm_v128_load(x + i)));
    for (; i < n; i++) y[i] = y[i] < x[i] ? x[i] : y[i];
}

float qkv_dot_f32_simd(const float *x, const float *y, int n) {
    v128_t sum = wasm_f32x4_splat(0.0f);
    int i = 0;

    for (; i + 4 <= n; i += 4) sum = madd(wasm_v128_load(x + i), wasm_v128_load(y + i), sum);
    if (i < n) sum = madd(load_part(x + i, n - i, 0.0f), load_part(y + i, n - i, 0.0f), sum);
    return sum_lanes(sum);
}
