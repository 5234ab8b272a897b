#include "ggml_blocks.h"

#include "kernels/block_scales.h"
#include "kernels/kernels.h"

/* The kernels count the formats from q4_0 on. */
static int format_of(qkv_plane plane) {
    return (int)plane - (int)QKV_PLANE_Q4_0;
}

static int is_blocks(qkv_plane plane) {
    return format_of(plane) >= 0 && format_of(plane) < BLOCK_FORMATS;
}

int32_t qkv_block_values(qkv_plane plane) {
    return is_blocks(plane) ? block_sizes[format_of(plane)].values : 0;
}

size_t qkv_block_bytes(qkv_plane plane) {
    return is_blocks(plane) ? (size_t)block_sizes[format_of(plane)].bytes : 0;
}

void qkv_from_blocks(float *y, qkv_plane plane, const void *data, int32_t n) {
    qkv_decode_blocks(y, data, n / qkv_block_values(plane), format_of(plane));
}
