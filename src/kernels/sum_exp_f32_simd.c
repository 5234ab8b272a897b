#include "exp_f32.h"
#include "kernels.h"
#include "simd.h"

float qkv_sum_exp_f32_simd(float *y, const float *x, int n, float max) {
    const v128_t top = wasm_f32x4_splat(max);
    v128_t sum = wasm_f32x4_splat(0.0f);
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        const v128_t e = exp_four(wasm_f32x4_sub(wasm_v128_load(x + i), top));
        wasm_v128_store(y + i, e);
        sum = wasm_f32x4_add(sum, e);
    }
    if (i < n) { /* absent elements are -infinity and add nothing */
        const v128_t e = exp_four(wasm_f32x4_sub(load_part(x + i, n - i, -__builtin_inff()), top));
        store_part(y + i, e, n - i);
        sum = wasm_f32x4_add(sum, e);
    }
    return sum_lanes(sum);
}
