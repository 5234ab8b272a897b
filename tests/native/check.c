#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 20 /* failures printed in full; the rest is only counted */

static size_t passed, failed;

bool check_that(bool holds, const char *file, int line, const char *condition, const char *format, ...) {
    va_list values;

    if (holds) {
        passed++;
        return true;
    }
    failed++;
    if (failed > SHOWN) return false;
    fprintf(stderr, "%s:%d: not so: %s: ", file, line, condition);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    return false;
}

bool check_same_bits(const float *a, const float *b, size_t n) {
    if (n == 0 || memcmp(a, b, n * sizeof *a) == 0) return true;
    for (size_t i = 0; i < n; i++) {
        const bool both_nan = a[i] != a[i] && b[i] != b[i];
        if (!both_nan && memcmp(a + i, b + i, sizeof *a) != 0) return false;
    }
    return true;
}

int check_summary(const char *name) {
    if (failed > SHOWN) fprintf(stderr, "... and %zu more\n", failed - SHOWN);
    printf("%s: %zu passed, %zu failed\n", name, passed, failed);
    return failed > 0 || passed == 0;
}
