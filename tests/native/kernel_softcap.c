/* Test of softcap_f32: cap * tanh(x / cap), and with it of tanh itself. */
#include "kernel_tests.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Of the caps tried here. Where the result is denormal its roundings are absolute. */
#define ULPS 3.0

static void check_close(float got, float x, float cap) {
    const double truth = (double)cap * tanh((double)x / (double)cap);
    const double absolute = fabs((double)got - truth);

    if (isnan(truth)) {
        CHECK(isnan(got), "softcap_f32: NaN gives %g", (double)got);
        return;
    }
    CHECK(ulps(got, truth) < ULPS || absolute <= ((double)cap + 2) * 0x1p-149, "softcap_f32(%a, cap %g) = %a, want %a",
          (double)x, (double)cap, (double)got, truth);
}

static void check_softcap(int n, int shift, filling how, float cap) {
    const size_t count = (size_t)n;
    float *x = guarded(count, 4, shift), *scalar = guarded(count, 4, (shift + 1) % 4);
    float *simd = guarded(count, 4, (shift + 2) % 4);

    fill(x, count, how);
    qkv_softcap_f32_scalar(scalar, x, n, cap);
    qkv_softcap_f32_simd(simd, x, n, cap);
    CHECK(check_same_bits(scalar, simd, count), "softcap_f32: twins differ, n %d, cap %g", n, (double)cap);
    digest(simd, count);
    for (int i = 0; i < n; i++) check_close(simd[i], x[i], cap);
    qkv_softcap_f32_simd(x, x, n, cap);
    CHECK(check_same_bits(x, simd, count), "softcap_f32: in place differs, n %d", n);
    release(x, "softcap_f32");
    release(scalar, "softcap_f32");
    release(simd, "softcap_f32");
}

/* From 2^-30 caps to 32 of them. sign: 0 or the sign bit. */
static void sweep(float cap, uint32_t sign, double bound) {
    static float x[SWEEP_BATCH], y[SWEEP_BATCH], twin[SWEEP_BATCH];
    uint32_t bits = bits_of(cap * 0x1p-30f);
    double worst = 0.0;
    float where = 0.0f;

    while (sweep_batch(x, &bits, bits_of(cap * 32.0f), sign)) {
        qkv_softcap_f32_simd(y, x, SWEEP_BATCH, cap);
        qkv_softcap_f32_scalar(twin, x, SWEEP_BATCH, cap);
        CHECK(check_same_bits(y, twin, SWEEP_BATCH), "softcap_f32: twins differ near %a", (double)x[0]);
        digest(y, SWEEP_BATCH);
        for (int i = 0; i < SWEEP_BATCH; i++) {
            const double error = ulps(y[i], (double)cap * tanh((double)x[i] / (double)cap));
            if (error > worst) where = x[i];
            worst = fmax(worst, error);
        }
    }
    printf("tanh, cap %g: worst error %.3f ulp, at %a\n", (double)cap, worst, (double)where);
    CHECK(worst < bound, "softcap_f32, cap %g: %g ulp at %a", (double)cap, worst, (double)where);
}

void test_softcap_f32(void) {
    static const float caps[] = {1.0f, 0.5f, 3.0f, 30.0f, 50.0f, 1e-30f, FLT_MIN, 1e30f};
    static const int lengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 31, 64, 255, 1000};
    const float x[6] = {INFINITY, -INFINITY, 0.0f, -0.0f, 1e30f, -1e30f};
    const float want[6] = {7.0f, -7.0f, 0.0f, 0.0f, 7.0f, -7.0f};
    float y[6];

    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            for (int shift = 0; shift < 4; shift++) {
                check_softcap(lengths[l], shift, FILL_NORMAL, caps[c]);
                check_softcap(lengths[l], shift, FILL_HOSTILE, caps[c]);
            }
        }
    }
    sweep(1.0f, 0, 2.0);
    sweep(1.0f, 0x80000000u, 2.0);
    sweep(30.0f, 0, ULPS);
    sweep(50.0f, 0x80000000u, ULPS);
    qkv_softcap_f32_simd(y, x, 6, 7.0f);
    for (int i = 0; i < 6; i++) {
        CHECK(y[i] == want[i] && signbit(y[i]) == signbit(x[i]), "softcap_f32(%g, cap 7) = %g", (double)x[i],
              (double)y[i]);
    }
}
