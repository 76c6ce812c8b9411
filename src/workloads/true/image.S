/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The linked program as bytes of the agent: KIT_TRUE_FILE is its path, given by the build. */
	.section .rodata
	.globl kit_true_image, kit_true_image_end
	.type kit_true_image, %object
	.balign 16
kit_true_image:
	.incbin KIT_TRUE_FILE
kit_true_image_end:
	.size kit_true_image, . - kit_true_image
	.section .note.GNU-stack, "", %progbits
