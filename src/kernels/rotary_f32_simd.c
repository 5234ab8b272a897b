/* Products and sums keep their own rounding even in the relaxed build: memory is what this waits for. */
#include "kernels.h"
#include "simd.h"

void qkv_rotary_f32_simd(float *x, int half, const float *cos, const float *sin) {
    float *y = x + half;
    int i = 0;

    for (; i + 4 <= half; i += 4) {
        const v128_t a = wasm_v128_load(x + i), b = wasm_v128_load(y + i);
        const v128_t c = wasm_v128_load(cos + i), s = wasm_v128_load(sin + i);
        wasm_v128_store(x + i, wasm_f32x4_sub(wasm_f32x4_mul(a, c), wasm_f32x4_mul(b, s)));
        wasm_v128_store(y + i, wasm_f32x4_add(wasm_f32x4_mul(b, c), wasm_f32x4_mul(a, s)));
    }
    for (; i < half; i++) {
        const float a = x[i], b = y[i];
        x[i] = a * cos[i] - b * sin[i];
        y[i] = b * cos[i] + a * sin[i];
    }
}
