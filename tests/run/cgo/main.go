// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

// A Go program that allocates in C, from many goroutines, without a pause: says "ready", and after
// a line on standard input whether all came out right: "wrong 0", and its exit status.
package main

/*
#include <stdlib.h>
#include <string.h>

static int work(unsigned x)
{
	unsigned char *p[16] = { 0 };
	size_t n[16] = { 0 };
	int wrong = 0;

	for (int i = 0; i < 400; i++) {
		int k = (x = x * 1664525 + 1013904223) >> 28;

		for (size_t b = 0; b < n[k]; b++)
			wrong |= p[k][b] != k;
		if (x & 256) {
			free(p[k]);
			p[k] = NULL;
		}
		n[k] = (x >> 9 & 1023) + 1;
		p[k] = realloc(p[k], n[k]);
		memset(p[k], k, n[k]);
	}
	for (int k = 0; k < 16; k++)
		free(p[k]);
	return wrong;
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

func main() {
	var wrong, stop int32
	var all sync.WaitGroup

	for i := 0; i < 20; i++ {
		all.Add(1)
		go func(x int) {
			defer all.Done()
			for ; atomic.LoadInt32(&stop) == 0; x++ {
				s := C.CString(fmt.Sprint("a text for C, number ", x))
				same := C.GoString(s) == fmt.Sprint("a text for C, number ", x)
				if !same || C.work(C.uint(x)) != 0 {
					atomic.StoreInt32(&wrong, 1)
				}
				C.free(unsafe.Pointer(s))
			}
		}(i * 1000003)
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	atomic.StoreInt32(&stop, 1)
	all.Wait()
	fmt.Println("wrong", wrong)
	os.Exit(int(wrong))
}
