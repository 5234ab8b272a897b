/* What the tests of kernels along rows share: arrays of every length and alignment, and sweeps over floats. */
#include "kernel_tests.h"

#include <string.h>

#ifndef SWEEP_STEP
#define SWEEP_STEP 61 /* every 61st float; 1 is exhaustive */
#endif

void for_all_lengths(void (*check)(int n, int shift, filling how)) {
    static const int more[] = {255, 384, 1000, 4099};

    for (int n = 0; n < 68 + 4; n++) {
        for (int shift = 0; shift < 4; shift++) {
            check(n < 68 ? n : more[n - 68], shift, FILL_NORMAL);
            check(n < 68 ? n : more[n - 68], shift, FILL_HOSTILE);
        }
    }
}

arrays make_arrays(int n, int shift, filling how) {
    const size_t count = (size_t)n;
    const arrays a = {guarded(count, 4, shift), guarded(count, 4, (shift + 1) % 4), guarded(count, 4, shift),
                      guarded(count, 4, (shift + 2) % 4)};

    fill(a.x, count, how);
    fill(a.b, count, how);
    fill(a.scalar, count, how);
    memcpy(a.simd, a.scalar, count * 4);
    return a;
}

void check_twins(const arrays *a, int n, filling how, const char *name) {
    CHECK(check_same_bits(a->scalar, a->simd, (size_t)n), "%s: twins differ, n %d, filling %d", name, n, (int)how);
    digest(a->simd, (size_t)n);
}

void check_in_place(const arrays *a, const float *in_place, int n, const char *name) {
    CHECK(check_same_bits(in_place, a->simd, (size_t)n), "%s: in place differs, n %d", name, n);
}

void release_arrays(const arrays *a, const char *name) {
    release(a->x, name);
    release(a->b, name);
    release(a->scalar, name);
    release(a->simd, name);
}

void check_result(float scalar, float simd, int n, const char *name) {
    CHECK(check_same_bits(&scalar, &simd, 1), "%s: twins return %g and %g, n %d", name, (double)scalar, (double)simd,
          n);
    digest(&simd, 1);
}

bool sweep_batch(float *x, uint32_t *bits, uint32_t last, uint32_t sign) {
    if (*bits >= last) return false;
    for (int i = 0; i < SWEEP_BATCH; i++) {
        const uint32_t here = (*bits < last ? *bits : last) | sign;
        memcpy(x + i, &here, sizeof here);
        if (*bits < last) *bits += SWEEP_STEP;
    }
    return true;
}

uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
