// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

// A Go program that fills a cache: `cache_go N` inserts N entries of 1 to 16383 bytes.
// `cache_go deep N` calls a function N times for which the stack has to grow.
package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"

	"example.com/path/to/my/pkg"
)

// Its frame is larger than the stack that a goroutine starts with.
//
//go:noinline
func deep(n int) int {
	var a [900]int
	for i := range a {
		a[i] = n + i
	}
	return a[n%900]
}

func deepInGoroutines(n int) {
	done := make(chan int)
	for i := 0; i < n; i++ {
		go func(i int) { done <- deep(i) }(i)
		<-done
	}
}

func main() {
	n := 100
	if len(os.Args) > 2 && os.Args[1] == "deep" {
		n, _ = strconv.Atoi(os.Args[2])
		deepInGoroutines(n)
		return
	}
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
