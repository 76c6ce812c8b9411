/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/bzimage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/unpack.h"
#include "image/vmlinux.h"

#define SECTOR		  512u
#define HEADER_END	  0x250u /* behind payload_length */
#define LOADED_HIGH	  1u
#define XLF_KERNEL_64	  1u
#define SIZE_APPENDED_LEN 4u

/* Little endian, at an offset below HEADER_END. */
static uint32_t get(const uint8_t *data, size_t at, size_t bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | data[at + bytes];
	return v;
}

bool bzimage_is(const uint8_t *data, size_t len)
{
	return len >= 0x206 && get(data, 0x1fe, 2) == 0xaa55 && !memcmp(data + 0x202, "HdrS", 4);
}

static void find_payload(const uint8_t *data, size_t len, size_t setup, struct bzimage *b)
{
	size_t at = get(data, 0x248, 4), n = get(data, 0x24c, 4);

	if (b->protocol < 0x208 || !at || !n || at > len - setup || n > len - setup - at)
		return;
	b->payload = setup + at;
	b->payload_len = n;
}

int bzimage_parse(const uint8_t *data, size_t len, struct bzimage *ret_image, struct error *e)
{
	size_t setup, name, size;

	*ret_image = (struct bzimage){ .protocol = 0 };
	if (!bzimage_is(data, len))
		return error_set(e, EINVAL, "not a bzImage (no boot header)");
	if (len < HEADER_END)
		return error_set(e, EINVAL, "a bzImage cut short (%zu bytes)", len);
	ret_image->protocol = get(data, 0x206, 2);
	if (ret_image->protocol < 0x204 || !(data[0x211] & LOADED_HIGH))
		return error_set(e, EINVAL,
				 "boot protocol %u.%02u: a kernel older than 2.6.14 or a zImage, "
				 "which kdelta cannot boot",
				 ret_image->protocol >> 8, ret_image->protocol & 0xff);
	/* boot.rst: 0 means 4, for compatibility. */
	setup = ((data[0x1f1] ? data[0x1f1] : 4u) + 1u) * SECTOR;
	size = setup + (size_t)get(data, 0x1f4, 4) * 16;
	if (size > len)
		return error_set(e, EINVAL,
				 "a bzImage cut short, %zu bytes of %zu: copy or build it again",
				 len, size);
	ret_image->is_64bit = ret_image->protocol >= 0x20c && data[0x236] & XLF_KERNEL_64;
	name = (size_t)get(data, 0x20e, 2) + 0x200;
	if (name == 0x200 || name >= setup || name >= len ||
	    !vmlinux_split_banner((const char *)data + name, (setup < len ? setup : len) - name,
				  &ret_image->release, &ret_image->version))
		return error_set(
			e, EINVAL,
			"a bzImage without a version string: not a Linux kernel, or damaged");
	find_payload(data, len, setup, ret_image);
	return 0;
}

int bzimage_vmlinux(const uint8_t *data, size_t len, const struct bzimage *image, size_t max,
		    uint8_t **ret_data, size_t *ret_len, struct error *e)
{
	const uint8_t *p = data + image->payload;
	size_t n = image->payload_len;

	if (!image->payload || image->payload > len || n > len - image->payload)
		return error_set(e, ENOENT, "the boot header does not say where the kernel is");
	/*
	 * The kernel's build appends the unpacked size to all formats but gzip, which has it as its
	 * own last word. A decoder would take it for another, broken frame.
	 */
	if (n > SIZE_APPENDED_LEN && !(p[0] == 0x1f && p[1] == 0x8b))
		n -= SIZE_APPENDED_LEN;
	return unpack_stream(p, n, max, ret_data, ret_len, e);
}

void bzimage_done(struct bzimage *image)
{
	if (!image)
		return;
	free(image->release);
	free(image->version);
	*image = (struct bzimage){ .protocol = 0 };
}
