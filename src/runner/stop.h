/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals that end a run which must not end at once, since settings are to be put back: SIGINT,
 * SIGTERM and SIGHUP. One that was ignored (nohup) stays so.
 */
#ifndef KDELTA_RUNNER_STOP_H
#define KDELTA_RUNNER_STOP_H

/* From now on these signals are noted and no more. */
void stop_catch(void);
int stop_asked(void); /* the signal, or 0 */
/* Ends by the signal that came, if one did. */
void stop_die(void);

#endif
