/* See the scalar twin for why one product is all that a half needs. */
#include "kernels.h"
#include "simd.h"

/* The last n (1 to 3) elements, widened to 32 bits. */
static inline v128_t load_tail(const uint16_t *x, int n) {
    uint16_t part[4] = {0, 0, 0, 0};

    for (int i = 0; i < n; i++) part[i] = x[i];
    return wasm_u32x4_load16x4(part);
}

static inline v128_t widen_f16(v128_t half) {
    const v128_t magnitude = wasm_v128_and(half, wasm_i32x4_splat(0x7fff));
    const v128_t sign = wasm_i32x4_shl(wasm_v128_xor(half, magnitude), 16);
    const v128_t special = wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7bff));
    const v128_t v = wasm_f32x4_mul(wasm_i32x4_shl(magnitude, 13), wasm_f32x4_splat(0x1p112f));
    return wasm_v128_or(wasm_v128_or(v, sign), wasm_v128_and(special, wasm_i32x4_splat(0x7f800000)));
}

void qkv_from_f16_simd(float *y, const uint16_t *x, int n) {
    int i = 0;

    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, widen_f16(wasm_u32x4_load16x4(x + i)));
    if (i < n) store_part(y + i, widen_f16(load_tail(x + i, n - i)), n - i);
}

void qkv_from_bf16_simd(float *y, const uint16_t *x, int n) {
    int i = 0;

    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, wasm_i32x4_shl(wasm_u32x4_load16x4(x + i), 16));
    if (i < n) store_part(y + i, wasm_i32x4_shl(load_tail(x + i, n - i), 16), n - i);
}
