/* wasm.h - what the wasm module exports: qkv.h with its objects placed in linear memory.
 *
 * Pointers and sizes are u32 byte offsets into the exported `memory`. A function that returns a pointer returns 0 on
 * failure, one that returns a qkv_status returns it; qkv_last_error then says why. memory may grow (views detach) only
 * in qkv_alloc, qkv_init and qkv_run_new.
 *
 *   qkv_abi()                       -> QKV_ABI
 *   qkv_describe()                  -> NUL-terminated ASCII text, a line "key word word ..." each:
 *                                      version, statuses NAME:number, precisions, planes, kinds, stages, stats (names in order of
 *                                      their numbers), config and input (name:type in order of the struct's fields, 4 bytes
 *                                      each; type i32, f32 or ptr), slots name:scope:role
 *   qkv_last_error()                -> { i32 code; u32 what (NUL-terminated ASCII); f64 got; f64 want } at offsets 0, 4, 8, 16
 *   qkv_alloc(bytes) -> ptr, 16-byte aligned   qkv_free(ptr)   from the same free list as models and runs
 *   qkv_heap_used()                 -> bytes now given out        qkv_heap_limit(bytes)  ceiling for linear memory, 0 = none
 *   qkv_model_size(config, precision) -> f64 bytes a model would take (0 = refused)
 *   qkv_init(config, precision)     -> model                      qkv_model_free(model)
 *   qkv_slot_shape(model, slot, out i32[2])
 *   qkv_load_rows(model, slot, layer, plane, row0, rows, data)    qkv_model_ready(model): qkv_model_finish
 *   qkv_run_size(model, input) -> f64 bytes a run would take (0 = refused)
 *   qkv_run_new(model, input)       -> run                        qkv_run_free(run)
 *   qkv_forward(run, from_layer, to_layer)
 *   qkv_get_weights(run, kind, layer, head, stage, sequence, row0, rows, out f32[])
 *   qkv_get_stage(run, kind, layer, head, stage, sequence, out f32[])
 *   qkv_overview(run, kind, sequence, size, separators u8[] or 0, thumbnails f32[], stats f32[])
 *   qkv_embedding(run, sequence, pooling 0 mean 1 cls 2 last, normalize, out f32[])
 *
 * Imports: none. */
