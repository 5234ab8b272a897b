/* wasm.c - the module's exports: qkv.h with its objects placed in linear memory. The only file that knows it is wasm.
 *
 * Pointers and sizes are u32 byte offsets into the exported `memory`, which may grow (views detach) only in qkv_alloc,
 * qkv_init and qkv_run_new. A function that returns a pointer returns 0 on failure, one that returns a status returns it;
 * qkv_last_error then says why. Nothing is imported. Models, runs and maps are known by handles (handles.h): one that is not
 * there, or no longer, is QKV_HANDLE. The names that differ from qkv.h place an object on the heap:
 *
 *   qkv_init, qkv_model_free     qkv_model_bytes + create; the runs of a model go with it
 *   qkv_run_new, qkv_run_free    qkv_run_bytes + create            qkv_map_new, qkv_map_free       qkv_map_bytes + create
 *   qkv_model_size, qkv_run_size bytes as f64, 0 when refused      qkv_load_rows, qkv_model_ready  qkv_model_rows, _finish
 *
 * Traps are for bugs only: every number that comes from a file or a caller is checked by the functions of qkv.h. That a
 * pointer to data leads to as many bytes as the call reads or writes is the caller's to see to. */
#include "handles.h"
#include "heap.h"
#include "pool.h"
#include "qkv.h"
#include "status.h"

/* The C names differ from the exported ones, which qkv.h has taken for the functions behind them. */
#define EXPORT(name) __attribute__((export_name("qkv_" #name))) wasm_##name
#pragma clang diagnostic ignored "-Wmissing-prototypes" /* nothing in C calls an export */

#define PAGE 65536u
#define PAGES_MOST 65535u /* of 65536: the end of a 4 GiB memory is not a number of 32 bits */

extern unsigned char __heap_base; /* set by the linker: first byte behind stack and data */

#define BUFFER (QKV_HANDLE_MAP + 1) /* owner of the blocks that qkv_alloc gives out */

static qkv_heap heap;
static qkv_handles handles;
static qkv_error last_error;

static size_t grow(void *context, size_t bytes) {
    const size_t pages = bytes / PAGE + (bytes % PAGE != 0);
    (void)context;
    if (pages > PAGES_MOST - __builtin_wasm_memory_size(0)) return 0;
    return __builtin_wasm_memory_grow(0, pages) == SIZE_MAX ? 0 : pages * PAGE;
}

/* The heap, which begins at the first call. */
static qkv_heap *the_heap(void) {
    if (!heap.base) {
        qkv_heap_init(&heap, &__heap_base, (unsigned char *)(__builtin_wasm_memory_size(0) * PAGE), grow, NULL);
        handles.heap = &heap;
    }
    return &heap;
}

static void fail_for_memory(size_t bytes) {
    qkv_fail(&last_error, QKV_MEMORY, "linear memory", (double)qkv_heap_largest(&heap), (double)bytes);
}

/* Place for an object of so many bytes, 0 = refused. Returns its handle. */
static qkv_handle place(qkv_handle_kind kind, qkv_handle parent, size_t bytes, void **out_memory) {
    if (bytes == 0) return 0;
    the_heap();
    const qkv_handle handle = qkv_handle_new(&handles, kind, parent, bytes, out_memory);
    if (!handle) fail_for_memory(bytes);
    return handle;
}

static qkv_status no_object(qkv_handle handle, qkv_handle_kind kind) {
    static const char *const what[] = {"", "no such model (any more)", "no such run (any more)",
                                       "no such map (any more)"};
    return qkv_fail(&last_error, QKV_HANDLE, what[kind], handle, 0);
}

/* What a handle stands for; NULL with the error filled when it stands for nothing of that kind. */
static void *object_of(qkv_handle handle, qkv_handle_kind kind) {
    void *object = qkv_handle_object(&handles, handle, kind);
    if (!object) no_object(handle, kind);
    return object;
}

static qkv_status free_object(qkv_handle handle, qkv_handle_kind kind) {
    return qkv_handle_free(&handles, handle, kind) ? QKV_OK : no_object(handle, kind);
}

/* The status of a computation, unless it was left unfinished: QKV_THREAD, got 1 when the thread trapped. */
static qkv_status finished(qkv_status status) {
    const int32_t lost = qkv_pool_lost();
    return lost ? qkv_fail(&last_error, QKV_THREAD, "a thread stopped in the middle of its work", lost - 1, 0) : status;
}

/* ---- about the module --------------------------------------------------------------------------------------- */

#define WORD_i32 "i32"
#define WORD_f32 "f32"
#define WORD_norm_kind "i32:norm_kinds"
#define WORD_norm_place "i32:norm_places"
#define WORD_branches "i32:branches"
#define WORD_activation "i32:activations"
#define WORD_plane "i32:planes"
#define WORD_ptr_i32 "ptr"
#define WORD_ptr_f32 "ptr"
#define WORD_ptr_u8 "ptr"
#define WORD_out_f32 "ptr"
#define STATUS(NAME, number) " " #NAME ":" #number
#define LISTED(NAME, name) " " #name
#define STAT(name) " " #name
#define STAGE(NAME, name, columns) " " #name ":" #columns
#define LIMIT(name, number) " " #name ":" NUMBER(number)
#define NUMBER(number) #number
#define FIELD(type, name) " " #name ":" WORD_##type
#define SLOT(NAME, name, scope, role) " " #name ":" #scope ":" #role

/* A line for each list, `key word word ...`: what a word says is in front of its lines. clang-format would run them together. */
/* clang-format off */
static const char description[] =
    /* one word */
    "version " QKV_VERSION
    /* NAME:number */
    "\nstatuses" QKV_STATUSES(STATUS)
    "\nlimits" LIMIT(threads, QKV_THREADS_MAX) LIMIT(thumbnail, QKV_THUMBNAIL_MAX)
    /* names in the order of their numbers */
    "\nprecisions" QKV_PRECISIONS(LISTED)
    "\nplanes" QKV_PLANES(LISTED)
    "\nactivations" QKV_ACTIVATIONS(LISTED)
    "\nnorm_kinds" QKV_NORM_KINDS(LISTED)
    "\nnorm_places" QKV_NORM_PLACES(LISTED)
    "\nbranches" QKV_BRANCHES(LISTED)
    "\nkinds" QKV_KINDS(LISTED)
    "\npoolings" QKV_POOLINGS(LISTED)
    "\nstats" QKV_STATS(STAT)
    /* name:columns, in the order of their numbers */
    "\nstages" QKV_STAGES(STAGE)
    /* the fields of a struct, 4 bytes each: name:type, or name:i32:the line that its numbers have their names from */
    "\nconfig" QKV_CONFIG_FIELDS(FIELD)
    "\ninput" QKV_INPUT_FIELDS(FIELD)
    "\noperator" QKV_OPERATOR_FIELDS(FIELD)
    /* name:scope:role, in the order of their numbers */
    "\nslots" QKV_SLOTS(SLOT) "\n";
/* clang-format on */

uint32_t EXPORT(abi)(void) {
    return QKV_ABI;
}

/* NUL-terminated ASCII, a line "key word word ..." each. */
const char *EXPORT(describe)(void) {
    return description;
}

/* { i32 code at 0; u32 what at 4; f64 got at 8; f64 want at 16 } */
const qkv_error *EXPORT(last_error)(void) {
    return &last_error;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* A part of every handle of this instance, before the first one: any number that other instances do not have. */
void EXPORT(salt)(uint32_t salt) {
    handles.salt = salt >> 12;
}

void *EXPORT(alloc)(size_t bytes) {
    void *memory = qkv_heap_alloc(the_heap(), bytes, BUFFER);
    if (!memory) fail_for_memory(bytes);
    return memory;
}

qkv_status EXPORT(free)(void *memory) {
    if (qkv_heap_free(&heap, memory, BUFFER)) return QKV_OK;
    return qkv_fail(&last_error, QKV_HANDLE, "no such memory (any more)", (double)(uintptr_t)memory, 0);
}

size_t EXPORT(heap_used)(void) {
    return heap.used;
}

/* Ceiling for the heap in bytes; 0 = what the memory allows. */
void EXPORT(heap_limit)(size_t bytes) {
    the_heap()->limit = bytes;
}

/* ---- model -------------------------------------------------------------------------------------------------- */

double EXPORT(model_size)(const qkv_config *config, qkv_precision precision) {
    return (double)qkv_model_bytes(config, precision, &last_error);
}

qkv_handle EXPORT(init)(const qkv_config *config, qkv_precision precision) {
    const size_t bytes = qkv_model_bytes(config, precision, &last_error);
    void *memory;
    const qkv_handle handle = place(QKV_HANDLE_MODEL, 0, bytes, &memory);

    if (handle) qkv_model_create(&(qkv_model *){0}, memory, bytes, config, precision, &last_error);
    return handle;
}

qkv_status EXPORT(model_free)(qkv_handle handle) {
    return free_object(handle, QKV_HANDLE_MODEL);
}

qkv_status EXPORT(slot_shape)(qkv_handle handle, qkv_slot slot, int32_t *out_shape) {
    const qkv_model *model = object_of(handle, QKV_HANDLE_MODEL);
    if (!model) return QKV_HANDLE;
    return qkv_model_shape(model, slot, &out_shape[0], &out_shape[1], &last_error);
}

qkv_status EXPORT(load_rows)(qkv_handle handle, qkv_slot slot, int32_t layer, qkv_plane plane, int32_t row0,
                             int32_t rows, const void *data) {
    qkv_model *model = object_of(handle, QKV_HANDLE_MODEL);
    if (!model) return QKV_HANDLE;
    return qkv_model_rows(model, slot, layer, plane, row0, rows, data, &last_error);
}

qkv_status EXPORT(model_ready)(qkv_handle handle) {
    qkv_model *model = object_of(handle, QKV_HANDLE_MODEL);
    return model ? qkv_model_finish(model, &last_error) : QKV_HANDLE;
}

/* ---- run ---------------------------------------------------------------------------------------------------- */

double EXPORT(run_size)(qkv_handle handle, const qkv_input *input) {
    const qkv_model *model = object_of(handle, QKV_HANDLE_MODEL);
    return model ? (double)qkv_run_bytes(model, input, &last_error) : 0.0;
}

qkv_handle EXPORT(run_new)(qkv_handle model_handle, const qkv_input *input) {
    const qkv_model *model = object_of(model_handle, QKV_HANDLE_MODEL);
    const size_t bytes = model ? qkv_run_bytes(model, input, &last_error) : 0;
    void *memory;
    const qkv_handle handle = place(QKV_HANDLE_RUN, model_handle, bytes, &memory);

    if (handle) qkv_run_create(&(qkv_run *){0}, memory, bytes, model, input, &last_error);
    return handle;
}

qkv_status EXPORT(run_free)(qkv_handle handle) {
    return free_object(handle, QKV_HANDLE_RUN);
}

qkv_status EXPORT(forward)(qkv_handle handle, int32_t from_layer, int32_t to_layer) {
    qkv_run *run = object_of(handle, QKV_HANDLE_RUN);
    if (!run) return QKV_HANDLE;
    return finished(qkv_forward(run, from_layer, to_layer, &last_error));
}

qkv_status EXPORT(append)(qkv_handle handle, const int32_t *ids, int32_t count) {
    qkv_run *run = object_of(handle, QKV_HANDLE_RUN);
    if (!run) return QKV_HANDLE;
    return qkv_append(run, ids, count, &last_error);
}

qkv_status EXPORT(get_weights)(qkv_handle handle, qkv_kind kind, int32_t layer, int32_t head, qkv_stage stage,
                               int32_t sequence, int32_t row0, int32_t rows, float *out) {
    qkv_run *run = object_of(handle, QKV_HANDLE_RUN);
    if (!run) return QKV_HANDLE;
    return finished(qkv_get_weights(run, kind, layer, head, stage, sequence, row0, rows, out, &last_error));
}

qkv_status EXPORT(get_stage)(qkv_handle handle, qkv_kind kind, int32_t layer, int32_t head, qkv_stage stage,
                             int32_t sequence, float *out) {
    qkv_run *run = object_of(handle, QKV_HANDLE_RUN);
    if (!run) return QKV_HANDLE;
    return finished(qkv_get_stage(run, kind, layer, head, stage, sequence, out, &last_error));
}

qkv_status EXPORT(overview)(qkv_handle handle, qkv_kind kind, int32_t sequence, int32_t size, const uint8_t *separators,
                            float *out_thumbnails, float *out_stats) {
    qkv_run *run = object_of(handle, QKV_HANDLE_RUN);
    if (!run) return QKV_HANDLE;
    return finished(qkv_overview(run, kind, sequence, size, separators, out_thumbnails, out_stats, &last_error));
}

qkv_status EXPORT(embedding)(qkv_handle handle, int32_t sequence, qkv_pooling pooling, int32_t first, int32_t normalize,
                             float *out) {
    qkv_run *run = object_of(handle, QKV_HANDLE_RUN);
    if (!run) return QKV_HANDLE;
    return qkv_embedding(run, sequence, pooling, first, normalize, out, &last_error);
}

qkv_status EXPORT(logits)(qkv_handle handle, int32_t sequence, int32_t position, float *out) {
    qkv_run *run = object_of(handle, QKV_HANDLE_RUN);
    if (!run) return QKV_HANDLE;
    return finished(qkv_logits(run, sequence, position, out, &last_error));
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

size_t EXPORT(attend_size)(const qkv_operator *op) {
    return qkv_attend_bytes(op, &last_error);
}

qkv_status EXPORT(attend)(const qkv_operator *op, void *scratch, size_t bytes) {
    return finished(qkv_attend(op, scratch, bytes, &last_error));
}

qkv_handle EXPORT(map_new)(int32_t outputs, int32_t inputs, const float *weights, const float *bias) {
    const size_t bytes = qkv_map_bytes(outputs, inputs, &last_error);
    void *memory;
    const qkv_handle handle = place(QKV_HANDLE_MAP, 0, bytes, &memory);

    if (handle) qkv_map_create(&(qkv_map *){0}, memory, bytes, outputs, inputs, weights, bias, &last_error);
    return handle;
}

qkv_status EXPORT(map_free)(qkv_handle handle) {
    return free_object(handle, QKV_HANDLE_MAP);
}

qkv_status EXPORT(map_apply)(qkv_handle handle, const float *x, int32_t rows, float *y) {
    const qkv_map *map = object_of(handle, QKV_HANDLE_MAP);
    if (!map) return QKV_HANDLE;
    return finished(qkv_map_apply(map, x, rows, y, &last_error));
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

#ifdef QKV_THREADS

/* Threads that models, runs and scratch are laid out for, the caller's included; before any of them. Returns how many
 * there may be. */
int32_t EXPORT(set_threads)(int32_t threads) {
    qkv_pool_set_slots(threads);
    return qkv_pool_slots();
}

/* What another thread calls in an instance of its own over the same memory, with a stack of its own; it stays in there. */
void EXPORT(work)(int32_t slot) {
    qkv_pool_work(slot);
}

int32_t EXPORT(workers)(void) {
    return qkv_pool_workers();
}

void EXPORT(close_pool)(void) {
    qkv_pool_close();
}

/* Called where qkv_work has trapped. */
void EXPORT(trapped)(void) {
    qkv_pool_trapped();
}

#endif
