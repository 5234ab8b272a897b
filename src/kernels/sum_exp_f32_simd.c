#include "exp_f32.h"
#include "kernels.h"
#include "simd.h"

/* exp_four of two vectors, step by step, with each constant loaded once: the loads would be what the loop waits for. */
ALWAYS_INLINE void exp_eight(v128_t x[2]) {
    const float (*c)[4] = exp_table;
    v128_t shifted[2], n[2], r[2], square[2], p[2];

    HIDE(c);
    const v128_t log2e = wasm_v128_load(c[1]), magic = wasm_v128_load(c[2]);
    for (int i = 0; i < 2; i++) shifted[i] = madd(x[i], log2e, magic);
    for (int i = 0; i < 2; i++) n[i] = wasm_f32x4_sub(shifted[i], magic);
    const v128_t high = wasm_v128_load(c[3]), low = wasm_v128_load(c[4]);
    for (int i = 0; i < 2; i++) r[i] = madd(n[i], low, madd(n[i], high, x[i]));
    const v128_t c6 = wasm_v128_load(c[5]), c5 = wasm_v128_load(c[6]), c4 = wasm_v128_load(c[7]);
    for (int i = 0; i < 2; i++) square[i] = wasm_f32x4_mul(r[i], r[i]);
    for (int i = 0; i < 2; i++) p[i] = madd(c6, square[i], madd(c5, r[i], c4));
    const v128_t c3 = wasm_v128_load(c[8]), c2 = wasm_v128_load(c[9]), one = wasm_v128_load(c[10]);
    for (int i = 0; i < 2; i++) p[i] = madd(p[i], square[i], madd(c3, r[i], c2));
    for (int i = 0; i < 2; i++) p[i] = wasm_f32x4_add(madd(p[i], square[i], r[i]), one);
    for (int i = 0; i < 2; i++) p[i] = wasm_i32x4_add(p[i], wasm_i32x4_shl(shifted[i], 23));
    const v128_t least = wasm_v128_load(c[0]);
    for (int i = 0; i < 2; i++) x[i] = wasm_v128_and(p[i], wasm_f32x4_ge(x[i], least));
}

float qkv_sum_exp_f32_simd(float *y, const float *x, int n, float max) {
    const v128_t top = wasm_f32x4_splat(max);
    v128_t sum = wasm_f32x4_splat(0.0f);
    int i = 0;

    for (; i + 8 <= n; i += 8) {
        v128_t e[2] = {wasm_f32x4_sub(wasm_v128_load(x + i), top), wasm_f32x4_sub(wasm_v128_load(x + i + 4), top)};
        exp_eight(e);
        wasm_v128_store(y + i, e[0]);
        wasm_v128_store(y + i + 4, e[1]);
        sum = wasm_f32x4_add(wasm_f32x4_add(sum, e[0]), e[1]);
    }
    for (; i < n; i += 4) { /* absent elements are -infinity and add nothing */
        const int left = n - i;
        const v128_t v = left < 4 ? load_part(x + i, left, -__builtin_inff()) : wasm_v128_load(x + i);
        const v128_t e = exp_four(wasm_f32x4_sub(v, top));
        if (left < 4) store_part(y + i, e, left);
        else wasm_v128_store(y + i, e);
        sum = wasm_f32x4_add(sum, e);
    }
    return sum_lanes(sum);
}
