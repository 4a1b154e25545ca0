/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions that begin with a vector instruction which the kernel's user probes take for another
 * one. The numbers that it prints are 2, 7 and 4.
 */
#include <stdio.h>

#define BODY(name, text)                                                                           \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" text           \
	        ".size " #name ", . - " #name "\n");                                               \
	int name(int a, int b)

/* For `out`, which can not be probed. */
BODY(sum_vpxor, "vpxor %xmm1,%xmm1,%xmm1\n mov %esi,%eax\n push %rbx\n pop %rbx\n ret\n");
/* For `jle`, which is not taken or leads to what comes next. */
BODY(get_vmovd, "vmovd %xmm0,%eax\n ret\n");
/* For a call. */
BODY(get_vpsubsb, "vpsubsb %xmm1,%xmm1,%xmm1\n mov %edi,%eax\n ret\n");

int main(void)
{
	int seven = 7, got;

	printf("%d\n", sum_vpxor(1, 2));
	__asm__ volatile("vmovd %1,%%xmm0\n\tcall get_vmovd" : "=a"(got) : "r"(seven) : "xmm0");
	printf("%d\n", got);
	printf("%d\n", get_vpsubsb(4, 3));
	return 0;
}
