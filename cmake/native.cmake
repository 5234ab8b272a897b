# The engine for this machine, and its tests.
find_path(SIMDE_INCLUDE_DIR simde/wasm/simd128.h REQUIRED)

if(QKV_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(QKV_SANITIZE)
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
endif()

# qkv calls the SIMD kernels, qkv_scalar their scalar twins; both hold both.
add_library(qkv STATIC ${engine_sources})
add_library(qkv_scalar STATIC ${engine_sources})
target_compile_definitions(qkv_scalar PUBLIC QKV_SCALAR)
foreach(engine qkv qkv_scalar)
    target_include_directories(${engine} PUBLIC "${QKV_SRC}" "${QKV_SRC}/kernels")
    target_include_directories(${engine} SYSTEM PRIVATE "${SIMDE_INCLUDE_DIR}")
endforeach()

# The engine with threads, which its tests bring.
find_package(Threads REQUIRED)
add_library(qkv_threads STATIC ${engine_sources})
target_compile_definitions(qkv_threads PUBLIC QKV_THREADS)
target_include_directories(qkv_threads PUBLIC "${QKV_SRC}" "${QKV_SRC}/kernels")
target_include_directories(qkv_threads SYSTEM PRIVATE "${SIMDE_INCLUDE_DIR}")

# Every tests/native/<name>_test.c is a program that returns 0 when all holds; it runs against both engines. Other files
# there and in tests/reference are shared by the programs. kernels_test compares the twins itself, once; threads_test wants
# the engine with threads.
enable_testing()
set(tests "${PROJECT_SOURCE_DIR}/tests")
file(GLOB programs CONFIGURE_DEPENDS "${tests}/native/*_test.c")
file(GLOB shared CONFIGURE_DEPENDS "${tests}/native/*.c" "${tests}/reference/*.c")
if(programs)
    list(REMOVE_ITEM shared ${programs})
endif()
list(REMOVE_ITEM programs "${tests}/native/threads_test.c")

# An archive, so that a program is linked with those parts only that it calls.
add_library(test_parts STATIC ${shared})
target_include_directories(test_parts PRIVATE "${QKV_SRC}" "${QKV_SRC}/kernels" "${tests}/native" "${tests}/reference")

foreach(program ${programs})
    get_filename_component(name "${program}" NAME_WE)
    foreach(engine qkv qkv_scalar)
        string(REPLACE "qkv" "${name}" target "${engine}")
        if(target STREQUAL "kernels_test_scalar")
            continue()
        endif()
        add_executable(${target} "${program}")
        target_include_directories(${target} PRIVATE "${tests}/native" "${tests}/reference")
        target_compile_definitions(${target} PRIVATE QKV_TESTS_DIR="${tests}")
        target_link_libraries(${target} PRIVATE test_parts ${engine} m)
        add_test(NAME ${target} COMMAND ${target})
        set_tests_properties(${target} PROPERTIES TIMEOUT 300)
    endforeach()
endforeach()

add_executable(threads_test "${tests}/native/threads_test.c")
target_include_directories(threads_test PRIVATE "${tests}/native" "${tests}/reference")
target_compile_definitions(threads_test PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(threads_test PRIVATE test_parts qkv_threads Threads::Threads m)
add_test(NAME threads_test COMMAND threads_test)
set_tests_properties(threads_test PROPERTIES TIMEOUT 300)

# Every tests/fuzz/fuzz_<name>.c is a target for libFuzzer, which the preset fuzz links; elsewhere it is a program that
# replays the inputs kept in tests/fuzz/corpus/<name>.
file(GLOB targets CONFIGURE_DEPENDS "${tests}/fuzz/fuzz_*.c")
foreach(source ${targets})
    get_filename_component(name "${source}" NAME_WE)
    string(REPLACE "fuzz_" "" corpus "${name}")
    foreach(engine qkv qkv_scalar)
        string(REPLACE "qkv" "${name}" target "${engine}")
        add_executable(${target} "${source}" "${tests}/fuzz/any_config.c")
        target_include_directories(${target} PRIVATE "${tests}/fuzz")
        target_link_libraries(${target} PRIVATE ${engine} m)
        if(QKV_FUZZ)
            target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        else()
            target_sources(${target} PRIVATE "${tests}/fuzz/replay.c")
            target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
            add_test(NAME ${target} COMMAND ${target} "${tests}/fuzz/corpus/${corpus}")
            set_tests_properties(${target} PROPERTIES TIMEOUT 300)
        endif()
    endforeach()
endforeach()
