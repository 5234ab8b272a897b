#include "handles.h"

#define PLACE_BITS 20
#define PLACES (UINT32_C(1) << PLACE_BITS)
#define USES_MOST (UINT32_MAX >> PLACE_BITS)

static qkv_handle_entry *entries_of(qkv_handles *handles) {
    return handles->more ? handles->more : handles->first;
}

static uint32_t place_of(const qkv_handles *handles, qkv_handle handle) {
    return handle % PLACES ^ handles->salt;
}

/* The entry of a handle that was given out and not freed since; else NULL. */
static qkv_handle_entry *find(qkv_handles *handles, qkv_handle handle, qkv_handle_kind kind) {
    const uint32_t place = place_of(handles, handle);

    if (place >= handles->count) return NULL;
    qkv_handle_entry *entry = &entries_of(handles)[place];
    return entry->kind == kind && entry->uses == handle >> PLACE_BITS ? entry : NULL;
}

/* Twice the room, in the heap. */
static int extend(qkv_handles *handles) {
    const uint32_t room = handles->room ? 2 * handles->room : 2 * QKV_HANDLES_AT_FIRST;

    if (room > PLACES) return 0;
    qkv_handle_entry *more = qkv_heap_alloc(handles->heap, room * sizeof *more, QKV_HANDLE_FREE);
    if (!more) return 0;
    __builtin_memcpy(more, entries_of(handles), handles->count * sizeof *more);
    qkv_heap_free(handles->heap, handles->more, QKV_HANDLE_FREE);
    handles->more = more;
    handles->room = room;
    return 1;
}

/* A free place, which it stays until it gets a kind: 1 + its number, or 0. */
static uint32_t free_place(qkv_handles *handles) {
    if (handles->free) return handles->free;
    if (handles->count == (handles->room ? handles->room : QKV_HANDLES_AT_FIRST) && !extend(handles)) return 0;
    entries_of(handles)[handles->count] = (qkv_handle_entry){0};
    handles->free = ++handles->count;
    return handles->free;
}

qkv_handle qkv_handle_new(qkv_handles *handles, qkv_handle_kind kind, qkv_handle parent, size_t bytes,
                          void **out_object) {
    const uint32_t place = free_place(handles);
    void *object = place ? qkv_heap_alloc(handles->heap, bytes, kind) : NULL;

    if (!object) return 0;
    qkv_handle_entry *entry = &entries_of(handles)[place - 1];
    handles->free = entry->other;
    *entry = (qkv_handle_entry){object, place_of(handles, parent), (uint16_t)(entry->uses + 1), (uint16_t)kind};
    *out_object = object;
    return (uint32_t)entry->uses << PLACE_BITS | ((place - 1) ^ handles->salt);
}

void *qkv_handle_object(const qkv_handles *handles, qkv_handle handle, qkv_handle_kind kind) {
    const qkv_handle_entry *entry = find((qkv_handles *)handles, handle, kind);
    return entry ? entry->object : NULL;
}

static void release(qkv_handles *handles, qkv_handle_entry *entry) {
    qkv_heap_free(handles->heap, entry->object, entry->kind);
    entry->kind = QKV_HANDLE_FREE;
    if (entry->uses == USES_MOST) return;
    entry->other = handles->free;
    handles->free = 1 + (uint32_t)(entry - entries_of(handles));
}

int qkv_handle_free(qkv_handles *handles, qkv_handle handle, qkv_handle_kind kind) {
    qkv_handle_entry *entries = entries_of(handles), *entry = find(handles, handle, kind);

    if (!entry) return 0;
    for (uint32_t i = 0; kind == QKV_HANDLE_MODEL && i < handles->count; i++) {
        if (entries[i].kind == QKV_HANDLE_RUN && entries[i].other == (uint32_t)(entry - entries)) {
            release(handles, &entries[i]);
        }
    }
    release(handles, entry);
    return 1;
}
