// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

// A Go program that fills a cache: `cache_go N` inserts N entries of 1 to 16383 bytes.
package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"

	"example.com/path/to/my/pkg"
)

func main() {
	n := 100
	if len(os.Args) > 1 {
		n, _ = strconv.Atoi(os.Args[1])
	}
	cache := pkg.New(1 << 20)
	bytes := make([]byte, 16383)
	size := uint32(1)
	for i := 0; i < n; i++ {
		size = size*1664525 + 1013904223
		key := []byte(fmt.Sprintf("key%d", i))
		h := fnv.New64a()
		h.Write(key)
		cache.Insert(h.Sum64(), key, bytes[:1+(size>>8)%16383])
	}
	fmt.Printf("%d entries\n", cache.Len())
}
