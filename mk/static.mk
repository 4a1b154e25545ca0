# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# One file without any shared library. Only base/host.h is done otherwise
# (mk/host_static.c); all other objects are those of build/memtap.

STATIC       := $(BUILD)/static
STATIC_LIBS  := -ldw -lelf -llzma -lbz2 -lzstd -lz -lncursesw -ltinfo -lyaml -liberty -lmicrohttpd -lcrypt
STATIC_OBJ   := $(addprefix $(STATIC)/,host_static.o eu_static.o no_tls.o)
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

# libmicrohttpd's archive is made with TLS. GnuTLS would be half of the file: its functions fail here,
# and http_open() says that there is no TLS before any is called but the first one.
$(STATIC)/no_tls.o: mk/static.mk | $(READY)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)nm -u "$$($(CC) $(SYSROOT) -print-file-name=libmicrohttpd.a)" 2>/dev/null | \
		sed -n 's/^ *U \(gnutls_.*\)$$/long \1(void); long \1(void) { return FAILS; }/p' | \
		sort -u | sed '/gnutls_global_init/s/FAILS/0/; s/FAILS/-1/' | \
		$(CC) $(ALL_CFLAGS) -fno-builtin -x c -c -o $@ -

$(STATIC)/libs: scripts/zydis-archive mk/static.mk | $(READY)
	$(Q)mkdir -p $(@D)
	$(Q)zydis=$$(CC="$(CC)" scripts/zydis-archive) && \
		echo "$$zydis $(STATIC_LIBS)" >$@

# What is first defines host_*() and http_*(), and the archive's own is left out.
$(STATIC)/memtap: $(BUILD)/obj/main.o $(STATIC_OBJ) $(BUILD)/libmemtap.a $(STATIC)/libs $(ORDER)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(ORDER:%=-Wl,-T,%) -static-pie -o $@ \
		$(filter-out %/libs $(ORDER),$^) @$(STATIC)/libs

static: $(STATIC)/memtap.stripped
$(STATIC)/memtap.stripped: $(STATIC)/memtap
	$(Q)$(CROSS)strip -o $@ $<

## make static-check  the end-to-end cases with that file
.PHONY: static-check
static-check: $(STATIC)/memtap $(EXAMPLES) $(PROGS) $(GO_PROG) $(CORE_OBJ) $(BUILD)/tests/hot_demo
	$(Q)tests/check --build $(BUILD) --program $< run bad
