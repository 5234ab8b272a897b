/* Tables of rotary positions against libm in double precision, for the frequencies and places that models have. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "rotary.h"

#define PLACES 131072
#define BOUND 0.51 /* units in the last place of float */

static float cosines[PLACES], sines[PLACES];

static double ulps(float got, double want) {
    const float near = fabsf((float)want);
    const double unit = (double)(nextafterf(near, INFINITY) - near);
    return fabs((double)got - want) / unit;
}

/* theta^(-2i / dim) as in arXiv 2104.09864; returns the worst distance in ulp. */
static double test_base(double theta, int dim) {
    double worst = 0;

    for (int i = 0; i < dim / 2; i += i < 4 ? 1 : dim / 16) {
        const float frequency = (float)pow(theta, -2.0 * i / dim);
        double error = 0;
        qkv_rotary_fill(cosines, sines, PLACES, 1, &frequency, 1.0f);
        for (int p = 0; p < PLACES; p++) {
            const double angle = (double)(frequency * (float)p);
            error = fmax(error, fmax(ulps(cosines[p], cos(angle)), ulps(sines[p], sin(angle))));
        }
        CHECK(error <= BOUND, "base %g, frequency %d of %d: off by %g ulp", theta, i, dim / 2, error);
        worst = fmax(worst, error);
    }
    return worst;
}

/* [places, half], every number times scale. */
static void test_layout(void) {
    static const float frequencies[] = {1.0f, 0.3f, 0.01f};
    float cos3[7 * 3], sin3[7 * 3];

    qkv_rotary_fill(cos3, sin3, 7, 3, frequencies, 1.5f);
    for (int p = 0; p < 7; p++) {
        for (int i = 0; i < 3; i++) {
            const double angle = (double)(frequencies[i] * (float)p);
            CHECK(fabs((double)cos3[p * 3 + i] - 1.5 * cos(angle)) <= 2e-7, "cosine of place %d, frequency %d", p, i);
            CHECK(fabs((double)sin3[p * 3 + i] - 1.5 * sin(angle)) <= 2e-7, "sine of place %d, frequency %d", p, i);
        }
    }
    CHECK(cos3[0] == 1.5f && sin3[0] == 0.0f, "place 0 is turned");
}

/* A frequency may be negative: the turn goes the other way. */
static void test_signs(void) {
    static const float up = 0.7f, down = -0.7f;
    float c[2][50], s[2][50];
    int mirrored = 1;

    qkv_rotary_fill(c[0], s[0], 50, 1, &up, 1.0f);
    qkv_rotary_fill(c[1], s[1], 50, 1, &down, 1.0f);
    for (int p = 0; p < 50; p++) mirrored &= c[0][p] == c[1][p] && s[0][p] == -s[1][p];
    CHECK(mirrored, "a negative frequency is no mirror image");
}

int main(void) {
    double worst = 0;

    worst = fmax(worst, test_base(1e4, 64));
    worst = fmax(worst, test_base(5e5, 128));
    worst = fmax(worst, test_base(1e6, 256));
    test_layout();
    test_signs();
    printf("rotary tables against float64: off by at most %.4f ulp\n", worst);
    return check_summary("rotary");
}
