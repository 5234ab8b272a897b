/* planes.h - rows of weights as files hold them: their sizes, as floats, as integers with a scale. */
#ifndef QKV_PLANES_H
#define QKV_PLANES_H

#include <stddef.h>

#include "qkv.h"

#define QKV_SPARE_ROWS 8

/* Room for rows on their way in, both [8, widest row]. */
typedef struct qkv_spare {
    float *floats;
    int16_t *integers;
} qkv_spare;

/* 1 for planes that hold a whole weight as a float or a block of them, 0 for parts of q10 and q8. */
int qkv_plane_is_float(qkv_plane plane);

/* Elements that come only together: 1, or those of a block. */
int32_t qkv_plane_step(qkv_plane plane);

/* Bytes of a row of cols elements; of a scale: 4. */
size_t qkv_plane_row_bytes(qkv_plane plane, int32_t cols);

/* y[n] = n elements of a plane that is float. */
void qkv_floats(float *y, qkv_plane plane, const void *data, int32_t n);

/* q[n] = x as integers in +-most; returns the scale, largest magnitude / most. A row of zeros has scale 0, one that holds a
 * NaN or an infinity zeros and scale NaN, so that whatever is computed from it is NaN and cannot be taken for a number. */
float qkv_quantise_row(int16_t *q, const float *x, int32_t n, int32_t most);

/* q[n] = what a row of a plane of integers adds to the weights: 4 high, low, or the integers of q8. */
void qkv_integers(int16_t *q, qkv_plane plane, const void *data, int32_t n);

#endif
