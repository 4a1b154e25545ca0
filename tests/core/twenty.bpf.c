/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A common sort of program, of 20 relocations of 9 types: for measuring. */
#include "core.h"

struct qstr {
	const unsigned char *name;
} CORE;
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} CORE;
struct path {
	struct dentry *dentry;
} CORE;
struct inode {
	unsigned long i_ino;
	long long i_size;
} CORE;
struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_flags;
} CORE;
struct mm_struct {
	unsigned long total_vm, start_code;
	struct task_struct *owner;
} CORE;
struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	struct file *vm_file;
} CORE;
struct task_struct {
	int pid;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	char comm[16];
} CORE;
struct oom_control {
	struct task_struct *chosen;
	unsigned long totalpages;
} CORE;

PROGRAM(twenty, struct vm_area_struct, v)
{
	struct oom_control *o = (void *)v;
	struct file *f = v->vm_file;
	struct task_struct *t = v->vm_mm->owner;

	return v->vm_start + v->vm_end + v->vm_mm->total_vm + v->vm_mm->start_code + f->f_flags +
	       (u64)f->f_path.dentry->d_name.name + (u64)f->f_path.dentry->d_parent +
	       f->f_inode->i_ino + f->f_inode->i_size + t->pid + t->comm[0] + (u64)t->real_parent +
	       o->totalpages + o->chosen->pid;
}
