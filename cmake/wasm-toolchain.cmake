# Chooses the compiler of the wasm builds: emcc, from PATH. Relaxed SIMD got its final opcodes in LLVM 16; where emcc's LLVM
# is older (Debian 12), that build is made by the newest clang and wasm-ld at hand instead.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QKV_RELAXED QKV_THREADS)

find_program(QKV_EMCC_PROGRAM emcc REQUIRED)
file(WRITE "${CMAKE_BINARY_DIR}/llvm_major.c" "__clang_major__\n")
execute_process(COMMAND "${QKV_EMCC_PROGRAM}" -E -P "${CMAKE_BINARY_DIR}/llvm_major.c"
    OUTPUT_VARIABLE QKV_LLVM_MAJOR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "[0-9]+$" QKV_LLVM_MAJOR "${QKV_LLVM_MAJOR}")

if(NOT QKV_RELAXED OR QKV_LLVM_MAJOR GREATER_EQUAL 16)
    set(QKV_EMCC ON)
    set(CMAKE_C_COMPILER "${QKV_EMCC_PROGRAM}")
    if(QKV_THREADS)
        # emcc links shared memory only with its own threads and their JavaScript: its linker is called directly.
        find_program(QKV_EM_CONFIG_PROGRAM em-config REQUIRED)
        execute_process(COMMAND "${QKV_EM_CONFIG_PROGRAM}" LLVM_ROOT OUTPUT_VARIABLE QKV_LLVM_ROOT
            OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        find_program(QKV_EMCC_WASM_LD_PROGRAM NAMES wasm-ld wasm-ld-${QKV_LLVM_MAJOR} HINTS "${QKV_LLVM_ROOT}" REQUIRED)
        set(CMAKE_C_LINK_EXECUTABLE "\"${QKV_EMCC_WASM_LD_PROGRAM}\" <LINK_FLAGS> <OBJECTS> -o <TARGET>")
    endif()
else()
    set(QKV_EMCC OFF)
    set(versions 24 23 22 21 20 19 18 17 16)
    list(TRANSFORM versions PREPEND "clang-" OUTPUT_VARIABLE compilers)
    list(TRANSFORM versions PREPEND "wasm-ld-" OUTPUT_VARIABLE linkers)
    find_program(QKV_CLANG_PROGRAM NAMES ${compilers} REQUIRED)
    find_program(QKV_WASM_LD_PROGRAM NAMES ${linkers} REQUIRED)
    set(CMAKE_C_COMPILER "${QKV_CLANG_PROGRAM}")
    set(CMAKE_C_COMPILER_TARGET wasm32)
    # clang's own driver would run whatever wasm-opt is on PATH, so the linker is called directly.
    set(CMAKE_C_LINK_EXECUTABLE "\"${QKV_WASM_LD_PROGRAM}\" <LINK_FLAGS> <OBJECTS> -o <TARGET>")
endif()
