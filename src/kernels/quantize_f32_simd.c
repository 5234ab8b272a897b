/* Between floats, integers of 16 bits, and integers as files and tables hold them. */
#include "kernels.h"
#include "quantize_row.h"
#include "simd.h"

static v128_t quantize_four(v128_t x, v128_t scale) {
    const v128_t shifted = wasm_f32x4_add(wasm_f32x4_div(x, scale), wasm_f32x4_splat(ROUND_MAGIC));
    return wasm_i32x4_sub(shifted, wasm_i32x4_splat(ROUND_MAGIC_BITS));
}

void qkv_quantize_f32_simd(int16_t *q, const float *x, int n, float scale, int most) {
    const v128_t scales = wasm_f32x4_splat(scale);
    const v128_t upper = wasm_i16x8_splat((int16_t)most), lower = wasm_i16x8_splat((int16_t)-most);
    int i = 0;

    for (; scale > 0.0f && i + 8 <= n; i += 8) {
        const v128_t eight = wasm_i16x8_narrow_i32x4(quantize_four(wasm_v128_load(x + i), scales),
                                                     quantize_four(wasm_v128_load(x + i + 4), scales));
        wasm_v128_store(q + i, wasm_i16x8_max(wasm_i16x8_min(eight, upper), lower));
    }
    qkv_quantize_f32_scalar(q + i, x + i, n - i, scale, most);
}

/* The two low bits of eight integers in two bytes: neighbours come together, then neighbours of those. */
static void store_low(uint8_t *low, v128_t q) {
    const v128_t two = wasm_v128_and(q, wasm_i16x8_splat(3));
    const v128_t four = wasm_v128_or(two, wasm_u32x4_shr(two, 14));
    const v128_t eight = wasm_v128_or(four, wasm_u64x2_shr(four, 28));

    low[0] = (uint8_t)wasm_i32x4_extract_lane(eight, 0);
    low[1] = (uint8_t)wasm_i32x4_extract_lane(eight, 2);
}

void qkv_split_i16_simd(int8_t *high, uint8_t *low, const int16_t *q, int n) {
    const uint32_t shift = low ? 2 : 0;
    int i = 0;

    for (; i + 16 <= n; i += 16) {
        const v128_t a = wasm_v128_load(q + i), b = wasm_v128_load(q + i + 8);
        wasm_v128_store(high + i, wasm_i8x16_narrow_i16x8(wasm_i16x8_shr(a, shift), wasm_i16x8_shr(b, shift)));
        if (!low) continue;
        store_low(low + i / 4, a);
        store_low(low + i / 4 + 2, b);
    }
    qkv_split_i16_scalar(high + i, low ? low + i / 4 : low, q + i, n - i);
}

void qkv_widen_i8_simd(int16_t *q, const int8_t *x, int n, int factor) {
    const v128_t factors = wasm_i16x8_splat((int16_t)factor);
    int i = 0;

    for (; i + 8 <= n; i += 8) wasm_v128_store(q + i, wasm_i16x8_mul(wasm_i16x8_load8x8(x + i), factors));
    qkv_widen_i8_scalar(q + i, x + i, n - i, factor);
}

/* A product moves each element's two bits to bits 6 and 7 of its lane, since lanes cannot shift by different amounts. */
void qkv_widen_low_simd(int16_t *q, const uint8_t *low, int n) {
    const v128_t align = wasm_i16x8_make(64, 16, 4, 1, 64, 16, 4, 1);
    int i = 0;

    for (; i + 8 <= n; i += 8) {
        const v128_t both = wasm_v128_load16_splat(low + i / 4);
        const v128_t bytes =
            wasm_i8x16_shuffle(both, wasm_i32x4_splat(0), 0, 16, 0, 16, 0, 16, 0, 16, 1, 16, 1, 16, 1, 16, 1, 16);
        const v128_t two = wasm_u16x8_shr(wasm_i16x8_mul(bytes, align), 6);
        wasm_v128_store(q + i, wasm_v128_and(two, wasm_i16x8_splat(3)));
    }
    qkv_widen_low_scalar(q + i, low + i / 4, n - i);
}
