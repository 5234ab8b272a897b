/* Two passes over a part of the row, for the reason given in activate_f32_simd.c. */
#include "kernels.h"
#include "simd.h"
#include "tanh_f32.h"

#define PART 256 /* a multiple of 8 */

static __attribute__((noinline)) void first(float *scaled, float *minus, const float *x, int n, const tanh_cap *c) {
    for (const float *end = x + n; x != end; x += 8, scaled += 8, minus += 8) {
        v128_t v[2] = {wasm_v128_load(x), wasm_v128_load(x + 4)}, scale[2];
        tanh_prepare(v, scale, c);
        for (int i = 0; i < 2; i++) wasm_v128_store(scaled + 4 * i, v[i]);
        for (int i = 0; i < 2; i++) wasm_v128_store(minus + 4 * i, scale[i]);
    }
}

static __attribute__((noinline)) void second(float *y, const float *x, const float *scaled, const float *minus, int n,
                                             const tanh_cap *c) {
    const v128_t sign = wasm_f32x4_splat(-0.0f);

    for (const float *end = x + n; x != end; x += 8, y += 8, scaled += 8, minus += 8) {
        v128_t v[2] = {wasm_v128_load(scaled), wasm_v128_load(scaled + 4)};
        const v128_t scale[2] = {wasm_v128_load(minus), wasm_v128_load(minus + 4)};
        tanh_finish(v, scale, c);
        for (int i = 0; i < 2; i++) {
            v[i] = wasm_v128_or(v[i], wasm_v128_and(wasm_v128_load(x + 4 * i), sign));
        }
        for (int i = 0; i < 2; i++) wasm_v128_store(y + 4 * i, v[i]);
    }
}

/* n: a multiple of 8, up to PART. */
static void softcap_part(float *y, const float *x, int n, const tanh_cap *c) {
    float scaled[PART], minus[PART];

    first(scaled, minus, x, n, c);
    second(y, x, scaled, minus, n, c);
}

void qkv_softcap_f32_simd(float *y, const float *x, int n, float cap) {
    const tanh_cap c = tanh_cap_of(cap);
    int i = 0;

    for (int count; i + 8 <= n; i += count) {
        count = n - i < PART ? (n - i) / 8 * 8 : PART;
        softcap_part(y + i, x + i, count, &c);
    }
    if (i < n) {
        float last[8] = {0.0f};
        for (int j = i; j < n; j++) last[j - i] = x[j];
        softcap_part(last, last, 8, &c);
        for (int j = i; j < n; j++) y[j] = last[j - i];
    }
}
