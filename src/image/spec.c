/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define APPEND	  ",append="
#define CONFIG	  ",config="
#define DEBIAN	  "debian:"
#define INSTALLED "installed:"
#define GIT	  "git:"
#define FILE_NAME 255u /* bytes of a file's name, and a release is a part of one */
#define FORMS                                                                                      \
	"a path to a bzImage, vmlinux, .deb or build tree, installed:RELEASE, running, "           \
	"debian:RELEASE or git:REV, then optionally ,append=..."

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._+-", c));
}

/* Length of one UTF-8 sequence of a printable character, or 0 (RFC 3629). */
static size_t utf8_char(const unsigned char *s)
{
	size_t n = *s < 0x80		     ? 1
		   : *s >= 0xc2 && *s < 0xe0 ? 2
		   : *s >= 0xe0 && *s < 0xf0 ? 3
		   : *s >= 0xf0 && *s < 0xf5 ? 4
					     : 0;

	if (!n || *s < 0x20 || *s == 0x7f)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xc2 && s[1] < 0xa0) || (*s == 0xe0 && s[1] < 0xa0) ||
	    (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

int image_label_check(const char *label, struct error *e)
{
	const unsigned char *s = (const unsigned char *)label;
	size_t n;

	if (!*s)
		return error_set(e, EINVAL, "the label is empty");
	if (strlen(label) > IMAGE_LABEL_MAX)
		return error_set(e, EINVAL, "the label is longer than %u bytes", IMAGE_LABEL_MAX);
	for (; *s; s += n) {
		n = utf8_char(s);
		if (!n)
			return error_set(e, EINVAL,
					 "the label holds a control character or is not UTF-8");
	}
	return 0;
}

/* "LABEL"=...: the label without its quotes, and what stands behind '='. */
static int quoted_label(const char *text, char **ret_label, const char **ret_rest, struct error *e)
{
	struct str label = STR_INIT;
	const char *s = text + 1;

	while (*s && *s != '"') {
		if (*s == '\\' && (s[1] == '"' || s[1] == '\\'))
			s++;
		str_add_c(&label, *s++);
	}
	if (*s != '"' || s[1] != '=') {
		str_done(&label);
		return error_set(e, EINVAL,
				 "a quoted label ends with \"= and then the kernel, as in "
				 "'\"my label\"=PATH' (a path that begins with a quote: ./%s)",
				 text);
	}
	*ret_label = str_take(&label);
	*ret_rest = s + 2;
	return image_label_check(*ret_label, e);
}

/* The '=' behind a label, or NULL. */
static const char *plain_label_end(const char *kernel)
{
	const char *s = kernel;

	if (*s == '-' || access(kernel, F_OK) == 0)
		return NULL;
	while (*s && is_word(*s))
		s++;
	return *s == '=' && s != kernel ? s : NULL;
}

/* debian:WHAT: what apt can be asked for, and nothing that it could take for an option. */
static int check_debian(const char *what, struct error *e)
{
	size_t n = strcspn(what, "="), i;
	const char *version = what[n] ? what + n + 1 : NULL;

	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)what[i]) && !strchr(".+~-", what[i]))
			break;
	if (!n || i < n || !isalnum((unsigned char)*what) || n > 100)
		return error_set(e, EINVAL,
				 "not a release: write debian:RELEASE as `kdelta list kernels` "
				 "shows it, for example debian:6.1.0-55-cloud-amd64");
	if (version && (!isalnum((unsigned char)*version) || strlen(version) > 100 ||
			version[strspn(version, "abcdefghijklmnopqrstuvwxyz"
						"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+~-:")]))
		return error_set(e, EINVAL, "'%s' is not a package version", version);
	return 0;
}

/* installed:WHAT becomes a part of paths. */
static int check_installed(const char *what, struct error *e)
{
	if (!*what || *what == '.' || strchr(what, '/') || strlen(what) > FILE_NAME)
		return error_set(e, EINVAL,
				 "not a release: write installed:RELEASE as `kdelta list kernels` "
				 "shows it");
	return 0;
}

/* git:REV[,config=FILE]: nothing that git could take for an option or for many commits. */
static int parse_git(const char *text, struct kernel_spec *k, struct error *e)
{
	const char *config = strstr(text, CONFIG), *s;

	k->what = config ? mem_strndup(text, (size_t)(config - text)) : mem_strdup(text);
	if (config)
		k->config = mem_strdup(config + strlen(CONFIG));
	if (!*k->what || *k->what == '-')
		return error_set(e, EINVAL, "no commit is named: write git:REV, as in git:HEAD~1");
	if (strstr(k->what, ".."))
		return error_set(e, EINVAL, "a range of commits: name one, as in git:HEAD~1");
	for (s = k->what; *s; s++)
		if (iscntrl((unsigned char)*s))
			return error_set(e, EINVAL, "a control character in the commit's name");
	s = strrchr(k->what, ',');
	if (s && strchr(s, '='))
		return error_set(e, EINVAL,
				 "unknown option '%.*s': ,config= and ,append= are known",
				 (int)strcspn(s + 1, "="), s + 1);
	if (k->config && !*k->config)
		return error_set(e, EINVAL, "config= wants a file");
	return 0;
}

/* A name that could be a form of later versions, not a path: "rpm:6.1". */
static bool looks_like_form(const char *what)
{
	size_t n = 0;

	while (islower((unsigned char)what[n]) || what[n] == '+' || what[n] == '-')
		n++;
	return n > 1 && what[n] == ':';
}

static int check_file(const char *what, struct error *e)
{
	const char *comma, *s;

	if (access(what, F_OK) == 0)
		return 0;
	if (looks_like_form(what))
		return error_set(e, EINVAL,
				 "unknown form; KERNEL is %s (a file of that name: ./%s)", FORMS,
				 what);
	for (comma = strchr(what, ','); comma; comma = strchr(comma + 1, ',')) {
		for (s = comma + 1; islower((unsigned char)*s) || *s == '-' || *s == '_'; s++)
			;
		if (*s == '=' && s > comma + 1)
			return error_set(e, EINVAL, "unknown option '%.*s': only ,append= is known",
					 (int)(s - comma - 1), comma + 1);
	}
	return 0; /* opening it gives the reason */
}

static int parse(const char *text, struct kernel_spec *k, struct error *e)
{
	CLEANUP_FREE char *kernel = NULL;
	const char *rest = text, *mark, *what;
	int r;

	if (*text == '"') {
		r = quoted_label(text, &k->label, &rest, e);
		if (r < 0)
			return r;
	}
	mark = strstr(rest, APPEND);
	kernel = mark ? mem_strndup(rest, (size_t)(mark - rest)) : mem_strdup(rest);
	if (mark)
		k->append = mem_strdup(mark + strlen(APPEND));
	what = kernel;
	mark = k->label ? NULL : plain_label_end(kernel);
	if (mark) {
		k->label = mem_strndup(kernel, (size_t)(mark - kernel));
		what = mark + 1;
		r = image_label_check(k->label, e);
		if (r < 0)
			return r;
	}
	if (!*what)
		return error_set(e, EINVAL, "no kernel is named; KERNEL is %s", FORMS);
	if (str_starts(what, DEBIAN)) {
		k->source = KERNEL_DEBIAN;
		k->what = mem_strdup(what + strlen(DEBIAN));
		return check_debian(k->what, e);
	}
	if (access(what, F_OK) < 0) {
		if (str_starts(what, GIT)) {
			k->source = KERNEL_GIT;
			return parse_git(what + strlen(GIT), k, e);
		}
		if (str_starts(what, INSTALLED)) {
			k->source = KERNEL_INSTALLED;
			k->what = mem_strdup(what + strlen(INSTALLED));
			return check_installed(k->what, e);
		}
		if (!strcmp(what, "running"))
			k->source = KERNEL_RUNNING;
	}
	k->what = mem_strdup(what);
	return k->source == KERNEL_FILE ? check_file(what, e) : 0;
}

int kernel_spec_parse(const char *text, struct kernel_spec *ret_spec, struct error *e)
{
	int r;

	*ret_spec = (struct kernel_spec){ .text = mem_strdup(text) };
	r = parse(text, ret_spec, e);
	if (r < 0) {
		error_prefix(e, "%s", *text ? text : "''");
		kernel_spec_done(ret_spec);
	}
	return r;
}

void kernel_spec_done(struct kernel_spec *spec)
{
	if (!spec)
		return;
	free(spec->label);
	free(spec->what);
	free(spec->config);
	free(spec->append);
	free(spec->text);
	*spec = (struct kernel_spec){ .text = NULL };
}

char *kernel_spec_kernel(const struct kernel_spec *spec)
{
	static const char *const prefixes[] = { [KERNEL_FILE] = "",
						[KERNEL_DEBIAN] = DEBIAN,
						[KERNEL_INSTALLED] = INSTALLED,
						[KERNEL_RUNNING] = "",
						[KERNEL_GIT] = GIT };

	return mem_printf("%s%s%s%s", prefixes[spec->source], spec->what,
			  spec->config ? CONFIG : "", spec->config ? spec->config : "");
}

static bool is_taken(const char *label, const char *const *taken, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(label, taken[i]))
			return true;
	return false;
}

char *image_label_unique(const char *label, const char *const *taken, size_t n)
{
	char *s = mem_strdup(label);

	for (size_t i = 2; is_taken(s, taken, n); i++) {
		free(s);
		s = mem_printf("%s_%zu", label, i);
	}
	return s;
}

char *image_label_default(const struct kernel_spec *spec, const char *release)
{
	struct str label = STR_INIT;
	const char *name, *s;

	if (release && spec->source != KERNEL_GIT) {
		str_add(&label, release);
	} else if (spec->source == KERNEL_DEBIAN) {
		str_add_n(&label, spec->what, strcspn(spec->what, "="));
	} else {
		/* Branches have slashes, too, and they tell them apart. */
		name = spec->source == KERNEL_GIT ? NULL : strrchr(spec->what, '/');
		name = name && name[1] ? name + 1 : spec->what;
		for (s = name; *s; s++)
			str_add_c(&label, is_word(*s) ? *s : '_');
	}
	s = spec->append ? spec->append + strspn(spec->append, " ") : "";
	if (*s) {
		str_add_c(&label, '+');
		for (; *s && *s != ' ' && *s != '='; s++)
			str_add_c(&label, is_word(*s) ? *s : '_');
	}
	return str_take(&label);
}
