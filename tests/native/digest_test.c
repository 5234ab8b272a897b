/* The bits of whole runs, as one number for each stage. Both engines print the same lines here, under every compiler, and
 * tests/api/digest.test.js gets them from the wasm module: scalar == SIMD == wasm, bit for bit. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "seeded.h"
#include "tiny_model.h"

/* FNV-1a over the bytes of the floats. */
static uint32_t digest(const float *x, size_t n) {
    const unsigned char *bytes = (const unsigned char *)x;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < n * sizeof(float); i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

static void print_run(const char *name, qkv_config config, qkv_precision precision) {
    static const int32_t lengths[] = {7, 33, 130};
    static float out[130 * 130];
    tiny_model t = tiny_make(config, precision, 42);
    qkv_run *run = tiny_run(&t, (qkv_input){.lengths = lengths, .sequences = 3}, 43, config.layers);
    const int layer = config.layers - 1;
    qkv_error err = {QKV_OK, "", 0, 0};

    for (int s = 0; s < QKV_STAGE_COUNT; s++) {
        const qkv_stage stage = (qkv_stage)s;
        uint32_t hash = 0;
        for (int n = 0; n < 3; n++) {
            const int rows = lengths[n];
            const int cols = stage == QKV_STAGE_X || stage == QKV_STAGE_OUTPUT || stage == QKV_STAGE_HIDDEN
                                 ? config.width
                             : stage == QKV_STAGE_CONCAT                               ? config.heads * config.head_dim
                             : stage >= QKV_STAGE_SCORES && stage <= QKV_STAGE_WEIGHTS ? rows
                                                                                       : config.head_dim;
            CHECK(qkv_get_stage(run, tiny_kind(&config), layer, 1, stage, n, out, &err) == QKV_OK, "%s", err.what);
            hash = hash * 31 + digest(out, (size_t)(rows * cols));
        }
        printf("digest %s %d %d %08x\n", name, (int)precision, s, hash);
    }
    if (config.head_rows > 0) {
        CHECK(qkv_logits(run, 1, 20, out, &err) == QKV_OK, "%s", err.what);
        printf("digest %s %d logits %08x\n", name, (int)precision, digest(out, (size_t)config.head_rows));
    }
    free(run);
    tiny_free(&t);
}

int main(void) {
    for (int p = 0; p < QKV_PRECISION_COUNT; p++) {
        print_run("square", tiny_square, (qkv_precision)p);
        print_run("odd", tiny_odd, (qkv_precision)p);
        print_run("decoder", tiny_decoder, (qkv_precision)p);
        print_run("relative", tiny_relative, (qkv_precision)p);
    }
    return check_summary("digest");
}
