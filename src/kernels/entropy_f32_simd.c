#include "kernels.h"
#include "log_f32.h"
#include "simd.h"

static v128_t log_four(v128_t x) {
    const v128_t exponent = wasm_i32x4_shr(wasm_i32x4_sub(x, wasm_i32x4_splat(LOG_SQRT_HALF)), 23);
    const v128_t m = wasm_i32x4_sub(x, wasm_i32x4_shl(exponent, 23));
    const v128_t z = wasm_f32x4_sub(m, wasm_f32x4_splat(1.0f)), square = wasm_f32x4_mul(z, z);
    v128_t p = madd(wasm_f32x4_splat(LOG_P7), z, wasm_f32x4_splat(LOG_P6));

    p = horner(p, z, LOG_P5);
    p = horner(p, z, LOG_P4);
    p = horner(p, z, LOG_P3);
    p = horner(p, z, LOG_P2);
    p = horner(p, z, LOG_P1);
    p = horner(p, z, LOG_P0);
    p = horner(p, z, -0.5f);
    return madd(wasm_f32x4_convert_i32x4(exponent), wasm_f32x4_splat(LOG_LN2), madd(p, square, z));
}

static v128_t term(v128_t sum, v128_t p) {
    const v128_t zero = wasm_f32x4_eq(p, wasm_f32x4_splat(0.0f));
    return wasm_f32x4_add(sum, wasm_v128_andnot(wasm_f32x4_mul(p, log_four(p)), zero));
}

float qkv_entropy_f32_simd(const float *p, int n) {
    v128_t sum = wasm_f32x4_splat(0.0f);
    int i = 0;

    for (; i + 4 <= n; i += 4) sum = term(sum, wasm_v128_load(p + i));
    if (i < n) sum = term(sum, load_part(p + i, n - i, 0.0f));
    return -sum_lanes(sum);
}
