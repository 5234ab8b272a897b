# One bare .wasm: no JavaScript, no imports, its memory exported. The C names its exports (export_name); the heap grows the
# memory itself, from small to what the format allows. The stack lies at address 0, so an overflow traps.
# With threads the memory is shared and imported instead, since every thread has an instance of its own over it, and the
# stack pointer is exported, so that each gets a stack of its own. There are no thread-local variables.
set(initial_memory 262144)
set(maximum_memory 4294967296)
set(stack_size 65536)

add_executable(module ${engine_sources} "${QKV_SRC}/wasm.c")
set_target_properties(module PROPERTIES OUTPUT_NAME "${QKV_WASM_NAME}" SUFFIX ".wasm")
target_include_directories(module PRIVATE "${QKV_SRC}" "${QKV_SRC}/kernels")

# What every engine with 128-bit SIMD has, and nothing younger.
set(features -mcpu=mvp -msimd128 -mbulk-memory -mnontrapping-fptoint -msign-ext -mmutable-globals)
if(QKV_RELAXED)
    list(APPEND features -mrelaxed-simd)
    target_compile_definitions(module PRIVATE QKV_RELAXED)
endif()
if(QKV_THREADS)
    list(APPEND features -matomics)
    target_compile_definitions(module PRIVATE QKV_THREADS)
endif()
target_compile_options(module PRIVATE ${features})

# Speed is in the kernels; the rest, which only arranges their work, is built for size.
set(arranging ${engine_sources} "${QKV_SRC}/wasm.c")
list(REMOVE_ITEM arranging ${kernel_sources})
# So are the kernels that run once a load or once a picture, and those whose loops wait for memory: unrolled they are not faster.
foreach(name from_f16 from_q8 from_q10 entropy_f32 decode_blocks quantize_f32 panel_i16 weights_f32 rows_f32)
    list(APPEND arranging "${QKV_SRC}/kernels/${name}_simd.c")
endforeach()
set_source_files_properties(${arranging} PROPERTIES COMPILE_OPTIONS -Os)
# What only checks, or runs once a model, is built as small as can be.
set(once "${QKV_SRC}/wasm.c")
foreach(name handles heap arena config_check model_weights slots)
    list(APPEND once "${QKV_SRC}/${name}.c")
endforeach()
set_source_files_properties(${once} PROPERTIES COMPILE_OPTIONS -Oz)

if(QKV_EMCC AND NOT QKV_THREADS)
    if(QKV_LLVM_MAJOR LESS 16)
        set(stack_option TOTAL_STACK)
    else()
        set(stack_option STACK_SIZE)
    endif()
    # No C++ library: where emcc comes without built libraries, making that one takes minutes.
    target_link_options(module PRIVATE ${features} --no-entry -sSTANDALONE_WASM -sDEFAULT_TO_CXX=0
        -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=${initial_memory} -sMAXIMUM_MEMORY=${maximum_memory} -s${stack_option}=${stack_size}
        -Wl,--stack-first)
else()
    target_link_options(module PRIVATE --no-entry --stack-first -z stack-size=${stack_size}
        --initial-memory=${initial_memory} --max-memory=${maximum_memory} --strip-all --gc-sections)
    if(QKV_THREADS)
        target_link_options(module PRIVATE --shared-memory --import-memory --export=__stack_pointer)
    endif()
endif()
