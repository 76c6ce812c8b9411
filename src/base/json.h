/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON on top of jansson: one way to write it, one way to read a field with a clear error.
 * Never writes NaN or an infinity: those become null. Keys keep the order they were set in.
 */
#ifndef KDELTA_BASE_JSON_H
#define KDELTA_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* One line, compact, no trailing newline, 17 significant digits; caller frees. */
char *json_line(const json_t *j);
/* Indented by two spaces, with a trailing newline; caller frees. */
char *json_pretty(const json_t *j);
/* Parses exactly one value; duplicates of a key are refused. `name` is for the error. */
int json_parse(const char *text, size_t len, const char *name, json_t **ret, struct error *e);

/* A real number, or null when it is not finite. */
json_t *json_num(double v);
json_t *json_str(const char *s); /* NULL gives null; bytes that are not UTF-8 become U+FFFD */
json_t *json_u64(uint64_t v);	 /* above 2^63-1: clamped */

/* Required fields of an object: -EINVAL with the field's name if absent or of another type. */
int json_get_str(const json_t *o, const char *key, const char **ret, struct error *e);
int json_get_u64(const json_t *o, const char *key, uint64_t *ret, struct error *e);
int json_get_num(const json_t *o, const char *key, double *ret, struct error *e);
/* Optional fields: the default if absent, null or of another type. */
const char *json_opt_str(const json_t *o, const char *key, const char *def);
uint64_t json_opt_u64(const json_t *o, const char *key, uint64_t def);
double json_opt_num(const json_t *o, const char *key, double def);
bool json_opt_bool(const json_t *o, const char *key, bool def);

void json_unref(json_t **j); /* for CLEANUP_JSON */
#define CLEANUP_JSON __attribute__((cleanup(json_unref)))

#endif
