#include "kernels.h"
#include "simd.h"

/* One byte, four times, in 16-bit lanes. */
static int64_t four_times(uint8_t byte) {
    return (int64_t)(byte * 0x0001000100010001ull);
}

void qkv_from_q10_simd(float *y, const int8_t *high, const uint8_t *low, int n, float scale) {
    /* Lanes cannot shift by different amounts: a product moves each element's two bits to bits 6 and 7. */
    const v128_t align = wasm_i16x8_make(64, 16, 4, 1, 64, 16, 4, 1);
    const v128_t scales = wasm_f32x4_splat(scale);
    int i = 0;

    for (; i + 8 <= n; i += 8) {
        const v128_t bytes = wasm_i64x2_make(four_times(low[i / 4]), four_times(low[i / 4 + 1]));
        const v128_t two = wasm_v128_and(wasm_u16x8_shr(wasm_i16x8_mul(bytes, align), 6), wasm_i16x8_splat(3));
        const v128_t q = wasm_v128_or(wasm_i16x8_shl(wasm_i16x8_load8x8(high + i), 2), two);
        const v128_t first = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(q));
        const v128_t second = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(q));
        wasm_v128_store(y + i, wasm_f32x4_mul(first, scales));
        wasm_v128_store(y + i + 4, wasm_f32x4_mul(second, scales));
    }
    for (; i < n; i++) y[i] = (float)(4 * high[i] + (low[i / 4] >> 2 * (i % 4) & 3)) * scale;
}
