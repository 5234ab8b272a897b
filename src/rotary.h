/* rotary.h - tables for rotary positions (arXiv 2104.09864): cosine and sine of place * frequency. */
#ifndef QKV_ROTARY_H
#define QKV_ROTARY_H

#include <stdint.h>

/* cos, sin: [places, half] for places 0 .. places - 1, each multiplied by scale. The angle is rounded to float before,
 * as the models were trained: at place 4,000 that rounding is larger than any other. */
void qkv_rotary_fill(float *cos, float *sin, int32_t places, int32_t half, const float *frequencies, float scale);

#endif
