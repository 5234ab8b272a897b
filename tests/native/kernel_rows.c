/* Tests of the kernels that walk along rows. */
#include "kernel_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef SWEEP_STEP
#define SWEEP_STEP 61 /* every 61st float; 1 is exhaustive */
#endif
#define SWEEP_BATCH 4096

/* Lengths: all tails, and some long rows. Calls check(n, shift, how) for each, unaligned in every way. */
static void for_all_lengths(void (*check)(int n, int shift, filling how)) {
    static const int more[] = {255, 384, 1000, 4099};

    for (int n = 0; n < 68 + 4; n++) {
        for (int shift = 0; shift < 4; shift++) {
            check(n < 68 ? n : more[n - 68], shift, FILL_NORMAL);
            check(n < 68 ? n : more[n - 68], shift, FILL_HOSTILE);
        }
    }
}

/* Four arrays every test below needs: two inputs and the outputs of both twins. */
typedef struct arrays {
    float *x, *b, *scalar, *simd;
} arrays;

static arrays make_arrays(int n, int shift, filling how) {
    const size_t count = (size_t)n;
    const arrays a = {guarded(count, 4, shift), guarded(count, 4, (shift + 1) % 4), guarded(count, 4, shift),
                      guarded(count, 4, (shift + 2) % 4)};

    fill(a.x, count, how);
    fill(a.b, count, how);
    fill(a.scalar, count, how);
    memcpy(a.simd, a.scalar, count * 4);
    return a;
}

static void check_twins(const arrays *a, int n, filling how, const char *name) {
    CHECK(check_same_bits(a->scalar, a->simd, (size_t)n), "%s: twins differ, n %d, filling %d", name, n, (int)how);
    digest(a->simd, (size_t)n);
}

/* The SIMD result again, written over its input. `in_place` holds it. */
static void check_in_place(const arrays *a, const float *in_place, int n, const char *name) {
    CHECK(check_same_bits(in_place, a->simd, (size_t)n), "%s: in place differs, n %d", name, n);
}

static void release_arrays(const arrays *a, const char *name) {
    release(a->x, name);
    release(a->b, name);
    release(a->scalar, name);
    release(a->simd, name);
}

static void check_result(float scalar, float simd, int n, const char *name) {
    CHECK(check_same_bits(&scalar, &simd, 1), "%s: twins return %g and %g, n %d", name, (double)scalar, (double)simd,
          n);
    digest(&simd, 1);
}

/* ---- scale_f32 ------------------------------------------------------------------------------------------------ */

static void check_scale(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float scale = 0.17677669f;

    for (int with_bias = 0; with_bias < 2; with_bias++) {
        const float *bias = with_bias ? a.b : NULL;
        const float top = qkv_scale_f32_scalar(a.scalar, a.x, n, scale, bias);
        float largest = -INFINITY;
        bool spoiled = false;

        check_result(top, qkv_scale_f32_simd(a.simd, a.x, n, scale, bias), n, "scale_f32");
        check_twins(&a, n, how, "scale_f32");
        for (int i = 0; i < n; i++) {
            float want = a.x[i] * scale;
            if (bias) want = bias[i] == -INFINITY ? -INFINITY : want + bias[i];
            spoiled = spoiled || isnan(want) || want == INFINITY;
            largest = want > largest ? want : largest;
            CHECK(check_same_bits(&want, a.simd + i, 1), "scale_f32: y[%d] of %d", i, n);
        }
        CHECK(spoiled ? isnan(top) : top == largest, "scale_f32: returned %g, n %d", (double)top, n);
    }
    qkv_scale_f32_simd(a.x, a.x, n, scale, a.b);
    check_in_place(&a, a.x, n, "scale_f32");
    release_arrays(&a, "scale_f32");
}

void test_scale_f32(void) {
    const float x[5] = {1.0f, NAN, INFINITY, -1.0f, 2.0f};
    const float masked[5] = {0.0f, -INFINITY, -INFINITY, 0.0f, -INFINITY};
    float y[5];

    for_all_lengths(check_scale);
    CHECK(qkv_scale_f32_simd(y, x, 5, 2.0f, masked) == 2.0f, "a masked NaN or infinity does not spoil the row");
    CHECK(y[1] == -INFINITY && y[2] == -INFINITY && y[4] == -INFINITY, "-infinity in the bias wins");
    CHECK(isnan(qkv_scale_f32_simd(y, x, 2, 1.0f, NULL)), "NaN is reported");
    CHECK(isnan(qkv_scale_f32_simd(y, x + 2, 2, 1.0f, NULL)), "infinity is reported as NaN");
    CHECK(qkv_scale_f32_simd(y, x + 1, 2, 1.0f, masked + 1) == -INFINITY, "a fully masked row gives -infinity");
    CHECK(qkv_scale_f32_simd(y, x, 0, 1.0f, NULL) == -INFINITY, "an empty row gives -infinity");
}

/* ---- sum_exp_f32 ---------------------------------------------------------------------------------------------- */

static void check_sum_exp(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float max = how == FILL_HOSTILE ? 1e38f : 3.0f;
    double sum = 0.0;

    for (int i = 0; i < n; i++) {
        if (isnan(a.x[i]) || a.x[i] == INFINITY) a.x[i] = -INFINITY;
    }
    const float total = qkv_sum_exp_f32_scalar(a.scalar, a.x, n, max);
    check_result(total, qkv_sum_exp_f32_simd(a.simd, a.x, n, max), n, "sum_exp_f32");
    check_twins(&a, n, how, "sum_exp_f32");
    for (int i = 0; i < n; i++) {
        const float d = a.x[i] - max;
        const double truth = d < -60.0f ? 0.0 : exp((double)d);
        sum += truth;
        CHECK(ulps(a.simd[i], truth) < 1.2, "exp(%a) = %a", (double)d, (double)a.simd[i]);
    }
    /* Two roundings of each exp, and one for each addition of a lane. */
    CHECK(fabs((double)total - sum) <= (n / 4 + 6) * EPSILON * sum, "sum_exp_f32: sum %g, want %g", (double)total, sum);
    qkv_sum_exp_f32_simd(a.x, a.x, n, max);
    check_in_place(&a, a.x, n, "sum_exp_f32");
    release_arrays(&a, "sum_exp_f32");
}

/* Floats x = sign * (bits first, first + SWEEP_STEP, ... below last), in batches. */
static bool sweep_batch(float *x, uint32_t *bits, uint32_t last, uint32_t sign) {
    if (*bits >= last) return false;
    for (int i = 0; i < SWEEP_BATCH; i++) {
        const uint32_t here = (*bits < last ? *bits : last) | sign;
        memcpy(x + i, &here, sizeof here);
        if (*bits < last) *bits += SWEEP_STEP;
    }
    return true;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void sweep_exp(void) {
    static float x[SWEEP_BATCH], y[SWEEP_BATCH], twin[SWEEP_BATCH];
    uint32_t bits = bits_of(0x1p-30f);
    double worst = 0.0;
    float where = 0.0f;

    while (sweep_batch(x, &bits, bits_of(60.0f), 0x80000000u)) {
        qkv_sum_exp_f32_simd(y, x, SWEEP_BATCH, 0.0f);
        qkv_sum_exp_f32_scalar(twin, x, SWEEP_BATCH, 0.0f);
        CHECK(check_same_bits(y, twin, SWEEP_BATCH), "exp: twins differ near %a", (double)x[0]);
        for (int i = 0; i < SWEEP_BATCH; i++) {
            const double error = ulps(y[i], exp((double)x[i]));
            if (error > worst) where = x[i];
            worst = fmax(worst, error);
        }
        digest(y, SWEEP_BATCH);
    }
    printf("exp: worst error %.3f ulp, at %a\n", worst, (double)where);
    CHECK(worst < 1.2, "exp: %g ulp at %a", worst, (double)where);
}

void test_sum_exp_f32(void) {
    const float x[5] = {0.0f, -0.0f, -60.0f, nextafterf(-60.0f, -61.0f), -INFINITY};
    float y[5];

    for_all_lengths(check_sum_exp);
    sweep_exp();
    qkv_sum_exp_f32_simd(y, x, 5, 0.0f);
    CHECK(y[0] == 1.0f && y[1] == 1.0f, "exp(0) is exactly 1, not %a", (double)y[0]);
    CHECK(y[2] > 0.0f && y[3] == 0.0f && y[4] == 0.0f, "exp ends at -60: %g %g", (double)y[2], (double)y[3]);
}

/* ---- layer_norm_f32 ------------------------------------------------------------------------------------------- */

static void check_layer_norm(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    float *weight = guarded((size_t)n, 4, 3 - shift);
    const float eps = 1e-12f, offset = shift == 3 && how == FILL_NORMAL ? 100.0f : 0.0f;
    double mean = 0.0, var = 0.0;

    fill(weight, (size_t)n, how);
    for (int i = 0; i < n; i++) a.x[i] += offset;
    qkv_layer_norm_f32_scalar(a.scalar, a.x, n, weight, a.b, eps);
    qkv_layer_norm_f32_simd(a.simd, a.x, n, weight, a.b, eps);
    check_twins(&a, n, how, "layer_norm_f32");
    for (int i = 0; i < n; i++) mean += (double)a.x[i] / n;
    for (int i = 0; i < n; i++) var += ((double)a.x[i] - mean) * ((double)a.x[i] - mean) / n;
    /* Below 4 elements the deviations may cancel to nothing; the mean, off by its rounding, moves all of a row. */
    for (int i = 0; how == FILL_NORMAL && n >= 4 && i < n; i++) {
        const double inverse = 1.0 / sqrt(var + (double)eps), w = (double)weight[i], b = (double)a.b[i];
        const double z = ((double)a.x[i] - mean) * inverse, truth = z * w + b;
        const double spread = 3.0 + fabs((double)offset);
        const double bound = EPSILON * (fabs(w) * (n / 4 + 8) * (fabs(z) + spread * inverse) + fabs(truth) + fabs(b));
        CHECK(fabs((double)a.simd[i] - truth) <= bound, "layer_norm_f32: y[%d] of %d = %g, want %g within %g", i, n,
              (double)a.simd[i], truth, bound);
    }
    qkv_layer_norm_f32_simd(a.x, a.x, n, weight, a.b, eps);
    check_in_place(&a, a.x, n, "layer_norm_f32");
    release(weight, "layer_norm_f32");
    release_arrays(&a, "layer_norm_f32");
}

void test_layer_norm_f32(void) {
    const float x[4] = {5.0f, 5.0f, 5.0f, 5.0f}, w[4] = {1.0f, 2.0f, 3.0f, 4.0f}, b[4] = {0.5f, -1.0f, 0.0f, 2.0f};
    float y[4];

    for_all_lengths(check_layer_norm);
    qkv_layer_norm_f32_simd(y, x, 4, w, b, 1e-12f);
    CHECK(memcmp(y, b, sizeof y) == 0, "a constant row gives the bias");
}

/* ---- rows_f32 ------------------------------------------------------------------------------------------------- */

/* One correctly rounded operation: float64 holds the exact product, and rounds a sum of two floats harmlessly. */
static void check_add(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);

    memcpy(a.b, a.simd, (size_t)n * 4);
    qkv_add_f32_scalar(a.scalar, a.x, n);
    qkv_add_f32_simd(a.simd, a.x, n);
    check_twins(&a, n, how, "add_f32");
    for (int i = 0; i < n; i++) {
        const float want = (float)((double)a.b[i] + (double)a.x[i]);
        CHECK(check_same_bits(&want, a.simd + i, 1), "add_f32: y[%d] of %d", i, n);
    }
    release_arrays(&a, "add_f32");
}

void test_add_f32(void) {
    for_all_lengths(check_add);
}

static void check_mul(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float factor = 1.0f / 3.0f;

    qkv_mul_f32_scalar(a.scalar, a.x, n, factor);
    qkv_mul_f32_simd(a.simd, a.x, n, factor);
    check_twins(&a, n, how, "mul_f32");
    for (int i = 0; i < n; i++) {
        const float want = (float)((double)a.x[i] * (double)factor);
        CHECK(check_same_bits(&want, a.simd + i, 1), "mul_f32: y[%d] of %d", i, n);
    }
    qkv_mul_f32_simd(a.x, a.x, n, factor);
    check_in_place(&a, a.x, n, "mul_f32");
    release_arrays(&a, "mul_f32");
}

void test_mul_f32(void) {
    for_all_lengths(check_mul);
}

static void check_max(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);

    memcpy(a.b, a.simd, (size_t)n * 4);
    qkv_max_f32_scalar(a.scalar, a.x, n);
    qkv_max_f32_simd(a.simd, a.x, n);
    check_twins(&a, n, how, "max_f32");
    for (int i = 0; i < n; i++) {
        const float want = a.b[i] < a.x[i] ? a.x[i] : a.b[i];
        CHECK(check_same_bits(&want, a.simd + i, 1), "max_f32: y[%d] of %d", i, n);
    }
    release_arrays(&a, "max_f32");
}

void test_max_f32(void) {
    for_all_lengths(check_max);
}

static void check_dot(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);
    const float got = qkv_dot_f32_scalar(a.x, a.b, n);
    double truth = 0.0, size = 0.0;

    check_result(got, qkv_dot_f32_simd(a.x, a.b, n), n, "dot_f32");
    for (int i = 0; i < n; i++) {
        truth += (double)a.x[i] * (double)a.b[i];
        size += fabs((double)a.x[i] * (double)a.b[i]);
    }
    if (how == FILL_NORMAL) {
        CHECK(fabs((double)got - truth) <= (n / 4 + 4) * EPSILON * size, "dot_f32: %g, want %g", (double)got, truth);
    }
    release_arrays(&a, "dot_f32");
}

void test_dot_f32(void) {
    for_all_lengths(check_dot);
}

static void check_entropy(int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, FILL_NORMAL);
    double truth = 0.0, size = 0.0;

    for (int i = 0; i < n; i++) {
        a.x[i] = fabsf(a.x[i]) * 0.3f + 1e-30f;
        if (how == FILL_HOSTILE) a.x[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? 1.0f : a.x[i] * 1e-6f;
        const double term = a.x[i] > 0.0f ? (double)a.x[i] * log((double)a.x[i]) : 0.0;
        truth -= term;
        size += fabs(term);
    }
    const float got = qkv_entropy_f32_scalar(a.x, n);
    check_result(got, qkv_entropy_f32_simd(a.x, n), n, "entropy_f32");
    CHECK(fabs((double)got - truth) <= (n / 4 + 8) * EPSILON * size, "entropy_f32: %g, want %g", (double)got, truth);
    release_arrays(&a, "entropy_f32");
}

void test_entropy_f32(void) {
    const float spoiled[5] = {0.5f, 0.25f, 0.25f, 0.0f, NAN};

    for_all_lengths(check_entropy);
    CHECK(isnan(qkv_entropy_f32_simd(spoiled, 5)), "entropy_f32: NaN gives NaN");
}

/* ---- conversions ---------------------------------------------------------------------------------------------- */

static double half_value(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return h & 0x8000 ? -magnitude : magnitude;
}

/* All 65,536 values at once, then every length; `simd` against `scalar` strictly, payloads of NaN included. */
static void check_widening(void (*scalar)(float *, const uint16_t *, int), void (*simd)(float *, const uint16_t *, int),
                           const char *name) {
    static uint16_t x[65536];
    static float a[65536], b[65536];

    for (int i = 0; i < 65536; i++) x[i] = (uint16_t)i;
    scalar(a, x, 65536);
    simd(b, x, 65536);
    CHECK(memcmp(a, b, sizeof a) == 0, "%s: twins differ", name);
    digest(b, 65536);
    for (int n = 0; n < 68; n++) {
        uint16_t *in = guarded((size_t)n, 2, n % 8);
        float *out = guarded((size_t)n, 4, n % 4);
        for (int i = 0; i < n; i++) in[i] = (uint16_t)random_bits();
        simd(out, in, n);
        for (int i = 0; i < n; i++) CHECK(memcmp(out + i, a + in[i], 4) == 0, "%s: y[%d] of %d", name, i, n);
        release(in, name);
        release(out, name);
    }
}

void test_from_f16(void) {
    static float y[65536];
    static uint16_t x[65536];

    check_widening(qkv_from_f16_scalar, qkv_from_f16_simd, "from_f16");
    for (int i = 0; i < 65536; i++) x[i] = (uint16_t)i;
    qkv_from_f16_simd(y, x, 65536);
    for (int i = 0; i < 65536; i++) {
        const int fraction = i & 1023;
        const float want = (i & 0x7c00) != 0x7c00 ? (float)half_value(x[i]) : fraction ? NAN : INFINITY;
        const bool same = fraction && isnan(want) ? isnan(y[i]) : y[i] == (i & 0x8000 && isinf(want) ? -want : want);
        CHECK(same && !signbit(y[i]) == !(i & 0x8000), "from_f16: %04x gives %a", (unsigned)i, (double)y[i]);
    }
}

void test_from_bf16(void) {
    const uint16_t x[4] = {0x3f80, 0xc040, 0x0001, 0xff80};
    float y[4];

    check_widening(qkv_from_bf16_scalar, qkv_from_bf16_simd, "from_bf16");
    qkv_from_bf16_simd(y, x, 4);
    CHECK(y[0] == 1.0f && y[1] == -3.0f && y[2] == 0x1p-133f && y[3] == -INFINITY, "from_bf16: known values");
}

void test_from_q10(void) {
    const float scale = 0.0123f;

    for (int n = 0; n < 1100; n += n < 68 ? 1 : 101) {
        int8_t *high = guarded((size_t)n, 1, n % 16);
        uint8_t *low = guarded(((size_t)n + 3) / 4, 1, n % 5);
        float *scalar = guarded((size_t)n, 4, n % 4), *simd = guarded((size_t)n, 4, (n + 1) % 4);

        for (int i = 0; i < n; i++) high[i] = (int8_t)(i % 256 - 128);
        for (int i = 0; i < (n + 3) / 4; i++) low[i] = (uint8_t)random_bits();
        qkv_from_q10_scalar(scalar, high, low, n, scale);
        qkv_from_q10_simd(simd, high, low, n, scale);
        CHECK(check_same_bits(scalar, simd, (size_t)n), "from_q10: twins differ, n %d", n);
        digest(simd, (size_t)n);
        for (int i = 0; i < n; i++) {
            const int q = 4 * high[i] + low[i / 4] / (1 << i % 4 * 2) % 4;
            CHECK(simd[i] == (float)q * scale, "from_q10: y[%d] of %d, q %d", i, n, q);
        }
        release(high, "from_q10");
        release(low, "from_q10");
        release(scalar, "from_q10");
        release(simd, "from_q10");
    }
}
