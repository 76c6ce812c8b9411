/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest whose instructions were counted by hand. It boots by multiboot, enters long mode and runs
 * windows, each around one function of its "kernel", then powers QEMU off. What the plugin must
 * say of each is declared where the window is, and assembled into sections that are not loaded:
 *
 *	.windows  11 numbers of a `window` line (0: batch, 1: overhead; TASK to SWITCHES) and the
 *		  function's address
 *	.counts	  the 6 of a `count` line
 *
 * "User space" is what lies at low addresses; all runs in ring 0. For GNU as.
 */

	.set BASE, 0xffffffff80000000
	.set HOLE, 0x201000	/* a page that is there when `hole` says so; the one before it is */
	.set APIC_VERSION, 0xfee00030
	.set CALL, 2		/* of user space in each window: mov, call */
	.set FAULT, 3		/* instructions of `fault` */

/* ---- what is expected ---- */

	.macro expect fn, overhead, task, hardirq, softirq, kworker, idle, kernel, user, rep, interrupts, switches
	.pushsection .windows, "", @progbits
	.quad \overhead, \task, \hardirq, \softirq, \kworker, \idle
	.quad \kernel, \user, \rep, \interrupts, \switches, \fn
	.popsection
	.endm

	.macro mark n
	.byte 0x0f, 0x1f, 0x84, 0x00, 'K', 'D', 'R', \n
	.endm

/* A window of a batch around a call. `task`: what is no one else's. */
	.macro window fn, kernel, user=CALL, rep=0, hardirq=0, softirq=0, kworker=0, idle=0, interrupts=0, switches=0
	expect \fn, 0, (\kernel + \user - (\hardirq) - (\softirq) - (\kworker) - (\idle)), \hardirq, \softirq, \kworker, \idle, \kernel, \user, \rep, \interrupts, \switches
	mark 1
	movabs	$\fn, %rax
	call	*%rax
	mark 2
	.endm

/* An address's counts, in all windows of batches. */
	.macro count addr, clean, other=0, clean_rep=0, other_rep=0, target=0
	.pushsection .counts, "", @progbits
	.quad \addr, \clean, \other, \clean_rep, \other_rep, \target
	.popsection
	.endm

/* ---- boot: 32 bits, no paging ---- */

	.section .boot, "awx", @progbits
	.code32
	.balign	4
header:
	.long	0x1badb002, 0x00010000, -(0x1badb002 + 0x00010000)
	.long	header, load_start, load_end, load_end, start32

	.globl	start32
start32:
	movl	$(pml4 - BASE), %eax
	movl	%eax, %cr3
	movl	%cr4, %eax
	orl	$0x20, %eax		/* PAE */
	movl	%eax, %cr4
	movl	$0xc0000080, %ecx	/* EFER.LME */
	rdmsr
	orl	$0x100, %eax
	wrmsr
	movl	%cr0, %eax
	orl	$0x80000000, %eax
	movl	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$8, $start64

	.balign	8
gdt:
	.quad	0, 0x00209a0000000000, 0x0000920000000000
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt

	.code64
start64:
	movl	$16, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movq	$main_stack, %rsp
	movabs	$init, %rax
	call	*%rax
	jmp	main

/* ---- user space ---- */

	.section .user, "awx", @progbits

/* Length by length: a string instruction counts one, whatever its length. */
	.macro strings fn, before, looks=1
	.irp	length, 0, 1, 7, 1000
	movl	$\length, %ebp
	window	\fn, (\before + 2), rep=\length
	.endr
	.endm

main:
	/* Some of it runs before the marker with which counting begins, where that is asked for. */
	movabs	$straight, %rax
	call	*%rax
	movabs	$loop, %rax
	call	*%rax
	movabs	$memory, %rax
	call	*%rax
	mark	6
	jmp	1f				/* there the piece of code ends */
1:
	window	straight, 6
	count	straight, 3			/* twice more in the windows behind */
	count	straight_end, 3
	window	straight, 6			/* translated by now */
	window	loop, 2002
	count	loop_body, 1000
	window	memory, 17
	count	memory_end, 1

	/* A page fault: what faulted begins twice, nothing else does. */
	movabs	$hole_close, %rax
	call	*%rax
	window	faults, (8 + 1 + FAULT)
	count	faults, 2
	count	faults_there, 3
	count	faults_behind, 2
	window	faults, 8			/* the page is there now */
	movabs	$hole_close, %rax
	call	*%rax
	expect	nothing, 0, (7 + 1 + FAULT), 0, 0, 0, 0, (1 + FAULT), (6 + 1), 0, 0, 0
	mark	1
	movabs	$nothing, %rax
	call	*%rax
	incl	%ecx
	incl	%ecx
	movl	HOLE, %eax
	incl	%ecx
	mark	2

	/* String instructions. */
	strings	rep_movsb, 3
	strings	rep_movsq, 3
	strings	rep_stosb, 3
	strings	rep_stosw, 3
	strings	rep_lodsl, 3
	strings	rep_insb, 3
	strings	rep_outsb, 3
	strings	repe_cmpsb, 3
	strings	repe_cmpsq, 3
	strings	repne_scasb, 4
	count	rep_movsb_there, 4, 0, 1008
	count	rep_outsb_there, 4, 0, 1008
	count	repe_cmpsb_there, 4, 0, 1008
	/* Ended by the flags, in the last iteration and before it. */
	movl	$7, %ebp
	window	repne_scasb_finds, 7, rep=7
	movl	$1000, %ebp
	window	repne_scasb_finds, 7, rep=7
	movl	$1000, %ebp
	window	repe_cmpsb_differs, 9, rep=5
	count	repe_cmpsb_differs_there, 1, 0, 5
	/* Jumped to; jumped over, to what stands behind it; one behind the other. */
	movl	$7, %ebp
	window	rep_jumped_to, 6, rep=7
	window	rep_jumped_over, 5
	movl	$0, %ebp
	window	rep_jumped_over_0, 6
	movl	$7, %ebp
	window	rep_twice, 8, rep=7
	count	rep_twice_there, 1, 0, 7
	count	rep_twice_again, 1
	/* What stands behind begins a page, and ran before. */
	window	rep_page_end_behind, 1
	movl	$7, %ebp
	window	rep_page_end, 5, rep=7
	count	rep_page_end_behind, 2
	/* An instruction that lies on two pages, within a block. */
	window	crosses, 11
	window	crosses, 11
	count	crosses_there, 2
	count	crosses_call, 2, target=callee
	count	crosses_behind, 2
	/* A fault in its midst: one more iteration began. */
	movabs	$hole_close, %rax
	call	*%rax
	window	rep_faults, (5 + FAULT), rep=101
	count	rep_faults_there, 1, 0, 101
	/* In user space. */
	expect	nothing, 0, 7, 0, 0, 0, 0, 1, 6, 1000, 0, 0
	mark	1
	movabs	$nothing, %rax
	call	*%rax
	movl	$1000, %ecx
	movl	$buffer_low, %edi
	rep stosb
	nop
	mark	2

	/* Calls and jumps. */
	window	calls, 23
	count	calls_1, 1, target=callee
	count	calls_2, 1, target=callee
	count	calls_near, 1, target=calls_near_to
	count	calls_far, 1, target=callee_2
	count	callee, 5
	count	callee_2, 2
	count	calls_branch, 1			/* conditional: no target */

	/* Code that is changed while it runs, from another page. */
	window	patched, 20
	count	patched_here, 3, target=patched_1
	count	patched_1, 2
	count	patched_2, 1

	/* Changed from the same page, right before it runs: the store begins twice. */
	window	patches_itself, 6
	count	patches_itself_store, 2
	count	patches_itself_there, 1

	/* Devices. */
	window	ports, 7
	window	mapped, 8
	count	mapped_there, 1
	window	special, 8

	/* Interrupts: a software one passes for a hard one; then the timer's. */
	window	interrupted, (5 + 9), hardirq=5, interrupts=1
	count	hard_enter, 0, 5
	window	timer, (13 + 9), hardirq=5, interrupts=1
	window	timer_in_rep, (14 + 9), rep=100000, hardirq=5, interrupts=1
	count	timer_in_rep_there, 0, 1, 0, 100000
	/* irqentry_exit behind an exception ends no interrupt that is not there. */
	window	exit_alone, 5

	/* Soft interrupts, and a hard one in one. */
	window	soft, 11, softirq=5
	window	soft_interrupted, (2 + 5 + 9), softirq=(3 + 4), hardirq=5, interrupts=1
	window	soft_returns, 5, softirq=1

	/* Switches of tasks. */
	window	to_idle, 22, idle=8, switches=2
	window	to_idle, 23, idle=9, switches=2
	window	to_kworker, 22, kworker=8, switches=2
	window	to_rcu, 24, softirq=9, switches=2
	window	to_plain, 24, switches=2
	/* Its memory was a kworker's: one that is in user space is an ordinary task. */
	window	to_reused, 18, kworker=8, switches=2
	window	to_reused, 20, user=(CALL + 1), switches=2
	window	to_reused, 19, switches=2
	/* An interrupt that switches tasks on its way out. */
	window	to_idle_late, (24 + 9), idle=9, hardirq=5, interrupts=1, switches=2

	/* Overhead is in no count. */
	expect	straight, 1, 8, 0, 0, 0, 0, 6, 2, 0, 0, 0
	mark	3
	movabs	$straight, %rax
	call	*%rax
	mark	4

	/* What does not close its own kind does not close; what is opened anew is abandoned. */
	mark	1
	nop
	mark	1
	nop
	nop
	mark	4
	nop
	mark	2
	expect	nothing, 0, 3, 0, 0, 0, 0, 0, 3, 0, 0, 0
	mark	2
	mark	4
	window	straight, 6
	mark	1
	nop
	mark	5
	mark	5

	/* isa-debug-exit: QEMU ends with status 2 * 5 + 1. */
	movl	$5, %eax
	outl	%eax, $0xf4
	hlt

user_nothing:
	ret

	.balign	16
buffer_low:
	.fill	1024, 1, 0
	.fill	2048, 1, 0
main_stack:

/* ---- the kernel: where the counting is ---- */

	.text
nothing:
	ret

straight:
	nop
	xorl	%eax, %eax
	addq	$1, %rax
	endbr64
	nopw	0x1234(%rax,%rax)
straight_end:
	ret

loop:
	movl	$1000, %ecx
loop_body:
	decl	%ecx
	jnz	loop_body
	ret

memory:
	leaq	data_buffer(%rip), %rdi
	movq	%rdi, -8(%rsp)
	pushq	%rdi
	movl	(%rdi), %eax
	movl	%eax, 8(%rdi)
	addl	$1, data_buffer(%rip)
	movq	(%rsp), %rcx
	lock incl (%rdi)
	xchgl	%eax, (%rdi)
	cmpxchgl %ecx, 16(%rdi)
	movzbl	3(%rdi), %edx
	popq	%rcx
	divl	divisor(%rip)
	pushfq
	popfq
	nop
memory_end:
	ret

faults:
	nop
	pushq	%rdx
	nop
faults_there:
	movl	HOLE, %eax
faults_behind:
	nop
	popq	%rdx
	nop
	ret

fault:
	movq	$(hole_page - BASE + 3), hole(%rip)
	addq	$8, %rsp
	iretq

hole_close:
	movq	$0, hole(%rip)
	invlpg	HOLE
	ret

/* %ebp: how often. `setup` is 3 instructions, the prefixed one and ret are counted by `strings`. */
	.macro setup
	leaq	data_buffer(%rip), %rsi
	leaq	data_buffer_2(%rip), %rdi
	movl	%ebp, %ecx
	.endm

rep_movsb:
	setup
rep_movsb_there:
	rep movsb
	ret

rep_movsq:
	setup
	rep movsq
	ret

rep_stosb:
	setup
	rep stosb
	ret

rep_stosw:
	setup
	rep stosw
	ret

rep_lodsl:
	setup
	rep lodsl
	ret

rep_insb:
	movl	$0x80, %edx
	leaq	data_buffer_2(%rip), %rdi
	movl	%ebp, %ecx
	rep insb
	ret

rep_outsb:
	movl	$0x80, %edx
	leaq	data_buffer(%rip), %rsi
	movl	%ebp, %ecx
rep_outsb_there:
	rep outsb
	ret

repe_cmpsb:
	leaq	zeros(%rip), %rsi
	leaq	zeros(%rip), %rdi
	movl	%ebp, %ecx
repe_cmpsb_there:
	repe cmpsb
	ret

repe_cmpsq:
	leaq	zeros(%rip), %rsi
	leaq	zeros(%rip), %rdi
	movl	%ebp, %ecx
	repe cmpsq
	ret

repne_scasb:
	leaq	zeros(%rip), %rdi
	movl	$1, %eax
	movl	%ebp, %ecx
	nop
	repne scasb
	ret

repne_scasb_finds:
	leaq	zeros(%rip), %rdi
	movb	$1, 6(%rdi)
	movl	$1, %eax
	movl	%ebp, %ecx
	repne scasb
	movb	$0, -1(%rdi)
	ret

repe_cmpsb_differs:
	leaq	zeros(%rip), %rdi
	leaq	data_buffer_2(%rip), %rsi
	movl	$0, (%rsi)
	movb	$1, 4(%rsi)
	movl	%ebp, %ecx
	cmpl	%eax, %eax
	nop
repe_cmpsb_differs_there:
	repe cmpsb
	ret

rep_jumped_to:
	setup
	jmp	1f
	nop
1:	rep stosb
	ret

rep_jumped_over:
	setup
	jmp	rep_jumped_over_behind
rep_jumped_over_0:
	setup
	xorl	%eax, %eax
	rep stosb
rep_jumped_over_behind:
	ret

rep_twice:
	setup
	nop
rep_twice_there:
	rep movsb
rep_twice_again:
	rep movsb
	movl	%ebp, %ecx
	ret

rep_faults:
	movl	$(HOLE - 50), %edi
	movl	$100, %ecx
	nop
rep_faults_there:
	rep stosb
	ret

calls:
calls_1:
	call	callee
	nop
calls_2:
	call	callee
calls_near:
	jmp	calls_near_to
	nop
calls_near_to:
	xorl	%eax, %eax
calls_branch:
	jz	calls_on
	nop
calls_on:
	leaq	callee(%rip), %rax
	call	*%rax
	call	callee_2
	nop
calls_far:
	jmp.d32	callee_2
	.balign	16
callee:
	nop
	ret
	.balign	16
callee_2:
	nop
	nop
	ret

patched:
	pushq	%rbx
	leaq	patched_here(%rip), %rbx
	call	patched_code
	call	patched_code
	movl	$(patched_2 - patched_here - 5), 1(%rbx)
	call	patched_code
	movl	$(patched_1 - patched_here - 5), 1(%rbx)
	popq	%rbx
	ret

ports:
	nop
	inb	$0x80, %al
	nop
	outb	%al, $0x80
	nop
	nop
	ret

mapped:
	movl	$APIC_VERSION, %edx
	nop
	pushq	%rbx
mapped_there:
	movl	(%rdx), %eax
	nop
	popq	%rbx
	nop
	ret

special:
	pushq	%rbx
	xorl	%eax, %eax
	cpuid
	rdtsc
	pause
	lfence
	popq	%rbx
	ret

/* ---- contexts ---- */

interrupted:
	nop
	int	$0x40
	nop
	nop
	ret

	.balign	16
hard_enter:			/* HARDIRQ: 5 to hard_exit, 4 from there, which are not */
	pushq	%rax
	movb	$0x20, %al
	outb	%al, $0x20
	nop
	call	hard_exit
	popq	%rax
	iretq

	.balign	16
hard_exit:
	nop
	ret

exit_alone:
	nop
	call	hard_exit
	ret

/* One shot of the timer in about 50 us, in mode 0. */
	.macro shot
	movb	$0x30, %al
	outb	%al, $0x43
	movb	$60, %al
	outb	%al, $0x40
	xorl	%eax, %eax
	outb	%al, $0x40
	.endm

timer:
	shot
	nop
	sti
	hlt
	cli
	nop
	nop
	ret

timer_in_rep:
	shot
	leaq	data_buffer(%rip), %rsi
	movl	$100000, %ecx
	xorl	%eax, %eax
	sti
	cld
timer_in_rep_there:
	rep lodsb
	cli
	ret

soft:
	nop
	call	soft_start
	nop
	ret

	.balign	16
soft_start:			/* 5 up to the jump, which is not */
	nop
	nop
	call	soft_helper
	nop
	jmp.d32	thunk
soft_end:

soft_helper:
	ret
thunk:
	ret

soft_interrupted:
	call	soft_2_start
	ret

	.balign	16
soft_2_start:			/* 3, and the 4 of the interrupt that are behind hard_exit */
	nop
	int	$0x40
	nop
	jmp.d32	thunk
soft_2_end:

soft_returns:
	call	soft_3_start
	nop
	ret

	.balign	16
soft_3_start:
	nop
	ret
soft_3_end:

/* %rdi: the task that runs, %rsi: the one that will. Up to the load it is the former's. */
	.balign	16
switch_start:
	pushq	%rbx
	movq	%rsp, 8(%rdi)
	movq	8(%rsi), %rsp
	popq	%rbx
	ret
switch_end:

/* 6 before the load, 2 behind it: of the other task. */
	.macro switch_to task
	leaq	main_task(%rip), %rdi
	leaq	\task(%rip), %rsi
	call	switch_start
	.endm

	.macro switch_back task
	leaq	\task(%rip), %rdi
	leaq	main_task(%rip), %rsi
	call	switch_start
	.endm

to_idle:
	nop
	switch_to idle_task
	nop
	nop
	nop
	nop
	ret

to_idle_late:
	int	$0x40
	nop
	switch_to idle_task
	nop
	nop
	nop
	nop
	ret

to_kworker:
	nop
	switch_to kworker_task
	nop
	nop
	nop
	nop
	ret

to_rcu:
	nop
	switch_to rcu_task
	nop
	nop
	nop
	nop
	nop
	ret

to_plain:
	nop
	switch_to plain_task
	nop
	nop
	nop
	nop
	nop
	ret

to_reused:
	switch_to reused_task
	nop
	ret

/* The tasks. Each begins by popping %rbx and returning here. */
idle_code:
	switch_back idle_task
	jmp	idle_code

kworker_code:
	switch_back kworker_task
	jmp	kworker_code

rcu_code:
	nop
	switch_back rcu_task
	jmp	rcu_code

plain_code:
	nop
	switch_back plain_task
	jmp	plain_code

reused_code:
	switch_back reused_task
	movabs	$user_nothing, %rax
	call	*%rax
	switch_back reused_task
1:	nop
	switch_back reused_task
	jmp	1b

/* ---- patched code and what lies at a page's end: pages of their own ---- */

	.balign	4096
patched_code:
patched_here:
	call	patched_1
	ret
patched_1:
	nop
	ret
patched_2:
	ret

	.balign	4096
patches_itself:
	nop
	nop
patches_itself_store:
	movl	$1, patches_itself_there + 1(%rip)
patches_itself_there:
	movl	$0, %eax
	ret

	.balign	4096
	.skip	4096 - 12
rep_page_end:			/* 2, 7, 1 and 2 bytes */
	movl	%ebp, %ecx
	leaq	data_buffer(%rip), %rdi
	nop
	rep stosb
rep_page_end_behind:
	ret

	.balign	4096
	.skip	4096 - 6
crosses:
	nop
	xorl	%eax, %eax
crosses_there:
	leaq	data_buffer(%rip), %rdi
crosses_behind:
	nop
	jmp	crosses_2
	.balign	4096
	.skip	4096 - 7
crosses_2:
	leaq	0x40(%r15), %rdi
crosses_call:
	call	callee
	nop
	ret

/* ---- set up ---- */

	.balign	4096
	.macro gate vector, handler
	movl	$\vector, %edi
	leaq	\handler(%rip), %rsi
	call	set_gate
	.endm

	.macro out value, port
	movb	$\value, %al
	outb	%al, $\port
	.endm

init:
	gate	6, broken
	gate	8, broken
	gate	13, broken
	gate	14, fault
	gate	32, hard_enter
	gate	0x40, hard_enter
	lidt	idt_pointer(%rip)
	out	0x11, 0x20		/* the interrupt controllers: vectors from 32 on, the timer's alone */
	out	0x11, 0xa0
	out	0x20, 0x21
	out	0x28, 0xa1
	out	0x04, 0x21
	out	0x02, 0xa1
	out	0x01, 0x21
	out	0x01, 0xa1
	out	0xfe, 0x21
	out	0xff, 0xa1
	ret

set_gate:
	shll	$4, %edi
	leaq	idt(%rip), %rax
	addq	%rdi, %rax
	movw	%si, (%rax)
	movl	$0x8e000008, 2(%rax)
	shrq	$16, %rsi
	movw	%si, 6(%rax)
	shrq	$16, %rsi
	movl	%esi, 8(%rax)
	ret

broken:
	movl	$1, %eax
	outl	%eax, $0xf4
	hlt

/* ---- data ---- */

	.data
	.balign	8
divisor:
	.long	7
idt_pointer:
	.word	0x41 * 16 - 1
	.quad	idt

	.balign	8
main_task:
	.quad	0, 0

	.macro task name, code
	.fill	32, 8, 0
\name\()_stack:
	.quad	0, \code
\name\()_task:
	.quad	0, \name\()_stack
	.endm

	task	idle, idle_code
	task	kworker, kworker_code
	task	rcu, rcu_code
	task	plain, plain_code
	task	reused, reused_code

	.balign	16
data_buffer:
	.fill	1024, 8, 1
data_buffer_2:
	.fill	1024, 8, 0
zeros:
	.fill	1024, 8, 0
	.fill	100000 - 3 * 8192, 1, 0

	.section .tables, "aw", @progbits
	.balign	4096
pml4:
	.quad	pdpt_low - BASE + 3
	.fill	510, 8, 0
	.quad	pdpt_high - BASE + 3
pdpt_low:
	.quad	pd_low - BASE + 3, 0, 0
	.quad	pd_devices - BASE + 3
	.fill	508, 8, 0
pdpt_high:
	.fill	510, 8, 0
	.quad	pd_high - BASE + 3, 0
pd_low:
	.quad	0x83
	.quad	pt_holes - BASE + 3
	.fill	510, 8, 0
pd_high:
	.quad	0x83
	.fill	511, 8, 0
pd_devices:
	.fill	0x1f7, 8, 0
	.quad	0xfee00093
	.fill	8, 8, 0
pt_holes:
	.quad	page_there - BASE + 3
hole:
	.quad	0
	.fill	510, 8, 0
page_there:
	.fill	4096, 1, 0
hole_page:
	.fill	4096, 1, 0
idt:
	.fill	0x41 * 16, 1, 0
