# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# memtap's one makefile. `make help` lists the targets.
#
#   make          build/memtap and build/libmemtap.a (everything but main)
#   make demo     install what is missing, build, show the main job
#   make check    install what is missing, build, run every test
#
# V=1 shows the commands. SAN=1 builds with the address and undefined-behaviour sanitizers
# into a directory of its own, for any target: `make SAN=1 check`. ARCH=arm64 builds for that
# machine into build/arm64, with Debian's cross compiler and that architecture's packages, which are
# unpacked into the cache: `make ARCH=arm64 unit-check` runs its unit tests in qemu-user.

ifdef ARCH
ifneq ($(ARCH),arm64)
$(error ARCH=$(ARCH): arm64 is the only machine to cross to)
endif
MACHINE  := aarch64
CROSS    := $(MACHINE)-linux-gnu-
BUILD    ?= build/$(ARCH)$(if $(SAN),-san)
ROOT     := `scripts/foreign-root $(ARCH) build`
CC       := $(CROSS)gcc
CXX      := $(CROSS)g++
AR       := $(CROSS)ar
LD       := $(CROSS)ld
OBJCOPY  := $(CROSS)objcopy
SYSROOT  := --sysroot=$(ROOT)
# The packages' own, before those of Debian's cross compiler, which are older.
HEADERS  := -nostdinc -isystem `$(CC) -print-file-name=include` \
	    -isystem $(ROOT)/usr/include/$(MACHINE)-linux-gnu -isystem $(ROOT)/usr/include
TARGET_CLANG := --target=$(MACHINE)-linux-gnu $(SYSROOT)
# With which its programs run here: what they say of their options is asked of themselves.
RUNNER   := qemu-$(MACHINE)-static -cpu max,pauth-impdef=on -L $(ROOT)
else
MACHINE  != uname -m
endif

comma    := ,
ifdef SAN
BUILD    ?= build/san
OPT      ?= -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
else ifdef COV
BUILD    ?= build/cov
OPT      ?= -O0 -g --coverage -fprofile-update=atomic
else
BUILD    ?= build
OPT      ?= -O2 -g -fno-plt -ffunction-sections -fdata-sections -Wl,--gc-sections \
	    $(if $(filter x86_64,$(MACHINE)),-Wl$(comma)-z$(comma)pack-relative-relocs) \
	    -falign-functions=1 -falign-jumps=1 -falign-loops=1
# Code is read from disk before it runs, most of it once: 50 KB less than with places aligned.
# Nothing in the program unwinds its own stack, and debuggers have .debug_frame: 150 KB less.
TABLES   ?= -fno-asynchronous-unwind-tables
# What Debian 12 asks for; a start takes 26,000 instructions (5 in 100) and 5 pages more for it.
# -fcf-protection would have no effect: the archive of zlib is built without.
HARDEN   ?= -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now
ORDER    := mk/start.ld
LAYOUT   := mk/tables.ld $(ORDER)
NO_FRAMES := -Wl,--no-eh-frame-hdr
endif

CC       ?= gcc
CLANG    ?= clang
GO       ?= go
PREFIX   ?= /usr/local
CFLAGS   ?=
WARN     := -Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wundef -Wstrict-prototypes \
	    -Wmissing-prototypes -Wwrite-strings -Wpointer-arith -Wold-style-definition \
	    -Wcast-qual
CPPFLAGS += -Isrc -Iinclude -D_GNU_SOURCE
# A square root is an instruction, not a call into libm.
STD      := -std=gnu11 -fno-math-errno
ALL_CFLAGS = $(SYSROOT) $(STD) $(CPPFLAGS) $(WARN) $(OPT) $(HARDEN) $(CFLAGS)
# The archives Debian ships are linked in: each shared library would cost every start its
# relocations and pages. libc stays shared.
LIBS     := -Wl,-Bstatic -lz -liberty -Wl,-Bdynamic
# What unit tests ask the same question.
TEST_LIBS := -Wl,--as-needed -lbpf -lelf
ifdef SAN
# The leak checker of GCC 12 can not look through libraries with thread-local data that are loaded
# later, as libdw is; here it is loaded at the start.
LIBS     += -Wl,--no-as-needed -ldw -Wl,--as-needed
endif
ifdef COV
LIBS     += -lm # -O0 calls sqrt()
endif
FUZZ_SECONDS ?= 60

ifdef V
Q :=
say = @:
else
Q := @
say = @printf '  %-5s %s\n'
endif

# ---- what there is ---------------------------------------------------------------------------

# What runs in other processes is linked alone.
SAMPLER  := src/inject/sampler
SRC      := $(filter-out $(SAMPLER).c,$(wildcard src/*.c src/*/*.c src/*/*/*.c))
OBJ      := $(SRC:src/%.c=$(BUILD)/obj/%.o)
# The tools and what they import, packed: C that scripts/pack-tools writes from them.
TOOLS    := $(sort $(wildcard tools/*.bt))
TOOL_LIB := $(sort $(wildcard tools/*/*.bt))
# Last, so that a tool is found without unpacking them.
PAGES    := docs/language.md docs/troubleshooting.md
PACKED   := $(BUILD)/packed_tools.c
PACKED_H := src/cmd/tools.h src/lang/infer/constants.h src/out/page.h src/inject/sampler.h \
	    src/out/flame.h
PACK     := scripts/pack scripts/strip-comments
# What a browser is given; with them goes uPlot.
PAGE     := $(addprefix src/web/page/,index.html page.css page.js)
CONSTANTS := src/arch/$(MACHINE)_constants.txt
LIB_OBJ  := $(filter-out $(BUILD)/obj/main.o,$(OBJ)) $(BUILD)/obj/packed_tools.o \
	    $(BUILD)/obj/packed_constants.o $(BUILD)/obj/packed_sampler.o \
	    $(BUILD)/obj/packed_page.o $(BUILD)/obj/packed_flame_js.o \
	    $(BUILD)/obj/packed_flame_css.o

# Those that hold one machine's code or registers say "Only on" which, at their head.
ONLY_ON  != grep -l '^ \* Only on' tests/unit/test_*.c
ONLY_HERE != grep -l '^ \* Only on $(MACHINE):' tests/unit/test_*.c
UNIT_SRC := $(filter-out $(ONLY_ON),$(wildcard tests/unit/test_*.c)) $(ONLY_HERE)
UNIT     := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(UNIT_SRC))
# Helpers of the unit tests: any other file there, and the bytecode interpreter.
AID_OBJ  := $(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,\
	    $(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c tests/interp/*.c)))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
REPLAY   := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(BUILD)/tests/replay/fuzz_%)
FUZZ     := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(BUILD)/fuzz/fuzz_%)
FUZZ_OBJ := $(filter-out %/main.o,$(SRC:src/%.c=$(BUILD)/fuzz/obj/%.o)) \
	    $(BUILD)/fuzz/obj/packed_tools.o $(BUILD)/fuzz/obj/packed_constants.o \
	    $(BUILD)/fuzz/obj/packed_sampler.o $(BUILD)/fuzz/obj/packed_page.o \
	    $(BUILD)/fuzz/obj/packed_flame_js.o $(BUILD)/fuzz/obj/packed_flame_css.o
EXAMPLES := $(BUILD)/examples/itest
PROGS    := $(patsubst tests/run/progs/%.c,$(BUILD)/tests/progs/%,\
	    $(filter-out $(if $(ARCH),%/sites.c %/vectors.c),$(wildcard tests/run/progs/*.c))) \
	    $(BUILD)/tests/progs/shapes $(BUILD)/tests/progs/blocks
GO_PROG  := $(BUILD)/tests/progs/cache_go
PROGS    += $(BUILD)/tests/progs/namespaces $(BUILD)/tests/progs/leaks_new
ifndef ARCH
PROGS    += $(addprefix $(BUILD)/tests/progs/,leaks_musl leaks_musl_pie leaks_musl_shared)
PROGS    += $(addprefix $(BUILD)/tests/progs/,heaps_musl maps_musl news news_tcmalloc news_mimalloc)
endif
CGO_PROG := $(BUILD)/tests/progs/cgo
# BPF objects whose relocations the unit tests evaluate, and a BTF made up for them.
CORE_OBJ := $(patsubst tests/core/%.c,$(BUILD)/tests/core/%.o,$(wildcard tests/core/*.c)) \
	    $(BUILD)/tests/core/made.bpf.eb.o $(BUILD)/tests/core/target.eb.o

# Targets that fetch what they need first: then nothing is compiled before set-up is done.
SETUP_demo := build demo
SETUP_check := build test static
SETUP_tests := build test
SETUP_run-check := build test
SETUP_vm-check := build test vm $(if $(ARCH),vm-$(ARCH))
SETUP_coverage := build test
SETUP_mutants := build test
SETUP_fuzz := build lint
SETUP_hostile := build test
SETUP_lint := build lint
SETUP_cross-check := build cross
SETUP_big-endian := big-endian
SETUP_fresh := fresh
SETUP_static := build static
SETUP_static-check := build test static
SETUP_completions := build
SETUP_dist := build static cross-arm64
SETUP_package-check := build static package
SETUP_bench := build test vm bench
SETUP_soak-heap := build test
SETUP_heap-check := build test heap
SETUP_moves := build test
SETUP_bench-heap := build test bench
SETUP_bench-tools := build test vm bench
SETUP_bench-caches := build test
SETUP_bench-serve := build test exporter
SETUP_soak-serve := build test
SETUP_junk := build test
SETUP_page-compare := build test
SETUP_newer-check := build test fresh
SETUP_stacks := build test
SETUP := $(sort $(foreach g,$(MAKECMDGOALS),$(SETUP_$(g))))
ifeq ($(filter check,$(MAKECMDGOALS))$(SAN),check)
SETUP += vm
endif
SETUP += $(if $(ARCH),cross-$(ARCH))
READY := $(if $(SETUP),setup)

# Less to read at a start counts for more than speed where people are waited for (commands, screens,
# pictures, reports), where the kernel takes the time (attaching), and for what is done once for a
# script or a name. What dumps all of a kernel's types is for speed, and so is what events pass.
ifndef SAN
SMALL := $(filter src/cmd/% src/view/% src/memstat/% src/ui/% src/kern/% src/world/%,$(SRC))
SMALL += $(filter src/lang/probe/% src/lang/type/% src/sym/% src/read/%,$(SRC))
SMALL += $(filter src/lang/parse/event_% src/lang/parse/fmt.c src/lang/parse/ast_print.c,$(SRC))
SMALL += $(filter src/lang/parse/macro.c src/lang/parse/import.c src/lang/infer/infer_call_%,$(SRC))
SMALL += $(filter src/lang/infer/infer_cdef.c src/lang/infer/infer_cpp.c,$(SRC))
SMALL += $(filter src/lang/parse/parse_probe.c src/lang/infer/infer_take.c,$(SRC))
SMALL += $(filter src/lang/infer/infer_getopt.c src/bpf/dis.c src/unit/unit_dump.c,$(SRC))
SMALL += $(filter src/unit/object% src/unit/template.c src/unit/format.c src/unit/flags.c,$(SRC))
SMALL += $(filter src/elf/dwarf_% src/elf/usdt.c src/elf/plt.c src/elf/pclntab.c,$(SRC))
SMALL += $(filter src/elf/site.c src/elf/xz.c src/elf/zip.c src/elf/ldcache.c,$(SRC))
SMALL += $(filter src/base/opt.c src/base/caps.c src/base/file.c src/cache/sizing%,$(SRC))
SMALL += $(filter src/cache/report.c src/cache/missed.c src/out/flame% src/out/tree%,$(SRC))
SMALL += $(filter src/out/bars.c src/out/series.c src/out/csv.c src/out/formats.c,$(SRC))
SMALL += $(filter src/out/page.c src/web/stream.c,$(SRC))
SMALL += $(filter src/run/session.c src/run/unwind.c src/run/graph.c src/run/testing.c,$(SRC))
SMALL += $(filter src/run/failures.c src/run/file_watch.c src/run/child.c src/run/tracee.c,$(SRC))
SMALL += $(filter src/gen/%,$(SRC))
SMALL += $(filter src/run/view.c src/run/names.c src/run/output.c src/run/site_func.c,$(SRC))
SMALL := $(filter-out src/cmd/btf/cmd_btf_% src/view/cache_feed.c src/kern/kern_lane.c,$(SMALL))
$(SMALL:src/%.c=$(BUILD)/obj/%.o): OPT += -Os
# What it calls once is not to have its room on the stack while a script runs.
$(BUILD)/obj/cmd/cmd_run.o: OPT += -fconserve-stack
endif

# ---- building --------------------------------------------------------------------------------

.PHONY: all setup help
all: $(BUILD)/memtap $(BUILD)/libmemtap.a

setup:
	$(Q)scripts/setup $(if $(SETUP),$(SETUP),build)

help:
	@sed -n 's/^#   \(make.*\)/\1/p; s/^## //p' Makefile mk/*.mk

$(BUILD)/memtap: $(BUILD)/obj/main.o $(BUILD)/libmemtap.a $(LAYOUT)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(LAYOUT:%=-Wl,-T,%) $(NO_FRAMES) -o $@ \
		$(filter-out $(LAYOUT),$^) $(LIBS)

$(BUILD)/libmemtap.a: $(LIB_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Written anew when there are more or fewer tools.
.PHONY: force
$(BUILD)/tools.list: force
	$(Q)mkdir -p $(@D)
	$(Q)echo $(TOOL_LIB) $(TOOLS) | cmp -s - $@ || echo $(TOOL_LIB) $(TOOLS) >$@

# Written anew when there is another commit, or files are changed.
$(BUILD)/commit.h: force
	$(Q)mkdir -p $(@D)
	$(Q)scripts/commit >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/obj/cmd/version.o: $(BUILD)/commit.h
$(BUILD)/obj/cmd/version.o: CPPFLAGS += -include $(BUILD)/commit.h

$(PACKED): $(TOOL_LIB) $(TOOLS) $(PAGES) $(BUILD)/tools.list scripts/pack-tools | $(READY)
	$(say) PACK $@
	$(Q)scripts/pack-tools $(TOOL_LIB) $(TOOLS) $(PAGES) >$@.new && mv $@.new $@

# Where uPlot is, which may come later.
$(BUILD)/uplot.path: force | $(READY)
	$(Q)mkdir -p $(@D)
	$(Q)scripts/npm-package --look >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/packed_page.c: $(PAGE) $(BUILD)/uplot.path scripts/pack-page $(PACK) | $(READY)
	$(say) PACK $@
	$(Q)scripts/pack-page "$$(cat $(BUILD)/uplot.path)" $(PAGE) >$@.new && mv $@.new $@

$(BUILD)/packed_constants.c: $(CONSTANTS) $(PACK) | $(READY)
	$(say) PACK $@
	$(Q)scripts/pack constants lang/infer/constants.h $< >$@.new && mv $@.new $@

$(BUILD)/packed_flame_%.c: src/out/flame.% $(PACK) | $(READY)
	$(say) PACK $@
	$(Q)scripts/pack flame_$* out/flame.h $< >$@.new && mv $@.new $@

# Without anything of a library, in general registers alone, as it is wherever it comes to lie.
THUNKS   := src/arch/$(MACHINE)_sampler.S
$(BUILD)/sampler.elf: $(SAMPLER).c $(SAMPLER).ld $(wildcard $(THUNKS) $(SAMPLER)*.h) Makefile \
		| $(READY)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
ifeq ($(MACHINE),x86_64)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(WARN) -O2 -fPIC -fvisibility=hidden -ffreestanding -fno-lto \
		-mgeneral-regs-only -fno-stack-protector -fcf-protection=none -fno-jump-tables \
		-fasynchronous-unwind-tables -c -o $@.o $<
	$(Q)$(CC) -c -o $@.thunks.o $(THUNKS)
	$(Q)$(LD) -static -nostdlib -z noexecstack -z max-page-size=4096 --build-id=none -e 0 \
		-T $(SAMPLER).ld -o $@ $@.o $@.thunks.o
else
	$(Q): >$@
endif

$(BUILD)/packed_sampler.c: $(BUILD)/sampler.elf $(PACK)
	$(say) PACK $@
	$(Q)scripts/pack sampler inject/sampler.h $< >$@.new && mv $@.new $@

$(BUILD)/obj/packed_%.o: $(BUILD)/packed_%.c $(PACKED_H) Makefile | $(READY)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/fuzz/obj/packed_%.o: $(BUILD)/packed_%.c $(PACKED_H) Makefile | $(READY)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(CPPFLAGS) $(FUZZ_FLAGS) -c -o $@ $<

$(BUILD)/obj/%.o: src/%.c Makefile | $(READY)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(TABLES) -MMD -MP -c -o $@ $<

$(BUILD)/obj/tests/%.o: tests/%.c Makefile | $(READY)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -Wno-missing-prototypes -Wno-cast-qual -MMD -MP -c -o $@ $<

$(BUILD)/libaid.a: $(AID_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libaid.a $(BUILD)/libmemtap.a
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(TEST_LIBS) -lcmocka
# Where another library is asked the same question.
$(BUILD)/tests/unit/test_shards $(BUILD)/tests/unit/test_heap: TEST_LIBS += -lm
$(BUILD)/tests/unit/test_hook: TEST_LIBS += -lZydis
$(BUILD)/tests/unit/test_ehframe_libdw $(BUILD)/tests/unit/test_unwind_libdwfl: TEST_LIBS += -ldw

# Scripts in the interpreter, for tests/diff.
$(BUILD)/tests/lab_run: $(BUILD)/obj/tests/diff/lab_run.o $(BUILD)/libaid.a $(BUILD)/libmemtap.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The screen of mctop over calls made up, for tests/run/scenarios/ui.py.
$(BUILD)/tests/hot_demo: $(BUILD)/obj/tests/ui/hot_demo.o $(BUILD)/libmemtap.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# A fuzz target with a plain main that feeds it the files of its corpus.
$(BUILD)/tests/replay/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay.o \
			 $(BUILD)/libaid.a $(BUILD)/libmemtap.a
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# Programs that are looked at: always plain -O2, whatever memtap itself is built with.
TARGET_CFLAGS := $(SYSROOT) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fno-ipa-icf
$(BUILD)/examples/%: examples/lru/%.c Makefile | $(READY)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $<

# Variables by their names: gcc for arm64 knows them by their distance from a label, else.
$(BUILD)/tests/progs/probes: TARGET_CFLAGS += -fno-section-anchors
$(BUILD)/tests/progs/%: tests/run/progs/%.c Makefile | $(READY)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $< -pthread

$(BUILD)/tests/progs/leaks_new: tests/run/progs/leaks_new.cc Makefile | $(READY)
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(SYSROOT) -std=c++17 -O2 -g -Wall -Wextra -o $@ $<

MUSL_CFLAGS := -D_GNU_SOURCE -O2 -g -Wall -Wextra
$(BUILD)/tests/progs/%_musl: tests/run/progs/%.c Makefile | $(READY)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)musl-gcc -static $(MUSL_CFLAGS) -o $@ $<

# As it is, and linked with an allocator, without the packages to develop with that.
NEWS := $(addprefix $(BUILD)/tests/progs/news,_tcmalloc _mimalloc)
$(BUILD)/tests/progs/news_tcmalloc: NEWS_LIB = tcmalloc_minimal
$(BUILD)/tests/progs/news_mimalloc: NEWS_LIB = mimalloc
$(BUILD)/tests/progs/news_mimalloc: NEWS_FLAGS = -DNEW_ABORTS
$(BUILD)/tests/progs/news $(NEWS): tests/run/progs/news.cc Makefile | $(READY)
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -g -Wall -Wextra $(NEWS_FLAGS) -o $@ $< -Wl,--no-as-needed \
		$$(ls /usr/lib/x86_64-linux-gnu/lib$(NEWS_LIB).so.* 2>/dev/null | head -n 1)

$(CGO_PROG): tests/run/cgo/main.go tests/run/cgo/go.mod | $(READY)
	$(say) GO $@
	$(Q)mkdir -p $(@D)
	$(Q)cd $(<D) && GOCACHE=$(abspath build)/go-cache GOPATH=$(abspath build)/go-path \
		GO111MODULE=on GOFLAGS=-mod=mod GOPROXY=off CGO_ENABLED=1 \
		$(GO) build -o $(abspath $@) .

# Its wrapper of gcc does not know -static-pie.
MUSL := /usr/lib/x86_64-linux-musl
$(BUILD)/tests/progs/leaks_musl_pie: tests/run/progs/leaks.c Makefile | $(READY)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)musl-gcc -static -fPIE -nostartfiles -Wl,-pie,--no-dynamic-linker,-z,text \
		$(MUSL_CFLAGS) -o $@ $(MUSL)/rcrt1.o $(MUSL)/crti.o $< $(MUSL)/crtn.o

$(BUILD)/tests/progs/leaks_musl_shared: tests/run/progs/leaks.c Makefile | $(READY)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)musl-gcc $(MUSL_CFLAGS) -o $@ $<

$(BUILD)/tests/progs/blocks: tests/run/progs/blocks.cc Makefile | $(READY)
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(SYSROOT) -O2 -g -Wall -Wextra -o $@ $< -pthread

# In the other byte order.
$(BUILD)/tests/core/%.eb.o: tests/core/%.c tests/core/core.h Makefile | $(READY)
	$(say) BPF $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpfeb -O2 -g -Wall -c -o $@ $<

$(BUILD)/tests/core/%.o: tests/core/%.c tests/core/core.h Makefile | $(READY)
	$(say) BPF $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -O2 -g -Wall -c -o $@ $<

# C++ without its library: clang, which the tests need anyway, compiles it alone.
$(BUILD)/tests/progs/shapes: tests/run/progs/shapes.cc Makefile | $(READY)
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(TARGET_CLANG) -O1 -g -Wall -Wextra -o $@ $<

$(GO_PROG): $(wildcard tests/run/go/*.go tests/run/go/*/*.go tests/run/go/go.mod) | $(READY)
	$(say) GO $@
	$(Q)mkdir -p $(@D)
	$(Q)cd tests/run/go && GOCACHE=$(abspath build)/go-cache GOPATH=$(abspath build)/go-path \
		$(if $(ARCH),GOARCH=$(ARCH)) \
		GO111MODULE=on GOFLAGS=-mod=mod GOPROXY=off CGO_ENABLED=0 \
		$(GO) build -o $(abspath $@) .

$(BUILD)/tests/progs/namespaces: tests/run/progs/namespaces.cc Makefile | $(READY)
	$(say) CXX $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(SYSROOT) -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
		-Wall -Wextra -o $@ $<

-include $(OBJ:.o=.d) $(AID_OBJ:.o=.d) $(patsubst tests/%.c,$(BUILD)/obj/tests/%.d,\
	 $(wildcard tests/unit/*.c tests/fuzz/*.c tests/diff/*.c tests/ui/*.c)) $(FUZZ_OBJ:.o=.d)

.SECONDARY:

# ---- demo, tests -----------------------------------------------------------------------------

.PHONY: demo check unit-check run-check vm-check tests
## make demo      trace a small LRU cache with one line, draw the sizes it stores; then mctop
demo: $(BUILD)/memtap $(EXAMPLES) $(BUILD)/tests/progs/cacheload
	@echo "memtap -e 'uprobe:./itest:cache_insert {@bytes=lhist(arg2, 0 , 16384, 128)}'" \
		"-c './itest 100'"
	@cd $(BUILD)/examples && $(abspath $(BUILD))/memtap \
		-e 'uprobe:./itest:cache_insert {@bytes=lhist(arg2, 0 , 16384, 128)}' \
		-c './itest 100'
	@scripts/demo-cache $(BUILD)/memtap $(BUILD)/tests/progs/cacheload

tests: all $(UNIT) $(REPLAY) $(CORE_OBJ) $(EXAMPLES) $(PROGS) $(GO_PROG) $(BUILD)/tests/lab_run \
       $(BUILD)/tests/hot_demo

## make check     every test, ending with one line of totals; in parts: unit-check, run-check
check: tests
	$(Q)tests/check --build $(BUILD) $(if $(SAN),--sanitized)
unit-check: all $(UNIT) $(REPLAY) $(CORE_OBJ)
	$(Q)tests/check --build $(BUILD) $(if $(ARCH),--arch $(ARCH) --runner "$(RUNNER)") \
		unit corpus
run-check: all $(EXAMPLES) $(PROGS) $(GO_PROG) $(CORE_OBJ) $(BUILD)/tests/hot_demo \
	   $(BUILD)/tests/unit/test_btf_load \
	   $(BUILD)/tests/unit/test_btf_libbpf
	$(Q)tests/check --build $(BUILD) $(if $(SAN),--sanitized) run bad
## make vm-check  the end-to-end cases on the release's kernel, in qemu (or KERNEL=5.10 ... 7.2)
vm-check: tests
	$(Q)tests/check --build $(BUILD) $(if $(KERNEL),--kernel $(KERNEL)) \
		$(if $(ARCH),--arch $(ARCH)) vm

## make coverage  lines and branches that unit, corpus, diff, run and bad go through, by folder
.PHONY: coverage
coverage:
	$(Q)$(MAKE) --no-print-directory COV=1 tests
	$(Q)find build/cov -name '*.gcda' -delete
	$(Q)tests/check --build build/cov --factor 4 unit corpus diff run bad || \
		echo "coverage: some tests fail in this build; see above"
	$(Q)scripts/coverage build/cov

## make mutants   changes one thing at a time in the engine and says which no test notices (hours)
.PHONY: mutants
mutants: tests
	$(Q)scripts/mutants $(MUTANTS)

.PHONY: fresh
## make fresh     `make demo` and `make check` of HEAD on machines nobody has used: in new roots of
##                Debian 12 and 13 (RELEASE=trixie: of that alone; scripts/fresh --help)
fresh: | $(READY)
	$(Q)scripts/fresh $(RELEASE)

.PHONY: stacks golden tools-index resp-commands language constants
## make tools-index    write the tables of the tools anew: README.md, docs/tools/README.md
tools-index: $(BUILD)/memtap
	$(Q)scripts/tools-index $(BUILD)/memtap

## make language       write the headings of docs/language.md anew, from the compiler's tables
language: $(BUILD)/memtap
	$(Q)scripts/language-reference $(BUILD)/memtap

## make resp-commands  write the table of Redis' commands anew, by asking servers (fetches packages)
resp-commands:
	$(Q)scripts/resp-commands $(BUILD)/resp

## make constants  write the table of integer macros anew, from the headers of this machine
constants:
	$(Q)CC="$(CC) $(HEADERS)" scripts/constants \
		$(CONSTANTS:_constants.txt=_kernel_constants.txt) >$(CONSTANTS).new
	$(Q)mv $(CONSTANTS).new $(CONSTANTS)

## make stacks    write the table of docs/stacks.md anew: stacks of stock programs beside gdb's
stacks: all $(PROGS) $(GO_PROG)
	$(Q)tests/stacks --build $(BUILD) --write docs/stacks.md

## make golden    write tests/gen/*.bpf anew; read the difference before committing it
golden: $(BUILD)/tests/unit/test_gen_golden
	$(Q)MEMTAP_GOLDEN=write $<

# ---- fuzzing ---------------------------------------------------------------------------------

FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
$(BUILD)/fuzz/obj/%.o: src/%.c Makefile | $(READY)
	$(say) FUZZ $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/libmemtap.a: $(FUZZ_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The machine made of files that scripts are compiled against.
FUZZ_AID := $(BUILD)/fuzz/obj/tests/unit/fake_world.o $(BUILD)/fuzz/obj/tests/unit/btf_build.o \
	    $(BUILD)/fuzz/obj/tests/interp/check.o
$(BUILD)/fuzz/obj/tests/%.o: tests/%.c Makefile | $(READY)
	$(say) FUZZ $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(STD) $(CPPFLAGS) -Itests $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/libaid.a: $(FUZZ_AID)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/fuzz/libaid.a $(BUILD)/fuzz/libmemtap.a
	$(say) LINK $@
	$(Q)$(CLANG) $(STD) $(CPPFLAGS) -Itests $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

.PHONY: fuzz lint bench install uninstall clean
## make fuzz      each fuzz target for FUZZ_SECONDS (60); finds are left in build/fuzz/
fuzz: $(FUZZ)
	$(Q)scripts/fuzz $(FUZZ_SECONDS) $(FUZZ)

.PHONY: hostile
## make hostile   files, names and moments made to hurt (docs/security.md), all rounds of them;
##                with KERNEL=6.1 (or 5.10, 6.12, 7.2) 2,000 random scripts on that kernel
ifdef KERNEL
hostile: all $(PROGS)
	$(Q)python3 -B tests/diff/kernels.py $(BUILD) $(KERNEL)
else
hostile: all $(PROGS) $(REPLAY) $(UNIT)
	$(Q)HOSTILE=1 tests/check --build $(BUILD) --only \
		'hostile|^(test_)?(elf|file|jit|pclntab|usdt|perfmap|debugdata|zip)$$' \
		unit corpus run
endif

.PHONY: junk
## make junk      junk on the port of memtap serve for five minutes (JUNK_SECONDS)
junk: all
	$(Q)JUNK_SECONDS=$${JUNK_SECONDS:-300} tests/check --build $(BUILD) --only 'serve junk' run

.PHONY: page-compare
## make page-compare   two times compared on the live page; three minutes
page-compare: all
	$(Q)PAGE_COMPARE=1 tests/check --build $(BUILD) --only 'page compares' run

.PHONY: newer-check
## make newer-check   memtap serve with Debian 13's prometheus, vmagent and victoria-metrics
newer-check: all
	$(Q)scripts/newer-servers $(abspath $(BUILD))/newer
	$(Q)NEWER=$(abspath $(BUILD))/newer tests/check --build $(BUILD) --only 'serve newer' run

.PHONY: differential
## make differential   random scripts in the interpreter, the kernel and bpftrace (MEMTAP_SEED)
differential: all $(BUILD)/tests/lab_run
	$(Q)python3 -B tests/diff/run.py $(BUILD)

$(BUILD)/bench/%: bench/%.c $(BUILD)/libmemtap.a
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# ---- house -----------------------------------------------------------------------------------

## make lint      include rules, SPDX lines, function lengths, clang-format, clang-tidy, cppcheck
lint: | $(READY)
	$(Q)scripts/lint

## make cross-check   compiles src/ for arm64, up to src/arch/ (MACHINE=aarch64)
.PHONY: cross-check
cross-check: | $(READY)
	$(Q)scripts/cross-check $(MACHINE)

## make big-endian   unit tests of the readers of foreign bytes, for s390x, in qemu-user
.PHONY: big-endian
big-endian: | $(READY)
	$(Q)scripts/big-endian $(BUILD)/s390x

## make bench     tables beside bpftrace, libbpf and bpftool: start-up, memory, cost per event
bench: all static $(EXAMPLES) $(PROGS) $(BUILD)/bench/names $(BUILD)/bench/floor bench-btf \
       bench-tools
	$(Q)bench/bench --build $(BUILD)
	$(Q)bench/caches --build $(BUILD)

.PHONY: soak-heap
## make soak-heap     memtap heap's code into a busy process and out (ROUNDS, SOAK_THREADS)
ROUNDS ?= 10000
SOAK_THREADS ?= 12
soak-heap: $(BUILD)/bench/heap_soak $(BUILD)/tests/progs/churn
	$(Q)$(BUILD)/bench/heap_soak $(ROUNDS) $(BUILD)/tests/progs/churn $(SOAK_THREADS)

.PHONY: heap-check
## make heap-check    memtap heap on real programs that are to do the same with it and without;
##                    with KERNEL=6.1 (or 6.12, 7.2) on that kernel
heap-check: all $(PROGS) $(CGO_PROG) $(BUILD)/tests/unit/test_heap $(BUILD)/tests/unit/test_inject
	$(Q)HEAP_CHECK=1 tests/check --build $(BUILD) $(if $(KERNEL),--kernel $(KERNEL)) \
		--only '^(test_)?(heap|inject|scenario: heap)' $(if $(KERNEL),vm,unit run)

.PHONY: moves
## make moves         first instructions of all functions of all libraries here, moved, compared
moves: $(BUILD)/tests/unit/test_hook
	$(Q)MEMTAP_MOVE_ALL=1 $(BUILD)/tests/unit/test_hook

.PHONY: bench-heap
## make bench-heap     what memtap heap costs a program and how right it is, beside its peers
bench-heap: all $(BUILD)/tests/progs/pairs $(BUILD)/tests/progs/heaps $(BUILD)/tests/progs/cacheload
	$(Q)bench/heap --build $(BUILD)

.PHONY: bench-tools
## make bench-tools    the tools of that beside bpfcc-tools and libbpf-tools, here and in qemu
bench-tools: all $(PROGS)
	$(Q)bench/memleak --build $(BUILD)
	$(Q)bench/tools --build $(BUILD)
	$(Q)python3 -B tests/vm/vm.py bench/tools --build $(BUILD) --runs 3

.PHONY: bench-serve
## make bench-serve    memory, processor, scrapes of memtap serve beside prometheus-node-exporter
bench-serve: all $(BUILD)/tests/progs/cacheload
	$(Q)unshare --pid --mount-proc --fork --kill-child bench/serve --build $(BUILD)

.PHONY: soak-serve
## make soak-serve     memtap serve under load for an hour (SOAK_SECONDS): does something grow?
SOAK_SECONDS ?= 3600
soak-serve: all $(BUILD)/tests/progs/cacheload
	$(Q)unshare --pid --mount-proc --fork --kill-child bench/serve --build $(BUILD) \
		--soak $(SOAK_SECONDS)

.PHONY: bench-caches
## make bench-caches   what mctop costs a memcached at full load, beside bpftrace
bench-caches: all $(BUILD)/tests/progs/cacheload
	$(Q)bench/caches --build $(BUILD)

MANDIR = $(DESTDIR)$(PREFIX)/share/man
## make install   into DESTDIR$(PREFIX)
install: $(BUILD)/memtap
	install -D -m 755 $(BUILD)/memtap $(DESTDIR)$(PREFIX)/bin/memtap
	for page in man/*.[1-9]; do \
		install -D -m 644 $$page $(MANDIR)/man$${page##*.}/$${page#man/}; \
	done
	for tool in $(TOOLS:tools/%.bt=%); do \
		$(RUNNER) $(BUILD)/memtap tools --man $$tool \
			>$(MANDIR)/man1/memtap-$$tool.1 || exit 1; \
	done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/memtap
	for page in man/*.[1-9]; do \
		rm -f $(MANDIR)/man$${page##*.}/$${page#man/}; \
	done
	rm -f $(TOOLS:tools/%.bt=$(MANDIR)/man1/memtap-%.1)

# Words for shells.
include mk/completions.mk

# One file for any machine.
include mk/static.mk

# What is given to others.
include mk/package.mk

# The BTF reader as a library for others.
include mk/btf.mk

clean:
	rm -rf build
