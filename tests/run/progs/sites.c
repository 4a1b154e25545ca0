/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions whose first instruction is expensive for a probe, by what comes after it. Each is
 * called some times with known arguments; the names say whether a probe moves ("go_") or stays
 * ("stay_").
 *
 *     sites        call them, print nothing
 */
#define BODY(name, text)                                                                           \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" text           \
	        ".size " #name ", . - " #name "\n");                                               \
	long name(long a, long b, long c, long d, long e, long f, long on_stack)

/* As glibc's free(): a conditional jump. */
BODY(go_branch, "test %rdi,%rdi\n je 1f\n push %rbx\n pop %rbx\n 1: ret\n");
/* As compiled for CET. */
BODY(go_endbr, "endbr64\n push %rbp\n mov %rsp,%rbp\n pop %rbp\n ret\n");
/* Scratch registers, memory of the file, of the thread and of the stack. */
BODY(go_scratch, "mov %rdi,%rax\n mov go_branch(%rip),%r10\n mov %fs:0,%r11\n cmp 8(%rsp),%rax\n"
                 "lea 1(%rax),%rax\n push %rbx\n pop %rbx\n ret\n");
/* A call: the stack still holds the arguments. */
BODY(go_call, "xor %eax,%eax\n call stay_argument\n ret\n");
BODY(go_jump, "xor %eax,%eax\n jmp stay_argument\n");
BODY(go_nop, "mov %rsi,%rax\n nop\n ret\n");

/* What is passed over would change what a script sees. */
BODY(stay_argument, "mov %rsi,%rdi\n push %rbx\n pop %rbx\n ret\n");
BODY(stay_stack, "sub $8,%rsp\n nop\n add $8,%rsp\n ret\n");
BODY(stay_saved, "mov %rbx,%rax\n mov %rdi,%rbx\n nop\n mov %rax,%rbx\n ret\n");
BODY(stay_write, "movb $1,-8(%rsp)\n nop\n ret\n");
BODY(stay_foreign, "cmpb $0,(%rdi)\n nop\n ret\n");
BODY(stay_fence, "mfence\n nop\n ret\n");
/* Not all calls come by. */
BODY(stay_return, "xor %eax,%eax\n ret\n nop\n");
/* More comes by than calls. */
BODY(stay_loop, "xor %eax,%eax\n 1: nop\n inc %eax\n cmp $3,%eax\n jl 1b\n ret\n");
BODY(stay_table, "xor %eax,%eax\n nop\n cmp $3,%rdi\n jne 1f\n lea 1f(%rip),%rax\n jmp *%rax\n"
                 "1: ret\n");
BODY(stay_far, "test %rdi,%rdi\n nop\n ret\n");
BODY(jumps_far, "jmp stay_far + 3\n");
BODY(stay_near, "test %rdi,%rdi\n nop\n ret\n");
BODY(jumps_near, ".byte 0xeb, stay_near + 3 - . - 1\n");
BODY(stay_taken, "test %rdi,%rdi\n nop\n ret\n");
BODY(takes, "lea stay_taken + 3(%rip),%rax\n nop\n jmp *%rax\n");
BODY(stay_symbol, "test %rdi,%rdi\n .globl inside\n .type inside, @function\n inside: nop\n ret\n"
                  ".size inside, . - inside\n");
long inside(long a, long b, long c, long d, long e, long f, long on_stack);

#define CALL(f) f((long)&here, 2, 3, 4, 5, 6, 7)

int main(void)
{
	static char here;

	for (int i = 0; i < 5; i++) {
		CALL(go_branch);
		go_branch(0, 2, 3, 4, 5, 6, 7);
		CALL(go_endbr);
		CALL(go_scratch);
		CALL(go_call);
		CALL(go_jump);
		CALL(go_nop);
		CALL(stay_argument);
		CALL(stay_stack);
		CALL(stay_saved);
		CALL(stay_write);
		CALL(stay_foreign);
		CALL(stay_fence);
		CALL(stay_return);
		CALL(stay_loop);
		CALL(stay_table);
		CALL(stay_far);
		CALL(jumps_far);
		CALL(stay_near);
		CALL(jumps_near);
		CALL(stay_taken);
		CALL(takes);
		CALL(stay_symbol);
		CALL(inside);
	}
	return 0;
}
