#include "kernels.h"
#include "simd.h"

void qkv_from_q8_simd(float *y, const int8_t *q, int n, float scale) {
    const v128_t scales = wasm_f32x4_splat(scale);
    int i = 0;

    for (; i + 8 <= n; i += 8) {
        const v128_t eight = wasm_i16x8_load8x8(q + i);
        const v128_t first = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(eight));
        const v128_t second = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(eight));
        wasm_v128_store(y + i, wasm_f32x4_mul(first, scales));
        wasm_v128_store(y + i + 4, wasm_f32x4_mul(second, scales));
    }
    for (; i < n; i++) y[i] = (float)q[i] * scale;
}
