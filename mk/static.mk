# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# One file without any shared library. Only base/host.h is done otherwise
# (mk/host_static.c); all other objects are those of build/memtap.

STATIC       := $(BUILD)/static
STATIC_LIBS  := -ldw -lelf -llzma -lbz2 -lzstd -lz -lncursesw -ltinfo -lyaml -liberty -lmicrohttpd -lcrypt
STATIC_OBJ   := $(addprefix $(STATIC)/,host_static.o eu_static.o absent.o)
STATIC_TERMS := xterm xterm-256color screen screen-256color tmux tmux-256color linux vt100

.PHONY: static
## make static    build/static/memtap: one file without any shared library
static: $(STATIC)/memtap

$(STATIC)/terminals.inc: scripts/pack-terminals mk/static.mk | $(READY)
	$(say) PACK $@
	$(Q)mkdir -p $(@D)
	$(Q)scripts/pack-terminals $(STATIC_TERMS) >$@.new && mv $@.new $@

$(STATIC)/host_static.o: $(STATIC)/terminals.inc src/base/host.h src/elf/dwarf_lib.h
$(STATIC)/%_static.o: mk/%_static.c Makefile mk/static.mk | $(READY)
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(TABLES) -I$(STATIC) -c -o $@ $<

# Functions of the archives that fail here. libmicrohttpd's is made with TLS, and GnuTLS would be half
# of the file: http_open() says that there is no TLS before any of it is called but the first one.
# libcrypt's names all methods there ever were: those go that guard_takes() takes no hash of. Formats
# of zstd before its first release: mk/eu_static.c.
ABSENT  := gnutls_.*|_crypt_(crypt|gensalt)_.*_rn|Z(STD|BUFF)v0[1-7]_.*
HASHES  := bcrypt|bcrypt_[axy]|sha256crypt|sha512crypt|yescrypt
PRESENT := _crypt_(crypt|gensalt)_($(HASHES))_rn|.*_findFrameSizeInfoLegacy
$(STATIC)/absent.o: mk/static.mk | $(READY)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)for a in libmicrohttpd libcrypt libzstd; do \
		nm -u "$$($(CC) $(SYSROOT) -print-file-name=$$a.a)" 2>/dev/null; \
	done | sort -u | sed -En -e '/ ($(PRESENT))$$/d' \
		-e 's/^ *U ($(ABSENT))$$/long \1(void); long \1(void) { return -1; }/' \
		-e '/gnutls_global_init|_createDCtx/s/-1/0/; /^long/p' | \
		$(CC) $(ALL_CFLAGS) -fno-builtin -x c -c -o $@ -

$(STATIC)/libs: scripts/zydis-archive mk/static.mk | $(READY)
	$(Q)mkdir -p $(@D)
	$(Q)zydis=$$(CC="$(CC)" scripts/zydis-archive) && \
		echo "$$zydis $(STATIC_LIBS)" >$@

# What is first defines host_*() and http_*(), and the archive's own is left out.
$(STATIC)/memtap: $(BUILD)/obj/main.o $(STATIC_OBJ) $(BUILD)/libmemtap.a $(STATIC)/libs \
		  $(LAYOUT)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(LAYOUT:%=-Wl,-T,%) -static-pie \
		$(NO_FRAMES) -o $@ $(filter-out %/libs %.ld,$^) @$(STATIC)/libs

static: $(STATIC)/memtap.stripped
$(STATIC)/memtap.stripped: $(STATIC)/memtap
	$(Q)$(CROSS)strip -o $@ $<

## make start-order    write mk/start.ld anew: functions and tables of a start, which lie side by side
.PHONY: start-order
start-order: $(BUILD)/memtap $(STATIC)/memtap
	$(Q)scripts/start-order $(abspath $^) "$(BUILD)/obj/main.o $(BUILD)/libmemtap.a" \
		$$($(CC) -print-file-name=libc.a) $$($(CC) -print-file-name=libmicrohttpd.a) \
		>$(ORDER).new && mv $(ORDER).new $(ORDER)

## make static-check  the end-to-end cases with that file
.PHONY: static-check
static-check: $(STATIC)/memtap $(EXAMPLES) $(PROGS) $(GO_PROG) $(CORE_OBJ) $(BUILD)/tests/hot_demo
	$(Q)tests/check --build $(BUILD) --program $< run bad
