/* See the scalar twin for why one product is all that a half needs. */
#include "kernels.h"
#include "simd.h"

/* The first n (1 to 4) of four elements, widened to 32 bits. */
static inline v128_t load_u16(const uint16_t *x, int n) {
    uint16_t part[4] = {0, 0, 0, 0};

    if (n == 4) return wasm_u32x4_load16x4(x);
    for (int i = 0; i < n; i++) part[i] = x[i];
    return wasm_u32x4_load16x4(part);
}

static inline void store_up_to_four(float *y, v128_t v, int n) {
    if (n >= 4)
        wasm_v128_store(y, v);
    else
        store_part(y, v, n);
}

void qkv_from_f16_simd(float *y, const uint16_t *x, int n) {
    const v128_t top = wasm_f32x4_splat(0x1p112f);

    for (int i = 0; i < n; i += 4) {
        const int count = n - i < 4 ? n - i : 4;
        const v128_t half = load_u16(x + i, count);
        const v128_t magnitude = wasm_v128_and(half, wasm_i32x4_splat(0x7fff));
        const v128_t sign = wasm_i32x4_shl(wasm_v128_xor(half, magnitude), 16);
        const v128_t special = wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7bff));
        v128_t v = wasm_f32x4_mul(wasm_i32x4_shl(magnitude, 13), top);
        v = wasm_v128_or(v, wasm_v128_and(special, wasm_i32x4_splat(0x7f800000)));
        store_up_to_four(y + i, wasm_v128_or(v, sign), count);
    }
}

void qkv_from_bf16_simd(float *y, const uint16_t *x, int n) {
    for (int i = 0; i < n; i += 4) {
        const int count = n - i < 4 ? n - i : 4;
        store_up_to_four(y + i, wasm_i32x4_shl(load_u16(x + i, count), 16), count);
    }
}
