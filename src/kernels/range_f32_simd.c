/* The products need not be made one by one: rounding keeps order, so the largest of them is that of the largest x, or of the
 * least where scale is negative. Whether there is a NaN is seen in the sums of two vectors, which takes half the
 * comparisons: such a sum is a NaN for a NaN, and for +infinity plus -infinity, one of which makes a product of +infinity, for
 * which the kernel returns NaN as well. Lanes are compared as vectors: a branch on which of them is larger would often be
 * predicted wrongly. The limits come from a table, see FOUR. */
#include "kernels.h"
#include "simd.h"

static const float limits[2][4] = {FOUR(-__builtin_inff()), FOUR(__builtin_inff())};

float qkv_range_f32_simd(float *least, const float *x, int n, float scale) {
    const float (*limit)[4] = limits;
    float few[8];

    HIDE(limit);
    v128_t top[2] = {wasm_v128_load(limit[0]), wasm_v128_load(limit[0])};
    v128_t bottom[2] = {wasm_v128_load(limit[1]), wasm_v128_load(limit[1])};
    v128_t numbers = wasm_i32x4_splat(-1);
    if (n == 0) {
        *least = __builtin_inff();
        return -__builtin_inff();
    }
    if (n < 8) { /* an element may count more than once */
        for (int i = 0; i < 8; i++) few[i] = x[i < n ? i : 0];
        x = few;
        n = 8;
    }
    for (int i = 0; i < n; i += 8) {
        const float *eight = x + (i + 8 <= n ? i : n - 8);
        const v128_t v[2] = {wasm_v128_load(eight), wasm_v128_load(eight + 4)};
        const v128_t sum = wasm_f32x4_add(v[0], v[1]);
        numbers = wasm_v128_and(numbers, wasm_f32x4_eq(sum, sum));
        for (int j = 0; j < 2; j++) {
            top[j] = wasm_f32x4_pmax(top[j], v[j]);
            bottom[j] = wasm_f32x4_pmin(bottom[j], v[j]);
        }
    }
    v128_t high = wasm_f32x4_pmax(top[0], top[1]), low = wasm_f32x4_pmin(bottom[0], bottom[1]);
    high = wasm_f32x4_pmax(high, wasm_i32x4_shuffle(high, high, 2, 3, 0, 1));
    low = wasm_f32x4_pmin(low, wasm_i32x4_shuffle(low, low, 2, 3, 0, 1));
    high = wasm_f32x4_pmax(high, wasm_i32x4_shuffle(high, high, 1, 0, 3, 2));
    low = wasm_f32x4_pmin(low, wasm_i32x4_shuffle(low, low, 1, 0, 3, 2));
    const float of_high = wasm_f32x4_extract_lane(high, 0) * scale, of_low = wasm_f32x4_extract_lane(low, 0) * scale;
    const float largest = scale < 0.0f ? of_low : of_high, lowest = scale < 0.0f ? of_high : of_low;
    int refused = !wasm_i32x4_all_true(numbers);

    *least = lowest + 0.0f;
    return refused || !(largest < __builtin_inff()) || lowest != lowest ? __builtin_nanf("") : largest + 0.0f;
}
