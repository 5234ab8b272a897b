#include "kernels.h"
#include "simd.h"
#include "tanh_f32.h"

void qkv_softcap_f32_simd(float *y, const float *x, int n, float cap) {
    const v128_t caps = wasm_f32x4_splat(cap);

    for (int i = 0; i < n; i += 4) {
        const int left = n - i;
        const v128_t v = left < 4 ? load_part(x + i, left, 0.0f) : wasm_v128_load(x + i);
        const v128_t capped = wasm_f32x4_mul(caps, tanh_four(wasm_f32x4_div(v, caps)));
        if (left < 4) store_part(y + i, capped, left);
        else wasm_v128_store(y + i, capped);
    }
}
