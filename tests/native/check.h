/* check.h - the whole test harness: count, say what failed, fail when anything did or nothing was checked. */
#ifndef QKV_TESTS_CHECK_H
#define QKV_TESTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* CHECK(condition, format, ...): the format says what was checked, with the values that matter. Returns the
 * condition. */
#define CHECK(condition, ...) check_that((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)

__attribute__((format(printf, 5, 6))) bool check_that(bool holds, const char *file, int line, const char *condition,
                                                      const char *format, ...);

/* Equal bits, n floats; any NaN equals any other, since its payload is nobody's contract. */
bool check_same_bits(const float *a, const float *b, size_t n);

/* Prints "<name>: 12 passed, 0 failed"; returns what main returns: 0 only when something was checked and all held. */
int check_summary(const char *name);

#endif
