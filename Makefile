# Builds, tests and installs the library; `make help` lists the targets. Needs Rust, a C compiler and make.
# Some targets need more (tools/needs.txt). With ZT_INSTALL=1 or CI=true they install it with apt-get; otherwise they say
# what is missing and how to get it. tests/, bindings/, examples/, packaging/ and remote/ have Makefiles of their own.

CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
CARGO_TARGET_DIR ?= target
# One target folder for cargo, CMake and the projects that use the library, so that each thing is compiled once.
override CARGO_TARGET_DIR := $(abspath $(CARGO_TARGET_DIR))
export CARGO_TARGET_DIR CARGO
MAKEFLAGS += --no-print-directory

T := $(CARGO_TARGET_DIR)
VERSION := $(shell sed -n 's/^version = "\([0-9.]*\)".*/\1/p' Cargo.toml | head -n 1)

.PHONY: help build libs tools reading demo check test test-rust test-c test-valgrind test-sanitizers test-cmake \
    test-platforms fuzz-quick bench header install fmt lint docs msrv clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo 'make -C tests, bindings, examples, packaging or remote: list the targets of these folders'

# zt is built in another folder: cargo would build the libraries again if one folder had both.
build: libs ## build both libraries, in target/lib, and target/release/zt
	$(CARGO) build --release --package ztensor-tools --locked --target-dir $(T)/program
	@mkdir -p $(T)/release && ln -sf ../program/release/zt $(T)/release/zt

# cargo rustc, because cargo build does no link-time optimisation for a library that is an rlib, too.
libs: ## build both libraries
	$(CARGO) rustc --lib --package ztensor-c --release --crate-type cdylib,staticlib --locked
	@sh cmake/stage_libraries.sh $(T)/release $(T)/lib $(VERSION) --strip-debug

# HDF5 and ONNX are tested, too, by Rust 1.87 and later; the program that is shipped is without them.
IS_1_87 = $(shell rustc --version | awk '{ split($$2, part, "."); print (part[1] > 1 || part[2] >= 87) }')
TESTED = --workspace --locked $(if $(filter 1,$(IS_1_87)),--features ztensor-tools/compat)

# target/debug/zt and the examples in Rust, with the features of test-rust, so that nothing is compiled twice.
tools:
	$(CARGO) build --quiet $(TESTED) --bins --examples

# Links the archive of `make libs` again. Nothing is compiled.
reading: libs ## link the shared library without the functions that write, in target/reading
	sh cmake/link_reading.sh $(T)/lib $(T)/reading $(VERSION)

demo: build ## open, verify and read real files; convert a real model and load it from C
	sh examples/demo.sh $(T)/lib $(T)/release/zt $(T)/demo

check: lint ## what to run before a commit: lint, unit tests and C tests in C99
	CARGO_PROFILE_DEV_OPT_LEVEL=0 $(CARGO) test --workspace --lib --locked
	$(CARGO) test --workspace --bins --locked
	$(CARGO) build --lib --locked
	@sh cmake/stage_libraries.sh $(T)/debug $(T)/check $(VERSION)
	CFLAGS="-g -DZT_NOT_RELEASED" LANGUAGES=c99 ZT_STEP=7 sh c_tests/run.sh $(T)/check $(T)/c_tests/check

test: ## run every test that downloads less than 100 MB; say what is skipped, and why
	@sh tools/test_all.sh $(T)/test-logs $(CHECKS)

# The test of interoperability skips releases whose packages cannot be had. Unit tests are compiled without optimisation,
# which takes a minute less than it makes them longer.
test-rust: ## test the Rust crates
	@sh tools/need.sh interop && sh tests/interop/install.sh $(T)/interop; status=$$?; [ $$status = 0 ] || \
	    { [ $$status = 3 ] && echo "interop: skipped: the released Python packages cannot be had, see above"; }
	@sh tools/need.sh man || true
	status=0; CARGO_PROFILE_DEV_OPT_LEVEL=0 $(CARGO) test $(TESTED) --no-fail-fast --lib || status=1; \
	ZT_INTEROP_DIR=$(T)/interop $(CARGO) test $(TESTED) --no-fail-fast --bins --test '*' || status=1; \
	$(CARGO) test $(TESTED) --doc || status=1; exit $$status

# Each language with one of the libraries: what they share does not depend on the language.
test-c: reading tools ## run the C and C++ tests against both libraries, and the example programs
	@sh tools/need.sh c++ || true
	sh tools/at_once.sh "LANGUAGES=c99 LIBRARIES=shared sh c_tests/run.sh $(T)/lib $(T)/c_tests/c99" \
	    "LANGUAGES=c++17 LIBRARIES=static sh c_tests/run.sh $(T)/lib $(T)/c_tests/c++17"
	sh c_tests/reading.sh $(T)/reading $(T)/c_tests/reading
	@if command -v python3 >/dev/null; then python3 tools/check_statuses.py $(T)/lib $(T)/c_tests/statuses; \
	else echo "statuses: skipped: there is no python3"; fi
	sh examples/run.sh $(T)/lib $(T)/examples $(T)/debug

test-valgrind: libs ## run the C tests under valgrind
	@if sh tools/need.sh valgrind; then sh tools/valgrind_c_tests.sh $(T)/lib $(T)/c_tests_valgrind; \
	else echo "valgrind: skipped: there is no valgrind"; fi

test-sanitizers: ## run the C tests under AddressSanitizer and ThreadSanitizer
	@if sh tools/need.sh sanitizers; then \
	    sh tools/at_once.sh "sh tools/sanitize.sh $(T)/sanitizers/address address" \
	        "sh tools/sanitize.sh $(T)/sanitizers/thread thread"; \
	else echo "sanitizers: skipped: there is no gcc"; fi

# Of the C tests those that need something of CMake: flags of threads and of the linker. `make test-c` runs all of them.
CMAKE_PROGRAMS := library;open;threads;writer_stream;fault_read
test-cmake: ## run some of ctest, and projects that use the installed library
	@if sh tools/need.sh cmake; then \
	    cmake -S . -B $(T)/cmake '-DZT_TEST_PROGRAMS=$(CMAKE_PROGRAMS)' && cmake --build $(T)/cmake --parallel 2 && \
	    cd $(T)/cmake && ctest --parallel 2 --output-on-failure --no-tests=error; \
	else echo "cmake: skipped: there is no cmake"; fi
	sh tests/consumers/run.sh $(T)/consumers

# Debian's compilers and emulators are installed like other packages; Rust's are unpacked, 1 GB, and not installed.
# QUICK=1 takes the two that find the most: 32 bits, and the other byte order.
PLATFORMS ?= $(if $(QUICK),i686 s390x,$(shell sed -n '/^\#/!s/	.*//p' tools/platforms/list.txt))
test-platforms: libs ## test other platforms, emulated where needed: PLATFORMS="s390x i686", QUICK=1
	sh tools/platforms/test.sh $(T)/platforms $(PLATFORMS)

fuzz-quick: ## run every fuzz target for 3,000 inputs
	@if sh tools/need.sh fuzz; then sh tools/fuzz_quick.sh $(T)/fuzz; \
	else echo "fuzz: skipped: there is no C++ compiler"; fi

# The benchmark links the library that make libs stages, as a C program would.
bench: build ## measure the library beside its peers and the machine's limits; QUICK=1: smaller, two minutes
	@sh tools/need.sh bench || true
	@if sh tools/need.sh runai; then sh tools/fetch_runai.sh $(T)/runai; sh tools/fetch_gguf_py.sh $(T)/gguf-py; fi
	cd benches && $(CARGO) fetch --locked
	cd benches && ZT_LIB_DIR=$(T)/lib CARGO_TARGET_DIR=$(T)/bench-build $(CARGO) build --release --locked
	@mkdir -p $(T)/bench
	@cd $(T)/bench; bench=$(T)/bench-build/release/ztensor-bench; \
	if [ -n "$(QUICK)" ]; then $$bench --dir . --json quick.json --svg quick.svg --quick; \
	else $$bench --dir . --json results.json --svg scale.svg; status=$$?; \
	    $$bench --markdown results.json >results.md; exit $$status; fi

header: ## generate include/ztensor.h from src/capi
	ZT_BLESS=1 $(CARGO) test --locked --package ztensor-c --test repository header

install: build ## install libraries, headers and zt under PREFIX, staged under DESTDIR
	@sh cmake/install.sh "$(T)/lib" "$(T)/release/zt" "$(PREFIX)" "$(DESTDIR)"

# remote, fuzz and benches are workspaces of their own.
FORMAT = for folder in . remote fuzz benches; do (cd $$folder && $(CARGO) fmt --all $(1)) || exit 1; done

fmt: ## format the Rust code
	@$(call FORMAT)

lint: ## check formatting; clippy without warnings
	@$(call FORMAT,--check)
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# The site is in target/site/html. Doxygen counts a warning as a failure.
docs: ## make the site and the Rust documentation; compare docs/dependencies.md with the crates
	@if sh tools/need.sh site; then \
	    rm -rf $(T)/site && mkdir -p $(T)/site && ZT_VERSION=$(VERSION) ZT_SITE=$(T)/site doxygen docs/Doxyfile && \
	    test -f $(T)/site/html/index.html && echo "site: $(T)/site/html/index.html"; \
	else echo "site: skipped: there is no doxygen"; fi
	@if command -v python3 >/dev/null; then python3 tools/check_dependencies.py; \
	else echo "dependencies: skipped: there is no python3"; fi
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

msrv: libs ## compile with the minimum Rust version
	@sh tools/msrv.sh

clean: ## remove what was built
	$(CARGO) clean
