# Common part of the Makefiles in folders. They use the target folder, the version and the libraries of the
# Makefile above.
CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
CARGO_TARGET_DIR ?= ../target
override CARGO_TARGET_DIR := $(abspath $(CARGO_TARGET_DIR))
export CARGO_TARGET_DIR
MAKEFLAGS += --no-print-directory

T := $(CARGO_TARGET_DIR)
VERSION := $(shell sed -n 's/^version = "\([0-9.]*\)".*/\1/p' ../Cargo.toml | head -n 1)

.PHONY: help libs tools

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

libs:
	@$(MAKE) -C .. libs

tools:
	@$(MAKE) -C .. tools
