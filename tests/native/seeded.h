/* seeded.h - numbers for tests that come out the same in C and in JavaScript (tests/api/digest.test.js): xorshift32, its upper
 * 24 bits as a float in [-1, 1), exact. */
#ifndef QKV_TESTS_SEEDED_H
#define QKV_TESTS_SEEDED_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t seeded_next(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static inline float seeded_float(uint32_t *state) {
    return (float)(seeded_next(state) >> 8) / 8388608.0f - 1.0f;
}

static inline int seeded_int(uint32_t *state, int below) {
    return (int)(seeded_next(state) % (uint32_t)below);
}

static inline void seeded_fill(uint32_t *state, float *x, size_t n, float factor) {
    for (size_t i = 0; i < n; i++) x[i] = seeded_float(state) * factor;
}

#endif
