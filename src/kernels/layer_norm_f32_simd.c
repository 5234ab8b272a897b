/* The variance is taken from the deviations, in a pass of its own: mean(x^2) - mean^2 loses all digits when the
 * mean is large. */
#include "kernels.h"
#include "simd.h"

static float mean_of(const float *x, int n) {
    v128_t sum = wasm_f32x4_splat(0.0f);
    int i = 0;

    for (; i + 4 <= n; i += 4) sum = wasm_f32x4_add(sum, wasm_v128_load(x + i));
    if (i < n) sum = wasm_f32x4_add(sum, load_part(x + i, n - i, 0.0f));
    return sum_lanes(sum) / (float)n;
}

static float variance_of(const float *x, int n, float mean) {
    const v128_t center = wasm_f32x4_splat(mean);
    v128_t sum = wasm_f32x4_splat(0.0f);
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        const v128_t d = wasm_f32x4_sub(wasm_v128_load(x + i), center);
        sum = madd(d, d, sum);
    }
    if (i < n) { /* absent elements deviate by 0 */
        const v128_t d = wasm_f32x4_sub(load_part(x + i, n - i, mean), center);
        sum = madd(d, d, sum);
    }
    return sum_lanes(sum) / (float)n;
}

/* inverse: of the standard deviation. bias NULL: none. */
ALWAYS_INLINE v128_t normal_of(v128_t x, v128_t center, v128_t inverse, v128_t weight, const v128_t *bias) {
    const v128_t normal = wasm_f32x4_mul(wasm_f32x4_sub(x, center), inverse);
    return bias ? madd(normal, weight, *bias) : wasm_f32x4_mul(normal, weight);
}

void qkv_layer_norm_f32_simd(float *y, const float *x, int n, const float *weight, const float *bias, float eps) {
    const float mean = mean_of(x, n);
    const v128_t center = wasm_f32x4_splat(mean);
    const v128_t inverse = wasm_f32x4_splat(1.0f / __builtin_sqrtf(variance_of(x, n, mean) + eps));
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        const v128_t v = wasm_v128_load(x + i), w = wasm_v128_load(weight + i);
        const v128_t b = bias ? wasm_v128_load(bias + i) : v;
        wasm_v128_store(y + i, normal_of(v, center, inverse, w, bias ? &b : NULL));
    }
    if (i < n) {
        const int left = n - i;
        const v128_t v = load_part(x + i, left, mean), w = load_part(weight + i, left, 0.0f);
        const v128_t b = bias ? load_part(bias + i, left, 0.0f) : v;
        store_part(y + i, normal_of(v, center, inverse, w, bias ? &b : NULL), left);
    }
}
