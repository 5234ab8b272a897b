#include "model_f64.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One layer being computed. */
typedef struct place {
    const reference_model *model;
    const qkv_config *config;
    const reference_input *input;
    int layer, stored; /* its number, that of its weights */
    double **stages;
} place;

static double *zeros(size_t n) {
    return calloc(n + 1, sizeof(double));
}

static int is_map(qkv_stage stage) {
    return stage >= QKV_STAGE_SCORES && stage <= QKV_STAGE_WEIGHTS;
}

static int has_heads(qkv_stage stage) {
    return stage != QKV_STAGE_X && stage != QKV_STAGE_CONCAT && stage != QKV_STAGE_OUTPUT && stage != QKV_STAGE_HIDDEN;
}

int reference_size(const qkv_config *c, qkv_stage stage, int n) {
    if (is_map(stage)) return n * n;
    if (stage == QKV_STAGE_CONCAT) return n * c->heads * c->head_dim;
    return n * (has_heads(stage) ? c->head_dim : c->width);
}

/* ---- what everything is made of ----------------------------------------------------------------------------- */

static double activate(int activation, double x) {
    switch (activation) {
    case QKV_ACTIVATION_GELU: return x * 0.5 * (1 + erf(x / sqrt(2)));
    case QKV_ACTIVATION_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case QKV_ACTIVATION_RELU: return x > 0 ? x : 0;
    case QKV_ACTIVATION_SILU: return x / (1 + exp(-x));
    case QKV_ACTIVATION_QUICK_GELU: return x / (1 + exp(-1.702 * x));
    default: return x;
    }
}

/* y [rows] = W x + b, row `first` of W on; bias NULL: none. */
static void linear(const float *w, const float *bias, int first, int rows, int cols, const double *x, double *y) {
    for (int r = 0; r < rows; r++) {
        double sum = bias ? (double)bias[first + r] : 0;
        for (int c = 0; c < cols; c++) sum += (double)w[(size_t)(first + r) * (size_t)cols + (size_t)c] * x[c];
        y[r] = sum;
    }
}

static void rms_norm(const qkv_config *c, const float *weight, int n, double *x) {
    double squares = 0;

    for (int i = 0; i < n; i++) squares += x[i] * x[i];
    const double size = sqrt(squares / n + (double)c->norm_eps);
    for (int i = 0; i < n; i++) x[i] = x[i] / size * ((double)weight[i] + (double)c->norm_shift);
}

static void layer_norm(const qkv_config *c, const float *weight, const float *bias, int n, double *x) {
    double mean = 0, variance = 0;

    for (int i = 0; i < n; i++) mean += x[i] / n;
    for (int i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++) {
        x[i] = (x[i] - mean) / sqrt(variance + (double)c->norm_eps) * ((double)weight[i] + (double)c->norm_shift);
        if (c->norm_bias) x[i] += (double)bias[i];
    }
}

/* In place; slot: of the weight, its bias follows it. stored: 0 for slots of the model. */
static void norm(const reference_model *m, qkv_slot slot, int stored, int n, double *x) {
    const size_t start = (size_t)stored * (size_t)n;

    if (m->config->norm_kind == QKV_NORM_RMS) {
        rms_norm(m->config, m->weights[slot] + start, n, x);
    } else {
        layer_norm(m->config, m->weights[slot] + start, m->weights[slot + 1] + start, n, x);
    }
}

/* ---- embeddings --------------------------------------------------------------------------------------------- */

static void embed(const reference_model *m, const reference_input *in, double *x) {
    const qkv_config *c = m->config;
    const int width = c->embed_width;
    int counted = 0;

    for (int i = 0; i < in->n; i++) {
        double *row = zeros((size_t)width);
        const int is_pad = c->position_pad >= 0 && in->ids[i] == c->position_pad;
        const int position = c->position_first + (is_pad ? -1 : counted);
        counted += !is_pad;
        for (int e = 0; e < width; e++) {
            row[e] = (double)m->weights[QKV_SLOT_TOKENS][in->ids[i] * width + e] * (double)c->embed_scale;
            if (c->segments > 0) {
                row[e] += (double)m->weights[QKV_SLOT_SEGMENTS][(in->types ? in->types[i] : 0) * width + e];
            }
            if (c->positions > 0) row[e] += (double)m->weights[QKV_SLOT_POSITIONS][position * width + e];
        }
        if (c->embed_norm) norm(m, QKV_SLOT_EMBED_NORM_WEIGHT, 0, width, row);
        if (c->embed_project) {
            linear(m->weights[QKV_SLOT_EMBED_PROJECT_WEIGHT], m->weights[QKV_SLOT_EMBED_PROJECT_BIAS], 0, c->width,
                   width, row, x + i * c->width);
        } else {
            memcpy(x + i * c->width, row, sizeof(double) * (size_t)width);
        }
        free(row);
    }
}

/* ---- attention ---------------------------------------------------------------------------------------------- */

static const float *of_layer(const place *p, qkv_slot slot, int rows, int cols) {
    return p->model->weights[slot] + (size_t)p->stored * (size_t)rows * (size_t)cols;
}

/* Pairs i, i + rope_dim / 2 of the head are turned by place * frequency. */
static void rotate(const place *p, int at, double *x) {
    const qkv_config *c = p->config;
    const int half = c->rope_dim / 2, set = c->rope_of_layer ? c->rope_of_layer[p->layer] : 0;

    if (half == 0 || set < 0) return;
    for (int i = 0; i < half; i++) {
        const double angle = (double)c->rope_frequencies[set * half + i] * at, a = x[i], b = x[i + half];
        x[i] = (a * cos(angle) - b * sin(angle)) * (double)c->rope_scale;
        x[i + half] = (b * cos(angle) + a * sin(angle)) * (double)c->rope_scale;
    }
}

/* Queries, keys or values of one head: linear [N, E], and what they become. norm_slot: QKV_SLOT_COUNT = neither norm nor
 * rotation. */
static void project(const place *p, qkv_slot slot, qkv_slot norm_slot, int head, int heads, double *plain,
                    double *placed) {
    const qkv_config *c = p->config;
    const int dim = c->head_dim;
    const float *w = of_layer(p, slot, heads * dim, c->width);
    const float *bias = c->qkv_bias ? of_layer(p, (qkv_slot)(slot + 1), 1, heads * dim) : NULL;

    for (int i = 0; i < p->input->n; i++) {
        linear(w, bias, head * dim, dim, c->width, p->stages[QKV_STAGE_X] + i * c->width, plain + i * dim);
        memcpy(placed + i * dim, plain + i * dim, sizeof(double) * (size_t)dim);
        if (norm_slot == QKV_SLOT_COUNT) continue;
        if (c->qk_norm) rms_norm(c, of_layer(p, norm_slot, 1, dim), dim, placed + i * dim);
        rotate(p, i, placed + i * dim);
    }
}

static int may_see(const qkv_config *c, int layer, int i, int j) {
    const int window = c->windows ? c->windows[layer] : -1;
    return !(c->causal && j > i) && (window < 0 || abs(i - j) <= window);
}

static double user_mask(const place *p, int head, int i, int j) {
    const reference_input *in = p->input;

    if (!in->mask || (in->mask_layers && !in->mask_layers[p->layer])) return 0;
    const int plane = in->mask_heads > 1 ? head : 0, row = in->mask_rows > 1 ? i : 0;
    return (double)in->mask[(plane * in->mask_rows + row) * in->n + j];
}

static double relative_bias(const place *p, int head, int i, int j) {
    const qkv_config *c = p->config;

    if (c->buckets == 0) return 0;
    int distance = j - i;
    if (distance > c->bucket_reach) distance = c->bucket_reach;
    if (distance < -c->bucket_reach) distance = -c->bucket_reach;
    const int bucket = c->bucket_of[distance + c->bucket_reach];
    return (double)p->model->weights[QKV_SLOT_RELATIVE][bucket * c->heads + head];
}

static double scale_of(const place *p) {
    if (p->input->has_scale) return p->input->scale;
    return p->config->scales ? (double)p->config->scales[p->layer] : 1 / sqrt(p->config->head_dim);
}

/* One cell of the maps, from Q K^T to the masked logit. maps: those of the head. */
static void score(const place *p, int head, int i, int j, double dot, double *const maps[QKV_STAGE_COUNT]) {
    const qkv_config *c = p->config;
    const double t = p->input->temperature, cap = (double)c->softcap, scaled = dot * scale_of(p);
    const int at = i * p->input->n + j;

    maps[QKV_STAGE_SCORES][at] = dot;
    maps[QKV_STAGE_SCALED][at] = scaled / t;
    const double capped = cap > 0 ? cap * tanh(scaled / cap) : scaled;
    maps[QKV_STAGE_CAPPED][at] = capped / t;
    maps[QKV_STAGE_BIASED][at] = (capped + relative_bias(p, head, i, j)) / t;
    const double masked = maps[QKV_STAGE_BIASED][at] + user_mask(p, head, i, j);
    maps[QKV_STAGE_MASKED][at] = may_see(c, p->layer, i, j) ? masked : (double)-INFINITY;
}

/* Zeros where the query may see nothing. */
static void soften(const double *masked, int n, double *weights) {
    double largest = (double)-INFINITY, sum = 0;

    for (int j = 0; j < n; j++) largest = fmax(largest, masked[j]);
    for (int j = 0; j < n; j++) {
        weights[j] = masked[j] > (double)-INFINITY ? exp(masked[j] - largest) : 0;
        sum += weights[j];
    }
    for (int j = 0; j < n && sum > 0; j++) weights[j] /= sum;
}

static void attend(const place *p, int head) {
    const qkv_config *c = p->config;
    const int n = p->input->n, dim = c->head_dim, group = head / (c->heads / c->kv_heads);
    double *of[QKV_STAGE_COUNT];

    for (int s = 0; s < QKV_STAGE_COUNT; s++) {
        of[s] = p->stages[s] + (has_heads((qkv_stage)s) ? head * reference_size(c, (qkv_stage)s, n) : 0);
    }
    project(p, QKV_SLOT_Q_WEIGHT, QKV_SLOT_Q_NORM_WEIGHT, head, c->heads, of[QKV_STAGE_Q_LINEAR], of[QKV_STAGE_Q]);
    project(p, QKV_SLOT_K_WEIGHT, QKV_SLOT_K_NORM_WEIGHT, group, c->kv_heads, of[QKV_STAGE_K_LINEAR], of[QKV_STAGE_K]);
    project(p, QKV_SLOT_V_WEIGHT, QKV_SLOT_COUNT, group, c->kv_heads, of[QKV_STAGE_V], of[QKV_STAGE_CONTEXT]);
    const int ablated = p->input->ablate && p->input->ablate[p->layer * c->heads + head];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double dot = 0;
            for (int e = 0; e < dim; e++) dot += of[QKV_STAGE_Q][i * dim + e] * of[QKV_STAGE_K][j * dim + e];
            score(p, head, i, j, dot, of);
        }
        soften(of[QKV_STAGE_MASKED] + i * n, n, of[QKV_STAGE_WEIGHTS] + i * n);
        for (int e = 0; e < dim; e++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += of[QKV_STAGE_WEIGHTS][i * n + j] * of[QKV_STAGE_V][j * dim + e];
            of[QKV_STAGE_CONTEXT][i * dim + e] = ablated ? 0 : sum;
            p->stages[QKV_STAGE_CONCAT][(i * c->heads + head) * dim + e] = of[QKV_STAGE_CONTEXT][i * dim + e];
        }
    }
}

/* ---- the block ---------------------------------------------------------------------------------------------- */

/* In place: x becomes down(activation(up x)), gated where the model is. */
static void feed_forward(const place *p, double *x) {
    const qkv_config *c = p->config;
    const int biased = c->ffn_bias;
    double *up = zeros((size_t)c->ffn), *gate = zeros((size_t)c->ffn);

    linear(of_layer(p, QKV_SLOT_UP_WEIGHT, c->ffn, c->width), biased ? of_layer(p, QKV_SLOT_UP_BIAS, 1, c->ffn) : NULL,
           0, c->ffn, c->width, x, up);
    if (c->gated) {
        linear(of_layer(p, QKV_SLOT_GATE_WEIGHT, c->ffn, c->width),
               biased ? of_layer(p, QKV_SLOT_GATE_BIAS, 1, c->ffn) : NULL, 0, c->ffn, c->width, x, gate);
    }
    for (int f = 0; f < c->ffn; f++)
        up[f] = c->gated ? activate(c->activation, gate[f]) * up[f] : activate(c->activation, up[f]);
    linear(of_layer(p, QKV_SLOT_DOWN_WEIGHT, c->width, c->ffn),
           biased ? of_layer(p, QKV_SLOT_DOWN_BIAS, 1, c->width) : NULL, 0, c->width, c->ffn, up, x);
    free(up);
    free(gate);
}

/* Token i from x and the attention's output to the next hidden state. */
static void finish_token(const place *p, int i, const double *x, double *next) {
    const qkv_config *c = p->config;
    const int d = c->width;
    double *y = zeros((size_t)d), *fed = zeros((size_t)d);

    memcpy(y, p->stages[QKV_STAGE_OUTPUT] + i * d, sizeof(double) * (size_t)d);
    if (c->norm_place == QKV_NORM_SANDWICH) norm(p->model, QKV_SLOT_ATTN_OUT_NORM_WEIGHT, p->stored, d, y);
    for (int o = 0; o < d; o++) y[o] += x[i * d + o];
    if (c->norm_place == QKV_NORM_POST) norm(p->model, QKV_SLOT_ATTN_NORM_WEIGHT, p->stored, d, y);
    memcpy(fed, c->parallel ? x + i * d : y, sizeof(double) * (size_t)d);
    if (c->parallel == QKV_PARALLEL_ONE_NORM) {
        memcpy(fed, p->stages[QKV_STAGE_X] + i * d, sizeof(double) * (size_t)d);
    } else if (c->norm_place != QKV_NORM_POST) {
        norm(p->model, QKV_SLOT_FFN_NORM_WEIGHT, p->stored, d, fed);
    }
    feed_forward(p, fed);
    if (c->norm_place == QKV_NORM_SANDWICH) norm(p->model, QKV_SLOT_FFN_OUT_NORM_WEIGHT, p->stored, d, fed);
    for (int o = 0; o < d; o++) next[i * d + o] = y[o] + fed[o];
    if (c->norm_place == QKV_NORM_POST) norm(p->model, QKV_SLOT_FFN_NORM_WEIGHT, p->stored, d, next + i * d);
    free(y);
    free(fed);
}

/* x [N, D]: the hidden state that comes in. */
static void run_layer(const place *p, const double *x) {
    const qkv_config *c = p->config;
    const int d = c->width, n = p->input->n, all = c->heads * c->head_dim;
    const int in_front = c->norm_place != QKV_NORM_POST && (c->first_norm || p->stored > 0);

    memcpy(p->stages[QKV_STAGE_X], x, sizeof(double) * (size_t)(n * d));
    for (int i = 0; i < n && in_front; i++) {
        norm(p->model, QKV_SLOT_ATTN_NORM_WEIGHT, p->stored, d, p->stages[QKV_STAGE_X] + i * d);
    }
    for (int h = 0; h < c->heads; h++) attend(p, h);
    for (int i = 0; i < n; i++) {
        linear(of_layer(p, QKV_SLOT_O_WEIGHT, d, all), c->o_bias ? of_layer(p, QKV_SLOT_O_BIAS, 1, d) : NULL, 0, d, all,
               p->stages[QKV_STAGE_CONCAT] + i * all, p->stages[QKV_STAGE_OUTPUT] + i * d);
        finish_token(p, i, x, p->stages[QKV_STAGE_HIDDEN]);
    }
}

/* ---- the head ----------------------------------------------------------------------------------------------- */

static void head(const reference_model *m, const double *x, double *logits) {
    const qkv_config *c = m->config;
    const int width = c->head_width;
    const double cap = (double)c->logit_softcap;
    double *y = zeros((size_t)width);

    memcpy(y, x, sizeof(double) * (size_t)(c->head_dense ? 0 : width));
    if (c->head_dense) {
        linear(m->weights[QKV_SLOT_HEAD_DENSE_WEIGHT], c->head_dense_bias ? m->weights[QKV_SLOT_HEAD_DENSE_BIAS] : NULL,
               0, width, c->width, x, y);
        for (int i = 0; i < width; i++) y[i] = activate(c->head_activation, y[i]);
    }
    if (c->head_norm) norm(m, QKV_SLOT_HEAD_NORM_WEIGHT, 0, width, y);
    linear(m->weights[c->head_tied ? QKV_SLOT_TOKENS : QKV_SLOT_HEAD_WEIGHT],
           c->head_bias ? m->weights[QKV_SLOT_HEAD_BIAS] : NULL, 0, c->head_rows, width, y, logits);
    for (int i = 0; i < c->head_rows && cap > 0; i++) logits[i] = cap * tanh(logits[i] / cap);
    free(y);
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

reference_run reference_forward(const reference_model *m, const reference_input *in) {
    const qkv_config *c = m->config;
    const size_t n = (size_t)in->n, cells = n * (size_t)c->width;
    reference_run run = {.embeddings = zeros(cells), .final = zeros(cells)};
    const double *x = run.embeddings;

    embed(m, in, run.embeddings);
    for (int l = 0; l < c->layers; l++) {
        const place p = {m, c, in, l, l * c->stored_layers / c->layers, run.stages[l]};
        for (int s = 0; s < QKV_STAGE_COUNT; s++) {
            const int heads = has_heads((qkv_stage)s) ? c->heads : 1;
            run.stages[l][s] = zeros((size_t)(heads * reference_size(c, (qkv_stage)s, in->n)));
        }
        run_layer(&p, x);
        x = run.stages[l][QKV_STAGE_HIDDEN];
    }
    memcpy(run.final, x, sizeof(double) * cells);
    for (int i = 0; i < in->n && c->final_norm; i++) {
        norm(m, QKV_SLOT_FINAL_NORM_WEIGHT, 0, c->width, run.final + i * c->width);
    }
    if (c->head_rows > 0) run.logits = zeros(n * (size_t)c->head_rows);
    for (int i = 0; i < in->n && run.logits; i++) head(m, run.final + i * c->width, run.logits + i * c->head_rows);
    return run;
}

void reference_free(reference_run *run) {
    for (int l = 0; l < REFERENCE_LAYERS; l++) {
        for (int s = 0; s < QKV_STAGE_COUNT; s++) free(run->stages[l][s]);
    }
    free(run->embeddings);
    free(run->final);
    free(run->logits);
}
