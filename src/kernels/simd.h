/* simd.h - four lanes of 32 bits. The only file that names the instruction set: WebAssembly SIMD128 in wasm, the same
 * intrinsics through SIMDe anywhere else, so that native tests and sanitizers run the very code that ships. */
#ifndef QKV_KERNELS_SIMD_H
#define QKV_KERNELS_SIMD_H

#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#endif

/* For functions that take the shape of a tile as a constant: only inlining turns their arrays into registers. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Pins the order of loads. Without it clang moves all splats of a step to its start, which takes more registers than
 * the engines have. */
#define KEEP_ORDER() __asm__ volatile("" ::: "memory")

/* a * b + c: rounded once in the relaxed build, twice everywhere else. */
ALWAYS_INLINE v128_t madd(v128_t a, v128_t b, v128_t c) {
#ifdef __wasm_relaxed_simd__
    return wasm_f32x4_relaxed_madd(a, b, c);
#else
    return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}

/* A constant in all four lanes, as a row of a table. V8 needs three instructions to make a vector constant and one
 * to load it; hiding where the table is keeps the compiler from making constants of it again. */
#define FOUR(c) {c, c, c, c}
#define HIDE(table) __asm__ volatile("" : "+r"(table))

ALWAYS_INLINE v128_t horner(v128_t p, v128_t x, float c) {
    return madd(p, x, wasm_f32x4_splat(c));
}

/* The first n (1 to 3) lanes from x, the others `absent`. */
ALWAYS_INLINE v128_t load_part(const float *x, int n, float absent) {
    float lane[4] = {absent, absent, absent, absent};
    for (int i = 0; i < n; i++) lane[i] = x[i];
    return wasm_v128_load(lane);
}

ALWAYS_INLINE void store_part(float *y, v128_t v, int n) {
    float lane[4];
    wasm_v128_store(lane, v);
    for (int i = 0; i < n; i++) y[i] = lane[i];
}

/* The tree every row sum ends with. */
ALWAYS_INLINE float sum_lanes(v128_t v) {
    return (wasm_f32x4_extract_lane(v, 0) + wasm_f32x4_extract_lane(v, 2)) +
           (wasm_f32x4_extract_lane(v, 1) + wasm_f32x4_extract_lane(v, 3));
}

ALWAYS_INLINE v128_t interleave_low(v128_t a, v128_t b) {
    return wasm_i32x4_shuffle(a, b, 0, 4, 1, 5);
}

ALWAYS_INLINE v128_t interleave_high(v128_t a, v128_t b) {
    return wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
}

/* v[i][j] becomes v[j][i]. */
ALWAYS_INLINE void transpose4(v128_t v[4]) {
    const v128_t low02 = interleave_low(v[0], v[2]), high02 = interleave_high(v[0], v[2]);
    const v128_t low13 = interleave_low(v[1], v[3]), high13 = interleave_high(v[1], v[3]);

    v[0] = interleave_low(low02, low13);
    v[1] = interleave_high(low02, low13);
    v[2] = interleave_low(high02, high13);
    v[3] = interleave_high(high02, high13);
}

#endif
