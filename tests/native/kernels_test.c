/* Runs every kernel of kernels.def: scalar twin against SIMD, bit for bit, and both against a plain float64
 * reference. */
#include "kernel_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define EXACT_END 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EXACT_END 1
#endif
#endif

#ifdef EXACT_END /* the sanitizer sees reads beyond the end as well, so nothing of ours may lie there */
#define TRAILER 0
#else
#define TRAILER 64
#endif
#define HEADER 64
#define CANARY 0xa5

typedef struct guard {
    size_t bytes, front;
} guard;

static uint32_t random_state = 2463534242u;
static uint64_t digest_state = 14695981039346656037u;

void *guarded(size_t n, size_t size, int shift) {
    const guard g = {n * size, HEADER + (size_t)shift * size};
    unsigned char *raw = malloc(g.front + g.bytes + TRAILER);

    if (!raw) abort();
    memset(raw, CANARY, g.front + g.bytes + TRAILER);
    memcpy(raw + g.front - sizeof g, &g, sizeof g);
    return raw + g.front;
}

void release(void *memory, const char *what) {
    const unsigned char *bytes = memory;
    guard g;
    bool intact = true;

    memcpy(&g, bytes - sizeof g, sizeof g);
    unsigned char *raw = (unsigned char *)memory - g.front;
    for (size_t i = 0; i < g.front - sizeof g; i++) intact = intact && raw[i] == CANARY;
    for (size_t i = 0; i < TRAILER; i++) intact = intact && bytes[g.bytes + i] == CANARY;
    CHECK(intact, "%s: bytes around an array changed", what);
    free(raw);
}

uint32_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

float random_float(void) {
    return (float)(int32_t)random_bits() * 0x1p-31f;
}

void fill(float *x, size_t n, filling how) {
    static const float hostile[] = {0.0f, -0.0f, 1e-40f, -1e-45f, 1e38f, -1e38f, INFINITY, -INFINITY, NAN};

    for (size_t i = 0; i < n; i++) {
        x[i] = random_float() + random_float() + random_float();
        if (how == FILL_HOSTILE && random_bits() % 4 == 0) x[i] = hostile[random_bits() % 9];
    }
}

double ulps(float got, double truth) {
    int exponent;

    if ((double)got == truth) return 0.0;
    frexp(truth, &exponent);
    return fabs((double)got - truth) / ldexp(1.0, exponent < -125 ? -149 : exponent - 24);
}

void digest(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        if (x[i] != x[i]) bits = 0x7fc00000;
        digest_state = (digest_state ^ bits) * 1099511628211u;
    }
}

int main(void) {
#define KERNEL(result, name, parameters) test_##name();
#include "kernels.def"
#undef KERNEL
    printf("digest of all results %016llx\n", (unsigned long long)digest_state);
    return check_summary("kernels");
}
