/* -infinity in the bias is a mask: it is selected, not added, since infinity - infinity would be NaN. The
 * comparison with +infinity catches NaN and +infinity at once; the maximum alone would lose a NaN. */
#include <stdbool.h>

#include "kernels.h"
#include "simd.h"

static inline v128_t scaled(v128_t x, v128_t scale) {
    return wasm_f32x4_mul(x, scale);
}

static inline v128_t biased(v128_t v, v128_t bias) {
    const v128_t masked = wasm_f32x4_splat(-__builtin_inff());
    return wasm_v128_bitselect(masked, wasm_f32x4_add(v, bias), wasm_f32x4_eq(bias, masked));
}

static float larger(float a, float b) {
    return a < b ? b : a;
}

static float largest_lane(v128_t v) {
    return larger(larger(wasm_f32x4_extract_lane(v, 0), wasm_f32x4_extract_lane(v, 2)),
                  larger(wasm_f32x4_extract_lane(v, 1), wasm_f32x4_extract_lane(v, 3)));
}

float qkv_scale_f32_simd(float *y, const float *x, int n, float scale, const float *bias) {
    const v128_t factor = wasm_f32x4_splat(scale);
    const v128_t infinity = wasm_f32x4_splat(__builtin_inff());
    v128_t top = wasm_f32x4_neg(infinity), finite = wasm_i32x4_splat(-1);
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        v128_t v = scaled(wasm_v128_load(x + i), factor);
        if (bias) v = biased(v, wasm_v128_load(bias + i));
        finite = wasm_v128_and(finite, wasm_f32x4_lt(v, infinity));
        top = wasm_f32x4_pmax(top, v);
        wasm_v128_store(y + i, v);
    }
    if (i < n) {
        const v128_t present = wasm_i32x4_lt(wasm_i32x4_make(0, 1, 2, 3), wasm_i32x4_splat(n - i));
        v128_t v = scaled(load_part(x + i, n - i, 0.0f), factor);
        if (bias) v = biased(v, load_part(bias + i, n - i, 0.0f));
        store_part(y + i, v, n - i);
        v = wasm_v128_bitselect(v, wasm_f32x4_neg(infinity), present);
        finite = wasm_v128_and(finite, wasm_f32x4_lt(v, infinity));
        top = wasm_f32x4_pmax(top, v);
    }
    return wasm_i32x4_all_true(finite) ? largest_lane(top) : __builtin_nanf("");
}
