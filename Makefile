# Everything that this repository can do, by name. Needs Rust, a C compiler and make. What else is needed (tools/needs.txt)
# is installed by apt-get where make runs as root or with ZT_INSTALL=sudo, which is said first; with ZT_INSTALL=0, and
# where that is not possible, the part that needs it says that it is skipped.

CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
CARGO_TARGET_DIR ?= target
# One target folder for cargo, CMake and the projects that use the library, so that each thing is compiled once.
override CARGO_TARGET_DIR := $(abspath $(CARGO_TARGET_DIR))
export CARGO_TARGET_DIR
MAKEFLAGS += --no-print-directory

T := $(CARGO_TARGET_DIR)
VERSION := $(shell sed -n 's/^version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)

# target/debug/zt and the Rust examples, with the same features as cargo test, so that nothing is compiled twice.
BUILD_AS_TESTED := $(CARGO) build --quiet --workspace --bins --examples --locked

.PHONY: help build libs reading test-reading small small-reading test-small zt demo test interop-packages test-rust test-compat test-c test-cmake test-consumers test-valgrind \
    test-examples test-interop test-sanitizers test-rust-sanitizers test-python test-go test-zig test-julia test-packages test-ggml test-models test-llama test-report test-safetensors-suite test-platforms test-platforms-quick test-strangers test-clients test-reproducible dist dist-elsewhere deb deb-arm64 wheels release fuzz-quick check-dependencies header install clean fmt lint docs site \
    bench bench-quick bench-build bench-remote remote test-remote install-remote

help:
	@echo 'make build          the shared and the static library, in target/lib, and the program target/release/zt'
	@echo 'make reading        the shared library without what writes, in target/reading; make test-reading tests it'
	@echo 'make small          both libraries for hosts where a megabyte counts more than speed, in target/small/lib;'
	@echo '                    make small-reading: without what writes, in target/small/reading; make test-small tests both'
	@echo 'make demo           opens, lists, reads and verifies real files, converts a real model and loads it from C'
	@echo 'make test           every test there is; says what it installs, and leaves it with ZT_INSTALL=0'
	@echo 'make test-rust      the tests of the Rust crates: corpus, round trips, header, program'
	@echo 'make test-compat    zt convert with the cargo feature compat: HDF5 and ONNX'
	@echo 'make test-c         the C and C++ tests against both libraries'
	@echo 'make test-valgrind  the C tests under valgrind'
	@echo 'make test-cmake     the CMake build with ctest, and separate projects that use the installed library'
	@echo 'make test-examples  the example programs'
	@echo 'make test-sanitizers  the C tests under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer'
	@echo 'make test-rust-sanitizers  the Rust tests under AddressSanitizer'
	@echo 'make fuzz-quick     every fuzz target for a fixed number of inputs'
	@echo 'make check-dependencies  the crates in the library against docs/dependencies.md'
	@echo 'make test-python    the Python binding with NumPy and PyTorch'
	@echo 'make test-go test-zig test-julia  the Go, the Zig and the Julia binding'
	@echo 'make test-ggml      examples/ggml: a real model in the real ggml, held against plain C'
	@echo 'make test-models    what NumPy and PyTorch write, and real models there and back; ZT_FETCH=1 fetches 253 MB'
	@echo 'make test-llama     llama.cpp with examples/gguf in it: fetches 330 MB, builds, same tokens from GGUF and .zt'
	@echo 'make test-safetensors-suite  the Python tests of safetensors, with our module in its place; fetches them'
	@echo 'make test-report    the page of zt report in a headless Chromium'
	@echo 'make remote         libztensor_remote: models in buckets and on web servers (docs/remote.md); fetches 130 crates'
	@echo 'make test-remote    its tests; fetches programs that speak as S3, Google Cloud Storage and Azure do'
	@echo 'make test-platforms  the library on other platforms; PLATFORMS="s390x i686" chooses'
	@echo 'make test-platforms-quick  the same on i686 and s390x, in minutes'
	@echo 'make dist-elsewhere  tarballs for aarch64, musl and Windows; make test-strangers uses all of them there and on Debian 11'
	@echo 'make test-clients   cargo cinstall and Conan'
	@echo 'make test-reproducible  two builds of the last commit make the same tarball'
	@echo 'make test-interop   released Python packages read what we write'
	@echo 'make bench          measures the library beside its peers and the limits of the machine (docs/benchmarks.md)'
	@echo 'make bench-remote   libztensor_remote from a server on this machine, beside object_store alone and Run:ai'
	@echo 'make bench-quick    the same with smaller files, in under two minutes'
	@echo 'make header         generates include/ztensor.h anew'
	@echo 'make dist deb       a tarball and Debian packages for people without Rust'
	@echo 'make deb-arm64      Debian packages of library and program for arm64'
	@echo 'make wheels         Python wheels for this machine, for aarch64 and for musl'
	@echo 'make release        these and a Python wheel with sums and notes, and the tag'
	@echo 'make test-packages  both, used without Rust'
	@echo 'make install        PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make fmt lint docs  formats; clippy without warnings; documentation of the Rust crate'
	@echo 'make site           the pages in docs/ and the headers as a site, in target/site/html'
	@echo 'make clean          removes what was built'

build: libs zt

# cargo rustc, because cargo build does no link-time optimisation for a library that is an rlib, too.
libs:
	$(CARGO) rustc --lib --package ztensor-c --release --crate-type cdylib,staticlib --locked
	@sh cmake/stage_libraries.sh $(T)/release $(T)/lib $(VERSION) --strip-debug

# The shared library for hosts that write nothing, linked anew: nothing is compiled.
reading: libs
	sh cmake/link_reading.sh $(T)/lib $(T)/reading $(VERSION)

test-reading: reading
	sh c_tests/reading.sh $(T)/reading $(T)/c_tests/reading

# docs/dependencies.md, Sizes, has what each of these saves. Frame pointers make the tables of unwinding shorter, and what is C
# needs none: nothing unwinds through it.
small:
	CFLAGS="$${CFLAGS-} -fno-asynchronous-unwind-tables" $(CARGO) rustc --lib --package ztensor-c --profile small --crate-type cdylib,staticlib --locked \
	    -- -C force-frame-pointers=yes
	@sh cmake/stage_libraries.sh $(T)/small $(T)/small/lib $(VERSION) '--strip-debug --without-backtraces'

small-reading: small
	sh cmake/link_reading.sh $(T)/small/lib $(T)/small/reading $(VERSION)

test-small: small-reading
	sh c_tests/small.sh $(T)/small/lib $(T)/small/reading $(T)/c_tests/small
	LANGUAGES=c99 sh c_tests/run.sh $(T)/small/lib $(T)/c_tests/small
	sh c_tests/reading.sh $(T)/small/reading $(T)/c_tests/small-reading

# In a folder of its own: in that of the libraries each of the two would have the other compiled anew.
zt:
	$(CARGO) build --release --package ztensor-tools --locked --target-dir $(T)/program
	@mkdir -p $(T)/release && ln -sf ../program/release/zt $(T)/release/zt

# A crate of its own: what a network needs is in nothing else that is built here.
remote: libs
	cd remote && ZT_LIB_DIR=$(T)/lib CARGO_TARGET_DIR=$(T)/remote $(CARGO) rustc --lib --release --crate-type cdylib,staticlib --locked
	@LIBRARY=libztensor_remote sh cmake/stage_libraries.sh $(T)/remote/release $(T)/lib $(VERSION) --strip-debug

demo: build
	sh examples/demo.sh $(T)/lib $(T)/release/zt $(T)/demo

test:
	@sh tools/test_all.sh $(T)/test-logs

# The Rust test of interoperability skips releases whose packages are not there.
interop-packages:
	@sh tools/need.sh interop && \
	    sh tests/interop/install.sh $(T)/interop; status=$$?; [ $$status = 0 ] || { [ $$status = 3 ] && \
	    echo "interop: skipped: the released Python packages cannot be had, see above"; }

test-rust: interop-packages
	@sh tools/need.sh man || true
	ZT_INTEROP_DIR=$(T)/interop $(CARGO) test --workspace --locked

# In a folder of its own: other parts run target/debug/zt without that feature at the same time.
test-compat:
	CARGO_TARGET_DIR=$(T)/compat $(CARGO) test --locked --package ztensor-tools --features compat --bin zt --test convert_other

test-interop: interop-packages
	ZT_INTEROP_DIR=$(T)/interop $(CARGO) test --locked --package ztensor-c --test interop -- --nocapture

test-c: libs
	@sh tools/need.sh c++ || true
	sh tools/at_once.sh "LANGUAGES=c99 sh c_tests/run.sh $(T)/lib $(T)/c_tests/c99" \
	    "LANGUAGES=c++17 sh c_tests/run.sh $(T)/lib $(T)/c_tests/c++17"
	@$(MAKE) test-reading
	@if command -v python3 >/dev/null; then python3 tools/check_statuses.py $(T)/lib $(T)/c_tests/statuses; \
	else echo "statuses: skipped: there is no python3"; fi

# The C tests with sanitizers in the library, too: memory and undefined behaviour, then races.
test-sanitizers:
	@if sh tools/need.sh sanitizers; then \
	    sh tools/at_once.sh "sh tools/sanitize.sh $(T)/sanitizers/address address" \
	        "sh tools/sanitize.sh $(T)/sanitizers/thread thread"; \
	else echo "sanitizers: skipped: there is no gcc"; fi

# Minutes, so it is no part of make test.
test-rust-sanitizers:
	sh tools/sanitize.sh $(T)/sanitizers/rust rust

fuzz-quick:
	@if sh tools/need.sh fuzz; then sh tools/fuzz_quick.sh $(T)/fuzz; \
	else echo "fuzz: skipped: there is no C++ compiler"; fi

check-dependencies:
	@if command -v python3 >/dev/null; then python3 tools/check_dependencies.py; \
	else echo "dependencies: skipped: there is no python3"; fi

test-examples: libs
	sh examples/run.sh $(T)/lib $(T)/examples

test-valgrind: libs
	@if sh tools/need.sh valgrind; then \
	    sh tools/valgrind_c_tests.sh $(T)/lib $(T)/c_tests_valgrind; \
	else echo "valgrind: skipped: there is no valgrind"; fi

test-cmake:
	@if sh tools/need.sh cmake; then \
	    cmake -S . -B $(T)/cmake && cmake --build $(T)/cmake --parallel 2 && \
	    cd $(T)/cmake && ctest --parallel 2 --output-on-failure --no-tests=error; \
	else echo "cmake: skipped: there is no cmake"; fi
	@$(MAKE) test-consumers

test-consumers:
	sh tests/consumers/run.sh $(T)/consumers

# Debian's PyTorch is for the system's own Python; it is used where it is there or may be installed.
test-python: libs
	@if sh tools/need.sh python; then sh tools/need.sh torch || true; \
	    sh bindings/python/test.sh $(T)/lib $(T)/python; \
	else echo "python: skipped: there is no python3 with pip"; fi

test-go: libs
	@if sh tools/need.sh go; then sh bindings/go/test.sh $(T)/lib $(T)/go; \
	else echo "go: skipped: there is no Go"; fi

test-zig: libs
	@if sh tools/need.sh zig; then sh bindings/zig/test.sh $(T)/lib $(T)/zig; \
	else echo "zig: skipped: there is no python3 with pip to get it"; fi

# Julia of the path, or Debian 11's, which bindings/julia/get.sh unpacks in target/julia.
test-julia: libs
	@sh bindings/julia/test.sh $(T)/lib $(T)/julia

# What is shipped without Rust; packaging/README.md.
dist:
	@sh tools/need.sh tarball
	sh packaging/build.sh $(T)/dist && sh packaging/dist.sh $(T)/dist

# No part of make test: each of the three builds the library again.
test-clients:
	sh packaging/clients.sh $(T)/clients

# The same for other systems, compiled here, and a stranger's first program with each tarball.
LINUX_ELSEWHERE := aarch64-linux-gnu aarch64-linux-musl x86_64-linux-musl
ELSEWHERE := $(addprefix dist-,$(LINUX_ELSEWHERE) x86_64-windows)
.PHONY: $(ELSEWHERE)
$(ELSEWHERE): dist-%: dist
	sh packaging/elsewhere.sh $(T)/dist $*
dist-elsewhere: $(ELSEWHERE)

test-strangers: dist-elsewhere deb-arm64 wheels
	sh packaging/strangers.sh $(T)/dist

# No part of make test: the library and the program are built twice.
test-reproducible:
	@sh tools/need.sh tarball
	sh packaging/reproducible.sh $(T)/reproducible

deb:
	@sh tools/need.sh deb
	sh packaging/build.sh $(T)/dist && sh packaging/deb.sh $(T)/dist

deb-arm64: dist-aarch64-linux-gnu
	@sh tools/need.sh deb
	sh packaging/deb.sh $(T)/dist arm64

# Python wheels for this machine, for aarch64 and for musl. Needs PyPI.
wheels: dist $(addprefix dist-,$(LINUX_ELSEWHERE))
	sh packaging/wheel.sh $(T)/dist
	for system in $(LINUX_ELSEWHERE); do sh packaging/wheel.sh $(T)/dist $$system || exit; done

# Needs PyPI for the wheel. `packaging/release.sh --dry-run` after these makes no tag.
release: dist deb
	sh packaging/wheel.sh $(T)/dist && sh packaging/release.sh $(T)/dist

# Of the libraries that the other tests built, so that nothing is built twice; then a stranger's program with the tarball.
test-packages:
	@if sh tools/need.sh packages; then sh tools/need.sh lintian || true; sh tools/need.sh abi || true; \
	    ZTENSOR_QUICK=1 sh packaging/test.sh $(T)/packages; status=$$?; \
	    sh packaging/strangers.sh $(T)/packages && exit $$status; \
	else echo "packages: skipped: there is no cmake"; fi

# The model is what the demo converts, once.
test-ggml: libs
	@if sh tools/need.sh ggml; then \
	    [ -f $(T)/demo/model-zstd.zt ] || { $(BUILD_AS_TESTED); \
	    sh examples/demo.sh $(T)/lib $(T)/debug/zt $(T)/demo >$(T)/demo.log 2>&1 || true; }; \
	    sh examples/ggml/test.sh $(T)/lib $(T)/demo $(T)/ggml; status=$$?; \
	    $(BUILD_AS_TESTED); \
	    sh examples/gguf/test.sh $(T)/lib $(T)/debug/zt $(T)/ggml $(T)/gguf && exit $$status; \
	else echo "ggml: skipped: there is no C++ compiler"; fi

# ZT_FETCH=1 fetches the quantized model, too (253 MB), where make test-llama has not.
test-models: libs zt
	@sh tools/need.sh torch || true
	@model=$${ZT_MODEL:-$(T)/llama/gemma-3-270m-q4_k_m.gguf}; [ -f "$$model" ] && export ZT_MODEL="$$model"; \
	sh tests/models/run.sh $(T)/lib $(T)/release/zt $(T)/demo $(T)/ggml $(T)/models

test-safetensors-suite: libs
	@sh bindings/python/safetensors_suite/run.sh $(T)/lib $(T)/safetensors_suite

# The program is what the Rust tests build; the picture of the README is made of the model of the demo, where that is there.
test-report:
	@if sh tools/need.sh report; then $(BUILD_AS_TESTED) && \
	    model=$(T)/demo/model.safetensors; [ -f "$$model" ] || model=examples/data/minilm-small.safetensors; \
	    quantized=$${ZT_MODEL:-$(T)/llama/gemma-3-270m-q4_k_m.gguf}; [ -f "$$quantized" ] || quantized=; \
	    PYTHONDONTWRITEBYTECODE=1 python3 tests/report/test.py $(T)/debug/zt $(T)/report "$$model" $$quantized; \
	else echo "report: skipped: there is no chromium"; fi

# llama.cpp with one source file exchanged. It fetches 77 MB of source and a model of 253 MB, so it is no part of make test.
test-llama: libs zt
	@if sh tools/need.sh llama; then sh examples/gguf/test_llama.sh $(T)/lib $(T)/release/zt $(T)/llama; \
	else echo "llama: skipped: there is no cmake, C++ compiler or pip"; fi

# No part of make test: it compiles 130 crates and fetches 400 MB of programs to talk to.
test-remote: libs
	$(BUILD_AS_TESTED)
	@if sh tools/need.sh remote; then sh remote/servers.sh $(T)/remote_servers; fi; \
	    cd remote && ZT_LIB_DIR=$(T)/lib LD_LIBRARY_PATH=$(T)/lib ZT_REMOTE_SERVERS=$(T)/remote_servers \
	    ZT_PROGRAM=$(T)/debug/zt \
	    CARGO_TARGET_DIR=$(T)/remote $(CARGO) test --locked

# The library on other platforms, built with the minimum Rust version: emulated, or as this processor runs them. Debian's
# packages of compilers and emulators are installed as for any part; Rust's are unpacked, 1 GB, and not installed.
PLATFORMS ?= $(shell sed -n '/^\#/!s/	.*//p' tools/platforms/list.txt)
test-platforms: libs
	sh tools/platforms/test.sh $(T)/platforms $(PLATFORMS)

# The two that find the most: 32 bits, and the other byte order.
test-platforms-quick: libs
	QUICK=1 sh tools/platforms/test.sh $(T)/platforms i686 s390x

# The benchmark links the library that make libs stages, as a C program would.
bench-build: libs zt
	@sh tools/need.sh bench || true
	@if sh tools/need.sh runai; then sh tools/fetch_runai.sh $(T)/runai; fi
	cd benches && $(CARGO) fetch --locked
	cd benches && ZT_LIB_DIR=$(T)/lib CARGO_TARGET_DIR=$(T)/bench-build $(CARGO) build --release --locked
	@mkdir -p $(T)/bench

bench: bench-build
	$(T)/bench-build/release/ztensor-bench --dir $(T)/bench --json $(T)/bench/results.json --svg $(T)/bench/scale.svg; \
	    status=$$?; $(T)/bench-build/release/ztensor-bench --markdown $(T)/bench/results.json >$(T)/bench/results.md; exit $$status

# S3 from a server on this machine; its crates are libztensor_remote's. MIB and ROUNDS make it smaller.
bench-remote: libs
	@if sh tools/need.sh runai; then sh tools/fetch_runai.sh $(T)/runai; fi
	cd remote && ZT_LIB_DIR=$(T)/lib LD_LIBRARY_PATH=$(T)/lib CARGO_TARGET_DIR=$(T)/remote $(CARGO) bench --locked --bench s3

bench-quick: bench-build
	$(T)/bench-build/release/ztensor-bench --dir $(T)/bench --json $(T)/bench/quick.json --svg $(T)/bench/quick.svg --quick

header:
	ZT_BLESS=1 $(CARGO) test --locked --package ztensor-c --test header

install:
	@sh tools/need.sh install
	cmake -S . -B $(T)/install -DZTENSOR_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build $(T)/install
	DESTDIR=$(DESTDIR) cmake --install $(T)/install

install-remote: remote
	sh remote/install.sh $(T)/lib $(VERSION) "$(PREFIX)" "$(DESTDIR)"

clean:
	$(CARGO) clean

fmt:
	$(CARGO) fmt --all

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@cd remote && if $(CARGO) fetch --quiet --locked; then $(CARGO) fmt --check && \
	    ZT_LIB_DIR=$(T)/lib CARGO_TARGET_DIR=$(T)/remote $(CARGO) clippy --all-targets --locked -- -D warnings; \
	else echo "lint: skipped: remote/, whose crates cannot be had"; fi

docs: site
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# Doxygen counts a warning as a failure. Its site is made anew each time: that takes a second.
site:
	@if sh tools/need.sh site; then \
	    rm -rf $(T)/site && mkdir -p $(T)/site && ZT_VERSION=$(VERSION) ZT_SITE=$(T)/site doxygen docs/Doxyfile && \
	    test -f $(T)/site/html/index.html && echo "site: $(T)/site/html/index.html"; \
	else echo "site: skipped: there is no doxygen"; fi
