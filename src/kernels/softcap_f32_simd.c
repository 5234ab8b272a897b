#include "kernels.h"
#include "simd.h"
#include "tanh_f32.h"

void qkv_softcap_f32_simd(float *y, const float *x, int n, float cap) {
    const v128_t caps = wasm_f32x4_splat(cap);
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        wasm_v128_store(y + i, wasm_f32x4_mul(caps, tanh_four(wasm_f32x4_div(wasm_v128_load(x + i), caps))));
    }
    if (i < n) {
        const v128_t rest = wasm_f32x4_div(load_part(x + i, n - i, 0.0f), caps);
        store_part(y + i, wasm_f32x4_mul(caps, tanh_four(rest)), n - i);
    }
}
