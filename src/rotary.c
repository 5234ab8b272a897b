#include "rotary.h"

/* Pi / 2 in two parts that carry 33 bits each and a rest, so that k times a part is exact for k below 2^20. */
#define HALF_PI_1 1.57079632673412561417e+00
#define HALF_PI_2 6.07710050630396597660e-11
#define HALF_PI_3 2.02226624879595063154e-21
#define TWO_OVER_PI 6.36619772367581382433e-01
/* Adding it to a double of magnitude below 2^51 rounds to the nearest integer. */
#define ROUND_MAGIC 6755399441055744.0

/* Taylor series on [-pi / 4, pi / 4]: what is left out is below 2^-53. */
static double sine(double r) {
    static const double c[] = {-1.0 / 6,          1.0 / 120,          -1.0 / 5040,           1.0 / 362880,
                               -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
    const double r2 = r * r;
    double sum = 0.0;

    for (int i = 6; i >= 0; i--) sum = (sum + c[i]) * r2;
    return r + r * sum;
}

static double cosine(double r) {
    static const double c[] = {-1.0 / 2,         1.0 / 24,          -1.0 / 720,           1.0 / 40320,
                               -1.0 / 3628800.0, 1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
    const double r2 = r * r;
    double sum = 0.0;

    for (int i = 7; i >= 0; i--) sum = (sum + c[i]) * r2;
    return 1.0 + sum;
}

static void turn(float angle, float *out_cos, float *out_sin) {
    const double x = (double)angle;
    const double k = (x * TWO_OVER_PI + ROUND_MAGIC) - ROUND_MAGIC;
    const double r = ((x - k * HALF_PI_1) - k * HALF_PI_2) - k * HALF_PI_3;
    const double s = sine(r), c = cosine(r);

    switch ((int64_t)k & 3) {
    case 0: *out_cos = (float)c, *out_sin = (float)s; break;
    case 1: *out_cos = (float)-s, *out_sin = (float)c; break;
    case 2: *out_cos = (float)-c, *out_sin = (float)-s; break;
    default: *out_cos = (float)s, *out_sin = (float)-c; break;
    }
}

void qkv_rotary_fill(float *cos, float *sin, int32_t places, int32_t half, const float *frequencies, float scale) {
    for (int32_t p = 0; p < places; p++) {
        for (int32_t i = 0; i < half; i++, cos++, sin++) {
            turn(frequencies[i] * (float)p, cos, sin);
            *cos *= scale;
            *sin *= scale;
        }
    }
}
