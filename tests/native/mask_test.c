/* Masks reach the cells they name: by row, by head, in every window of rows. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "seeded.h"
#include "tiny_model.h"

#define TOKENS 21
#define HEADS_MOST 6
#define CELLS (TOKENS * TOKENS)

static void rows_of(qkv_run *run, qkv_stage stage, int layer, int head, int row0, int rows, float *out) {
    qkv_error err = {QKV_OK, "", 0, 0};
    const qkv_status status = qkv_get_weights(run, QKV_KIND_ENCODER, layer, head, stage, 0, row0, rows, out, &err);
    CHECK(status == QKV_OK, "stage %d, layer %d, head %d: %s", (int)stage, layer, head, err.what);
}

/* masked = scaled + mask, bit for bit; -infinity wherever the mask is. */
static void check_masked(qkv_run *run, int layer, int head, const float *mask, size_t mask_stride) {
    static float scaled[CELLS], masked[CELLS];
    int wrong = 0;

    rows_of(run, QKV_STAGE_SCALED, layer, head, 0, TOKENS, scaled);
    rows_of(run, QKV_STAGE_MASKED, layer, head, 0, TOKENS, masked);
    for (int i = 0; i < TOKENS; i++) {
        for (int j = 0; j < TOKENS; j++) {
            const float want = scaled[i * TOKENS + j] + mask[(size_t)i * mask_stride + (size_t)j];
            const float got = masked[i * TOKENS + j];
            wrong += !check_same_bits(&got, &want, 1);
        }
    }
    CHECK(wrong == 0, "layer %d, head %d: %d cells are not scaled + mask", layer, head, wrong);
}

static void check_windows(qkv_run *run, qkv_stage stage, int layer, int head) {
    static float all[CELLS], window[CELLS];

    rows_of(run, stage, layer, head, 0, TOKENS, all);
    for (int row0 = 0; row0 < TOKENS; row0 += 4) {
        const int rows = TOKENS - row0 < 7 ? TOKENS - row0 : 7;
        rows_of(run, stage, layer, head, row0, rows, window);
        CHECK(check_same_bits(window, all + row0 * TOKENS, (size_t)rows * TOKENS), "rows %d..%d of layer %d, head %d",
              row0, row0 + rows, layer, head);
    }
}

static void test_mask(qkv_config config, int mask_rows, int mask_heads) {
    static float mask[HEADS_MOST * CELLS];
    const int32_t length = TOKENS;
    uint32_t seed = 17;
    tiny_model tiny = tiny_make(config, QKV_PRECISION_F32, 5);

    for (int i = 0; i < mask_heads * mask_rows * TOKENS; i++) {
        const int hidden = seeded_int(&seed, 4) == 0 && i % TOKENS != 3; /* no row is masked as a whole */
        mask[i] = hidden ? -INFINITY : seeded_float(&seed) * 2.0f;
    }
    qkv_run *run = tiny_run(
        &tiny,
        (qkv_input){.lengths = &length, .sequences = 1, .mask = mask, .mask_rows = mask_rows, .mask_heads = mask_heads},
        3, config.layers);
    for (int l = 0; l < config.layers; l++) {
        for (int h = 0; h < config.heads; h++) {
            const float *of_head = mask + (mask_heads > 1 ? h * mask_rows * TOKENS : 0);
            check_masked(run, l, h, of_head, mask_rows > 1 ? TOKENS : 0);
            check_windows(run, QKV_STAGE_MASKED, l, h);
            check_windows(run, QKV_STAGE_WEIGHTS, l, h);
        }
    }
    free(run);
    tiny_free(&tiny);
}

int main(void) {
    const qkv_config *configs[] = {&tiny_square, &tiny_odd};

    for (int c = 0; c < 2; c++) {
        test_mask(*configs[c], 1, 1);
        test_mask(*configs[c], TOKENS, 1);
        test_mask(*configs[c], 1, configs[c]->heads);
        test_mask(*configs[c], TOKENS, configs[c]->heads);
    }
    return check_summary("mask");
}
