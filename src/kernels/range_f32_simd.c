/* A NaN is looked for in the sum of two vectors, half the work: beside a NaN only +infinity and -infinity make one, and a
 * row with +infinity is refused like one with a NaN. The limits come from a table, see FOUR. */
#include "kernels.h"
#include "simd.h"

static const float limits[2][4] = {FOUR(-__builtin_inff()), FOUR(__builtin_inff())};

static float larger(float a, float b) {
    return a < b ? b : a;
}

static float smaller(float a, float b) {
    return b < a ? b : a;
}

float qkv_range_f32_simd(float *least, const float *x, int n, float scale) {
    const float (*limit)[4] = limits;
    const v128_t factor = wasm_f32x4_splat(scale);
    float high[4], low[4];
    int i = 0;

    HIDE(limit);
    v128_t top[2] = {wasm_v128_load(limit[0]), wasm_v128_load(limit[0])};
    v128_t bottom[2] = {wasm_v128_load(limit[1]), wasm_v128_load(limit[1])};
    v128_t numbers = wasm_i32x4_splat(-1);
    for (; i + 8 <= n; i += 8) {
        const v128_t v[2] = {wasm_f32x4_mul(wasm_v128_load(x + i), factor),
                             wasm_f32x4_mul(wasm_v128_load(x + i + 4), factor)};
        const v128_t sum = wasm_f32x4_add(v[0], v[1]);
        numbers = wasm_v128_and(numbers, wasm_f32x4_eq(sum, sum));
        for (int j = 0; j < 2; j++) {
            top[j] = wasm_f32x4_pmax(top[j], v[j]);
            bottom[j] = wasm_f32x4_pmin(bottom[j], v[j]);
        }
    }
    wasm_v128_store(high, wasm_f32x4_pmax(top[0], top[1]));
    wasm_v128_store(low, wasm_f32x4_pmin(bottom[0], bottom[1]));
    float largest = larger(larger(high[0], high[1]), larger(high[2], high[3]));
    float lowest = smaller(smaller(low[0], low[1]), smaller(low[2], low[3]));
    int refused = !wasm_i32x4_all_true(numbers);
    for (; i < n; i++) {
        const float v = x[i] * scale;
        refused |= v != v;
        largest = larger(largest, v);
        lowest = smaller(lowest, v);
    }
    *least = lowest + 0.0f;
    return refused || largest == __builtin_inff() ? __builtin_nanf("") : largest + 0.0f;
}
