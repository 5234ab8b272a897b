/* embed.h - the embeddings: token, token type and learned position, as the config asks for them. */
#ifndef QKV_EMBED_H
#define QKV_EMBED_H

#include "block.h"

/* x [T, D]: the input of block 0, for the tokens of a sequence from its token `from` on. ids, type_ids: [T]. */
void qkv_embed(const qkv_model *model, const int32_t *ids, const int32_t *type_ids, const qkv_sequence *sequence,
               int32_t from, float *x, const qkv_scratch *scratch);

#endif
