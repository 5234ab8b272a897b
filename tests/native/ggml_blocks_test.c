/* GGUF blocks against what the reference made of them (tests/golden/gguf/blocks.bin), bit for bit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ggml_blocks.h"

#define UNTOUCHED 12345.0f

static const struct {
    const char *name;
    qkv_plane plane;
} formats[] = {
    {"Q4_0", QKV_PLANE_Q4_0}, {"Q4_1", QKV_PLANE_Q4_1}, {"Q5_0", QKV_PLANE_Q5_0}, {"Q5_1", QKV_PLANE_Q5_1},
    {"Q8_0", QKV_PLANE_Q8_0}, {"Q4_K", QKV_PLANE_Q4_K}, {"Q5_K", QKV_PLANE_Q5_K}, {"Q6_K", QKV_PLANE_Q6_K},
};

#define FORMATS (sizeof formats / sizeof *formats)

/* Blocks at an odd address and not one byte longer than they are, so that a sanitizer sees every step outside. */
static void check_blocks(const char *name, qkv_plane plane, const unsigned char *blocks, const float *want,
                         uint32_t count, uint32_t values, uint32_t bytes) {
    const size_t n = (size_t)count * values, size = (size_t)count * bytes;
    unsigned char *data = malloc(size + 1);
    float *y = malloc((n + 1) * sizeof *y);

    memcpy(data + 1, blocks, size);
    for (size_t i = 0; i <= n; i++) y[i] = UNTOUCHED;
    qkv_from_blocks(y, plane, data + 1, 0);
    CHECK(y[0] == UNTOUCHED, "%s: no blocks write nothing", name);
    qkv_from_blocks(y, plane, data + 1, (int32_t)n);
    CHECK(y[n] == UNTOUCHED, "%s: writes past its values", name);
    for (uint32_t b = 0; b < count; b++) {
        const size_t first = (size_t)b * values;
        CHECK(check_same_bits(y + first, want + first, values), "%s: block %u differs from the reference", name, b);
        qkv_from_blocks(y + first, plane, data + 1 + (size_t)b * bytes, (int32_t)values);
        CHECK(check_same_bits(y + first, want + first, values), "%s: block %u alone differs", name, b);
    }
    free(data);
    free(y);
}

static void check_file(FILE *file) {
    char name[8];
    uint32_t sizes[3]; /* values and bytes of a block, blocks */

    for (size_t f = 0; f < FORMATS; f++) {
        const qkv_plane plane = formats[f].plane;
        if (!CHECK(fread(name, 1, 8, file) == 8 && fread(sizes, 4, 3, file) == 3, "the file is short")) return;
        if (!CHECK(strncmp(name, formats[f].name, 8) == 0, "%.8s is not %s", name, formats[f].name)) return;
        CHECK((uint32_t)qkv_block_values(plane) == sizes[0], "%s: values of a block", formats[f].name);
        CHECK(qkv_block_bytes(plane) == sizes[1], "%s: bytes of a block", formats[f].name);
        const size_t bytes = (size_t)sizes[1] * sizes[2], values = (size_t)sizes[0] * sizes[2];
        unsigned char *blocks = malloc(bytes);
        float *want = malloc(values * sizeof *want);
        const bool whole = fread(blocks, 1, bytes, file) == bytes && fread(want, sizeof *want, values, file) == values;
        if (CHECK(whole, "%s: the file is short", formats[f].name)) {
            check_blocks(formats[f].name, plane, blocks, want, sizes[2], sizes[0], sizes[1]);
        }
        free(blocks);
        free(want);
    }
    CHECK(fgetc(file) == EOF, "the file has more types than this test knows");
}

static bool is_block(int plane) {
    for (size_t f = 0; f < FORMATS; f++) {
        if ((int)formats[f].plane == plane) return true;
    }
    return false;
}

int main(void) {
    FILE *file = fopen(QKV_TESTS_DIR "/golden/gguf/blocks.bin", "rb");

    for (int plane = 0; plane < QKV_PLANE_COUNT; plane++) {
        const bool sized = qkv_block_values((qkv_plane)plane) > 0 && qkv_block_bytes((qkv_plane)plane) > 0;
        const bool unsized = qkv_block_values((qkv_plane)plane) == 0 && qkv_block_bytes((qkv_plane)plane) == 0;
        CHECK(is_block(plane) ? sized : unsized, "plane %d", plane);
    }
    if (CHECK(file != NULL, "tests/golden/gguf/blocks.bin cannot be read")) {
        check_file(file);
        fclose(file);
    }
    return check_summary("ggml_blocks");
}
