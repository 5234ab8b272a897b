# The newest clang at hand whose sanitizer runtime is installed (a package of its own on Debian).
set(versions 24 23 22 21 20 19 18 17 16 15 14)
list(TRANSFORM versions PREPEND "clang-" OUTPUT_VARIABLE compilers)

foreach(name clang ${compilers})
    find_program(QKV_CLANG_${name} ${name})
    if(NOT QKV_CLANG_${name})
        continue()
    endif()
    execute_process(COMMAND "${QKV_CLANG_${name}}" -print-file-name=libclang_rt.asan-${CMAKE_HOST_SYSTEM_PROCESSOR}.a
        OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND "${QKV_CLANG_${name}}" -print-file-name=libclang_rt.asan.a
        OUTPUT_VARIABLE runtime_per_target OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(EXISTS "${runtime}" OR EXISTS "${runtime_per_target}")
        set(CMAKE_C_COMPILER "${QKV_CLANG_${name}}")
        return()
    endif()
endforeach()
message(FATAL_ERROR "no clang with its AddressSanitizer runtime (on Debian: clang-N and libclang-rt-N-dev)")
