# The kernels and the probes of bench/ in a module of their own, with the flags of the one that ships; made on request only:
# cmake --build build/wasm --target kernels_module.
add_executable(kernels_module EXCLUDE_FROM_ALL ${kernel_sources} "${PROJECT_SOURCE_DIR}/bench/kernels_module.c")
set_target_properties(kernels_module PROPERTIES SUFFIX ".wasm")
target_include_directories(kernels_module PRIVATE "${QKV_SRC}/kernels")
target_compile_options(kernels_module PRIVATE ${features})

get_target_property(module_link_options module LINK_OPTIONS)
target_link_options(kernels_module PRIVATE ${module_link_options})
