#include "exp_f32.h"
#include "kernels.h"
#include "simd.h"

#define PART 256 /* floats of a row that go through both passes at a time */

/* exp_four of two vectors, step by step, with each constant loaded once: the loads would be what the loop waits for. */
ALWAYS_INLINE void exp_eight(v128_t x[2]) {
    const float (*c)[4] = exp_table;
    v128_t shifted[2], n[2], r[2], square[2], p[2];

    HIDE(c);
    const v128_t log2e = wasm_v128_load(c[1]), magic = wasm_v128_load(c[2]);
    for (int i = 0; i < 2; i++) shifted[i] = madd(x[i], log2e, magic);
    for (int i = 0; i < 2; i++) n[i] = wasm_f32x4_sub(shifted[i], magic);
    const v128_t high = wasm_v128_load(c[3]), low = wasm_v128_load(c[4]);
    for (int i = 0; i < 2; i++) r[i] = madd(n[i], low, madd(n[i], high, x[i]));
    const v128_t c6 = wasm_v128_load(c[5]), c5 = wasm_v128_load(c[6]), c4 = wasm_v128_load(c[7]);
    for (int i = 0; i < 2; i++) square[i] = wasm_f32x4_mul(r[i], r[i]);
    for (int i = 0; i < 2; i++) p[i] = madd(c6, square[i], madd(c5, r[i], c4));
    const v128_t c3 = wasm_v128_load(c[8]), c2 = wasm_v128_load(c[9]), one = wasm_v128_load(c[10]);
    for (int i = 0; i < 2; i++) p[i] = madd(p[i], square[i], madd(c3, r[i], c2));
    for (int i = 0; i < 2; i++) p[i] = wasm_f32x4_add(madd(p[i], square[i], r[i]), one);
    for (int i = 0; i < 2; i++) p[i] = wasm_i32x4_add(p[i], wasm_i32x4_shl(shifted[i], 23));
    const v128_t least = wasm_v128_load(c[0]);
    for (int i = 0; i < 2; i++) x[i] = wasm_v128_and(p[i], wasm_f32x4_ge(x[i], least));
}

/* Where nothing is cut, the exp goes in two passes over a part of the row that stays in the first cache, y keeping r in
 * between and `shifts` n << 23. One pass would be a chain of some fifteen dependent steps, with more constants than
 * there are registers. Functions of their own, so that each loop has all registers. n is a multiple of 8. */
static __attribute__((noinline)) void reduce(float *y, float *shifts, const float *x, int n, float scale, float max) {
    const float (*c)[4] = exp_table;
    const v128_t factor = wasm_f32x4_splat(scale), top = wasm_f32x4_splat(max);

    HIDE(c);
    const v128_t log2e = wasm_v128_load(c[1]), magic = wasm_v128_load(c[2]);
    const v128_t high = wasm_v128_load(c[3]), low = wasm_v128_load(c[4]);
    for (const float *end = x + n; x != end; x += 8, y += 8, shifts += 8) {
        v128_t v[2], shifted[2], whole[2];
        for (int i = 0; i < 2; i++) v[i] = wasm_f32x4_sub(wasm_f32x4_mul(wasm_v128_load(x + 4 * i), factor), top);
        for (int i = 0; i < 2; i++) shifted[i] = madd(v[i], log2e, magic);
        for (int i = 0; i < 2; i++) whole[i] = wasm_f32x4_sub(shifted[i], magic);
        for (int i = 0; i < 2; i++) v[i] = madd(whole[i], low, madd(whole[i], high, v[i]));
        for (int i = 0; i < 2; i++) wasm_v128_store(y + 4 * i, v[i]);
        for (int i = 0; i < 2; i++) wasm_v128_store(shifts + 4 * i, wasm_i32x4_shl(shifted[i], 23));
    }
}

static __attribute__((noinline)) v128_t expand(float *y, const float *shifts, int n, v128_t sum) {
    const float (*c)[4] = exp_table;

    HIDE(c);
    const v128_t c6 = wasm_v128_load(c[5]), c5 = wasm_v128_load(c[6]), c4 = wasm_v128_load(c[7]);
    const v128_t c3 = wasm_v128_load(c[8]), c2 = wasm_v128_load(c[9]), one = wasm_v128_load(c[10]);
    for (float *end = y + n; y != end; y += 8, shifts += 8) {
        v128_t r[2], square[2], p[2];
        for (int i = 0; i < 2; i++) r[i] = wasm_v128_load(y + 4 * i);
        for (int i = 0; i < 2; i++) square[i] = wasm_f32x4_mul(r[i], r[i]);
        for (int i = 0; i < 2; i++) p[i] = madd(c6, square[i], madd(c5, r[i], c4));
        for (int i = 0; i < 2; i++) p[i] = madd(p[i], square[i], madd(c3, r[i], c2));
        for (int i = 0; i < 2; i++) p[i] = wasm_f32x4_add(madd(p[i], square[i], r[i]), one);
        for (int i = 0; i < 2; i++) p[i] = wasm_i32x4_add(p[i], wasm_v128_load(shifts + 4 * i));
        for (int i = 0; i < 2; i++) wasm_v128_store(y + 4 * i, p[i]);
        sum = wasm_f32x4_add(wasm_f32x4_add(sum, p[0]), p[1]);
    }
    return sum;
}

/* Eights of the row from *i on, where no exp is cut. */
static v128_t uncut(float *y, const float *x, int n, float scale, float max, int *i) {
    float shifts[PART];
    v128_t sum = wasm_f32x4_splat(0.0f);

    while (*i + 8 <= n) {
        const int part = n - *i < PART ? (n - *i) / 8 * 8 : PART;
        reduce(y + *i, shifts, x + *i, part, scale, max);
        sum = expand(y + *i, shifts, part, sum);
        *i += part;
    }
    return sum;
}

float qkv_sum_exp_scaled_f32_simd(float *y, const float *x, int n, float scale, float max, float least) {
    const v128_t top = wasm_f32x4_splat(max), factor = wasm_f32x4_splat(scale);
    int i = 0;
    v128_t sum = least - max >= EXP_LOW ? uncut(y, x, n, scale, max, &i) : wasm_f32x4_splat(0.0f);

    for (; i + 8 <= n; i += 8) {
        v128_t e[2];
        for (int j = 0; j < 2; j++) {
            e[j] = wasm_f32x4_sub(wasm_f32x4_mul(wasm_v128_load(x + i + 4 * j), factor), top);
        }
        exp_eight(e);
        wasm_v128_store(y + i, e[0]);
        wasm_v128_store(y + i + 4, e[1]);
        sum = wasm_f32x4_add(wasm_f32x4_add(sum, e[0]), e[1]);
    }
    for (; i < n; i += 4) { /* absent elements become exactly 0 and add nothing */
        const int left = n - i;
        const v128_t v = left < 4 ? load_part(x + i, left, 0.0f) : wasm_v128_load(x + i);
        v128_t e = exp_four(wasm_f32x4_sub(wasm_f32x4_mul(v, factor), top));
        if (left < 4) {
            store_part(y + i, e, left);
            e = wasm_v128_and(e, wasm_i32x4_lt(wasm_i32x4_make(0, 1, 2, 3), wasm_i32x4_splat(left)));
        } else {
            wasm_v128_store(y + i, e);
        }
        sum = wasm_f32x4_add(sum, e);
    }
    return sum_lanes(sum);
}

float qkv_sum_exp_f32_simd(float *y, const float *x, int n, float max) {
    return qkv_sum_exp_scaled_f32_simd(y, x, n, 1.0f, max, -__builtin_inff());
}
