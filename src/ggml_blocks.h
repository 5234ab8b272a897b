/* ggml_blocks.h - the block formats of GGUF files as floats.
 *
 * A row is a sequence of blocks; each holds small integers q and, in half precision, what turns them into numbers:
 *
 *   plane               values  bytes  y =
 *   q4_0, q5_0, q8_0        32  18, 22, 34  d * (q - 8), d * (q - 16), d * q
 *   q4_1, q5_1              32  20, 24      d * q + m
 *   q4_k, q5_k             256  144, 176    (d * scale) * q - (dmin * min), scale and min for each 32 values
 *   q6_k                   256  210         (d * scale) * (q - 32), scale for each 16 values
 *
 * Products and sums are rounded to float one by one, as the reference (numpy code of the Python package gguf) does it, so
 * the bits are the same. */
#ifndef QKV_GGML_BLOCKS_H
#define QKV_GGML_BLOCKS_H

#include "qkv.h"

/* Values and bytes of one block; 0 for a plane that is not made of blocks. */
int32_t qkv_block_values(qkv_plane plane);
size_t qkv_block_bytes(qkv_plane plane);

/* y[n] from n / qkv_block_values(plane) blocks; n is a multiple of that. data needs no alignment. */
void qkv_from_blocks(float *y, qkv_plane plane, const void *data, int32_t n);

#endif
