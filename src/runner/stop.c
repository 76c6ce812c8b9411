/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/stop.h"

#include <signal.h>
#include <string.h>

#include "base/mem.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t asked;

static void on_signal(int number)
{
	asked = number;
}

void stop_catch(void)
{
	struct sigaction sa, old;
	size_t i;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_RESTART;
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

int stop_asked(void)
{
	return asked;
}

void stop_die(void)
{
	if (!asked)
		return;
	signal(asked, SIG_DFL);
	raise(asked);
}
