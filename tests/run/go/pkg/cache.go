// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

// Package pkg is a cache that drops its oldest entries when it grows too large.
package pkg

type state struct {
	values map[string][]byte
	order  []string
	bytes  int
	limit  int
}

// Cache is a handle, copied freely: its methods take it by value, so their symbols are spelled
// pkg.Cache.Method.
type Cache struct {
	s *state
}

// New makes a cache of so many bytes.
func New(limit int) Cache {
	return Cache{&state{values: map[string][]byte{}, limit: limit}}
}

// Insert stores a copy of value. Go passes words in rax, rbx, rcx, rdi, rsi, r8, r9: the handle,
// the hash, key (pointer, length, capacity), value's pointer in r8 and its length in r9, which
// is the sixth argument register of C.
//
//go:noinline
func (c Cache) Insert(hash uint64, key, value []byte) {
	k := string(key)
	if old, ok := c.s.values[k]; ok {
		c.s.bytes -= len(old)
	} else {
		c.s.order = append(c.s.order, k)
	}
	c.s.values[k] = append([]byte(nil), value...)
	c.s.bytes += len(value)
	for c.s.bytes > c.s.limit {
		oldest := c.s.order[0]
		c.s.order = c.s.order[1:]
		c.s.bytes -= len(c.s.values[oldest])
		delete(c.s.values, oldest)
	}
}

// Len is the number of entries held.
func (c Cache) Len() int {
	return len(c.s.values)
}
