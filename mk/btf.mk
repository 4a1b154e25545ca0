# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# libmemtap-btf: the BTF reader for other programs, static and shared. Exported are the functions
# of include/memtap/btf.h and nothing else; the archive is one object whose other names are local.

BTF_VERSION := 0.1.0
BTF_SO      := libmemtap-btf.so
BTF_SONAME  := $(BTF_SO).0
BTF_OBJ     := $(patsubst src/%.c,$(BUILD)/pic/%.o,$(wildcard src/btf/btf_*.c))
BTF_AID     := $(patsubst src/%.c,$(BUILD)/pic/%.o,$(wildcard src/base/*.c src/arch/*bytes.c))
BTF_LIBS    := $(BUILD)/libmemtap-btf.a $(BUILD)/$(BTF_SO)
LIBDIR      ?= $(PREFIX)/lib
OBJCOPY     ?= objcopy

.PHONY: btf-lib install-btf uninstall-btf
## make btf-lib   libmemtap-btf.a, .so and memtap-btf.pc
btf-lib: $(BTF_LIBS) $(BUILD)/memtap-btf.pc

$(BUILD)/pic/%.o: src/%.c Makefile mk/btf.mk | $(READY)
	$(say) PIC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -MMD -MP -c -o $@ $<

# What the reader needs of base/ and arch/ is taken from here, and no more.
$(BUILD)/pic/libbase.a: $(BTF_AID)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libmemtap-btf.a: $(BTF_OBJ) $(BUILD)/pic/libbase.a
	$(say) AR $@
	$(Q)$(LD) -r -o $(BUILD)/pic/memtap-btf.o $^
	$(Q)$(OBJCOPY) --localize-hidden -w --keep-global-symbol='btf_*' $(BUILD)/pic/memtap-btf.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/pic/memtap-btf.o

$(BUILD)/$(BTF_SO): $(BTF_OBJ) $(BUILD)/pic/libbase.a mk/btf.map mk/btf-abi include/memtap/btf.h
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(BTF_SONAME) \
		-Wl,--version-script=mk/btf.map -Wl,--no-undefined -o $@ \
		$(BTF_OBJ) $(BUILD)/pic/libbase.a -pthread
	$(Q)mk/btf-abi $@ include/memtap/btf.h
	$(Q)ln -sf $(BTF_SO) $(BUILD)/$(BTF_SONAME)

# Written anew each time: PREFIX may have changed.
.PHONY: $(BUILD)/memtap-btf.pc
$(BUILD)/memtap-btf.pc: mk/memtap-btf.pc.in
	$(Q)mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(BTF_VERSION)|' $< >$@

install: install-btf
install-btf: btf-lib
	install -D -m 644 include/memtap/btf.h $(DESTDIR)$(PREFIX)/include/memtap/btf.h
	install -D -m 644 $(BUILD)/libmemtap-btf.a $(DESTDIR)$(LIBDIR)/libmemtap-btf.a
	install -D -m 755 $(BUILD)/$(BTF_SO) $(DESTDIR)$(LIBDIR)/$(BTF_SO).$(BTF_VERSION)
	ln -sf $(BTF_SO).$(BTF_VERSION) $(DESTDIR)$(LIBDIR)/$(BTF_SONAME)
	ln -sf $(BTF_SONAME) $(DESTDIR)$(LIBDIR)/$(BTF_SO)
	install -D -m 644 $(BUILD)/memtap-btf.pc $(DESTDIR)$(LIBDIR)/pkgconfig/memtap-btf.pc

uninstall: uninstall-btf
uninstall-btf:
	rm -f $(DESTDIR)$(PREFIX)/include/memtap/btf.h $(DESTDIR)$(LIBDIR)/libmemtap-btf.a \
		$(DESTDIR)$(LIBDIR)/$(BTF_SO) $(DESTDIR)$(LIBDIR)/$(BTF_SONAME) \
		$(DESTDIR)$(LIBDIR)/$(BTF_SO).$(BTF_VERSION) \
		$(DESTDIR)$(LIBDIR)/pkgconfig/memtap-btf.pc

-include $(BTF_OBJ:.o=.d)

## make bench-btf the BTF part of that: times and private memory beside libbpf, bpftool and pahole
.PHONY: bench-btf
bench-btf: $(BUILD)/bench/btf $(BUILD)/tests/core/twenty.bpf.o $(BUILD)/memtap
	$(Q)$<
	$(Q)bench/btf-dump --build $(BUILD)

$(BUILD)/bench/btf: bench/btf.c $(BUILD)/libmemtap.a
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lbpf
