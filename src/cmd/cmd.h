/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subcommands: one file each, found by the table in main.c. What they share is in common.h.
 *
 * Exit codes, in this precedence: 2 bad usage or unreadable input; 1 only with --fail-on; 3 done
 * in part; 0 done.
 */
#ifndef KDELTA_CMD_CMD_H
#define KDELTA_CMD_CMD_H

enum { CMD_OK = 0, CMD_GATE = 1, CMD_USAGE = 2, CMD_PARTIAL = 3 };

/* argv[0] is the subcommand's name; returns the exit code. */
int cmd_vm(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_bisect(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_label(int argc, char **argv);
int cmd_gc(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_export(int argc, char **argv);

#endif
