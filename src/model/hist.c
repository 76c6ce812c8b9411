/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/hist.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"

static unsigned index_of(uint64_t v)
{
	unsigned top;

	if (v < (1u << HIST_BITS))
		return (unsigned)v;
	top = 63u - (unsigned)__builtin_clzll(v);
	/* top >= HIST_BITS; the HIST_BITS bits below the highest one choose the bucket */
	return ((top - HIST_BITS + 1u) << HIST_BITS) +
	       (unsigned)((v >> (top - HIST_BITS)) & ((1u << HIST_BITS) - 1u));
}

static double middle_of(unsigned i)
{
	unsigned power = i >> HIST_BITS;
	double low, width;

	if (!power)
		return i;
	width = ldexp(1.0, (int)power - 1);
	low = ((double)(1u << HIST_BITS) + (double)(i & ((1u << HIST_BITS) - 1u))) * width;
	return power == 1 ? low : low + width / 2;
}

void hist_add(struct hist *h, uint64_t v)
{
	/* What JSON can carry. */
	if (v > INT64_MAX)
		v = INT64_MAX;
	if (!h->count || v < h->min)
		h->min = v;
	if (!h->count || v > h->max)
		h->max = v;
	h->count++;
	h->sum += (double)v;
	h->bucket[index_of(v)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	unsigned i;

	if (!from->count)
		return;
	if (!into->count || from->min < into->min)
		into->min = from->min;
	if (!into->count || from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum += from->sum;
	for (i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

int hist_quantile(const struct hist *h, double q, double *ret)
{
	uint64_t want, seen = 0;
	unsigned i;

	if (!h->count)
		return -ENODATA;
	want = (uint64_t)ceil(q * (double)h->count);
	if (want < 1)
		want = 1;
	for (i = 0; i < HIST_BUCKETS; i++) {
		double v;

		seen += h->bucket[i];
		if (seen < want)
			continue;
		v = middle_of(i);
		if (v < (double)h->min)
			v = (double)h->min;
		if (v > (double)h->max)
			v = (double)h->max;
		*ret = v;
		return 0;
	}
	return -ENODATA;
}

json_t *hist_encode(const struct hist *h)
{
	json_t *j = json_object(), *buckets = json_array();
	unsigned i;

	json_object_set_new(j, "bits", json_u64(HIST_BITS));
	json_object_set_new(j, "min", json_u64(h->count ? h->min : 0));
	json_object_set_new(j, "max", json_u64(h->count ? h->max : 0));
	json_object_set_new(j, "sum", json_num(h->sum));
	for (i = 0; i < HIST_BUCKETS; i++) {
		json_t *pair;

		if (!h->bucket[i])
			continue;
		pair = json_array();
		json_array_append_new(pair, json_u64(i));
		json_array_append_new(pair, json_u64(h->bucket[i]));
		json_array_append_new(buckets, pair);
	}
	json_object_set_new(j, "buckets", buckets);
	return j;
}

int hist_decode(const json_t *j, struct hist *ret, struct error *e)
{
	const json_t *buckets = json_object_get(j, "buckets");
	json_int_t first = -1, last = -1;
	uint64_t bits;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (json_get_u64(j, "bits", &bits, e) < 0 || json_get_u64(j, "min", &ret->min, e) < 0 ||
	    json_get_u64(j, "max", &ret->max, e) < 0 || json_get_num(j, "sum", &ret->sum, e) < 0)
		return error_prefix(e, "histogram");
	if (!json_is_array(buckets))
		return error_set(e, EINVAL, "histogram: no buckets");
	if (bits != HIST_BITS)
		return error_set(e, EINVAL, "histogram: %llu bits, wanted %u",
				 (unsigned long long)bits, HIST_BITS);
	for (i = 0; i < json_array_size(buckets); i++) {
		const json_t *pair = json_array_get(buckets, i);
		const json_t *at = json_array_get(pair, 0), *n = json_array_get(pair, 1);
		json_int_t index = json_integer_value(at), count = json_integer_value(n);

		if (json_array_size(pair) != 2 || !json_is_integer(at) || !json_is_integer(n) ||
		    index <= last || index >= (json_int_t)HIST_BUCKETS || count <= 0 ||
		    ret->count + (uint64_t)count < ret->count)
			return error_set(e, EINVAL, "histogram: bucket %zu is not [index, count]",
					 i);
		ret->bucket[index] = (uint64_t)count;
		ret->count += (uint64_t)count;
		first = first < 0 ? index : first;
		last = index;
	}
	/* Quantiles are held between them, so they must be where the buckets are. */
	if (ret->count && (ret->min > ret->max || first != (json_int_t)index_of(ret->min) ||
			   last != (json_int_t)index_of(ret->max)))
		return error_set(e, EINVAL, "histogram: min or max is not in its buckets");
	return 0;
}
