/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between the stubs of an allocator's functions (stub.h) and what is done about a sample
 * (inject/sampler.c): sampler_slow_N for kind N of inject/sampler.h. They come with
 *      r11   the counter, or 0 when none is used up (realloc)
 *      rax   where the function goes on, its first instructions moved
 * and everything else as at the function's entry. A frame of 136 bytes holds the arguments, where
 * the function goes on, its result, and what else it left in registers: who was compiled together
 * with it may know which it leaves alone (gcc's -fipa-ra). The unwinder finds through it.
 *
 * Threads that are in here, or come back here, are counted: while there is one, nothing of it can be
 * taken out (inject/graft.c). Before and after that stand instructions that are over at once.
 */
#define DATA   sampler_params(%rip)
#define INSIDE 16

	.text

.macro frame
	mov DATA, %r10
	lock incq INSIDE(%r10)
	sub $136, %rsp
	.cfi_adjust_cfa_offset 136
	mov %rdi, (%rsp)
	mov %rsi, 8(%rsp)
	mov %rdx, 16(%rsp)
	mov %rcx, 24(%rsp)
	mov %rax, 32(%rsp)
	mov %r8, 72(%rsp)
	mov %r9, 80(%rsp)
.endm

.macro arguments
	mov (%rsp), %rdi
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rdx
	mov 24(%rsp), %rcx
	mov 32(%rsp), %r11
	mov 72(%rsp), %r8
	mov 80(%rsp), %r9
.endm

.macro function name
	.globl sampler_slow_\name
	.type sampler_slow_\name, @function
	.balign 16
sampler_slow_\name:
	.cfi_startproc
.endm

.macro end name
	.cfi_endproc
	.size sampler_slow_\name, . - sampler_slow_\name
.endm

.macro begin kind
	rdtsc
	shl $32, %rdx
	lea (%rdx, %rax), %r8
	mov %r11, %rdi
	mov %rsp, %rsi
	mov 136(%rsp), %rdx
	mov $\kind, %ecx
	call sampler_begin
	test %eax, %eax
	jz 1f
.endm

.macro finish kind
	mov %rax, 40(%rsp)
	mov %rcx, 88(%rsp)
	mov %rdx, 96(%rsp)
	mov %rsi, 104(%rsp)
	mov %rdi, 112(%rsp)
	mov %r8, 120(%rsp)
	mov %r9, 128(%rsp)
	mov %rsp, %rdi
	mov %rax, %rsi
	mov $\kind, %edx
	call sampler_end
	mov DATA, %r11
	mov 40(%rsp), %rax
	mov 88(%rsp), %rcx
	mov 96(%rsp), %rdx
	mov 104(%rsp), %rsi
	mov 112(%rsp), %rdi
	mov 120(%rsp), %r8
	mov 128(%rsp), %r9
	add $136, %rsp
	.cfi_adjust_cfa_offset -136
	lock decq INSIDE(%r11)
	ret
	.cfi_adjust_cfa_offset 136
.endm

.macro go_on
1:	arguments
	add $136, %rsp
	.cfi_adjust_cfa_offset -136
	mov DATA, %rax
	lock decq INSIDE(%rax)
	xor %eax, %eax
	jmp *%r11
.endm

.macro sampled name kind
	function \name
	frame
	begin \kind
	arguments
	call *%r11
	finish \kind
	go_on
	end \name
.endm

/* The same by what does not throw; if there is no memory the function itself may do so. */
.macro thrown name kind which argument
	function \name
	frame
	begin \kind
	mov (%rsp), %rdi
	mov 8(%rsp), %rsi
	lea 40(%rsp), %\argument
	call *sampler_params+16+8*\which(%rip)
	test %rax, %rax
	jz 1f
	finish \kind
	go_on
	end \name
.endm

sampled 0 0
sampled 1 1
sampled 2 2
sampled 3 3
sampled 4 4

function 5
	frame
	call sampler_free
	go_on
	end 5

thrown 6 6 0 rsi
thrown 7 7 1 rdx

sampled 8 8
sampled 9 9

function 10
	frame
	call sampler_unmap
	go_on
	end 10

	.section .note.GNU-stack, "", @progbits
