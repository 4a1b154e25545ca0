/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that only the start of a long run needed. */
#ifndef BASE_TRIM_H
#define BASE_TRIM_H

/* Gives back to the system what the heap has free, and pages of programs and libraries as they are
 * in their files: those that are needed again come back by themselves. Takes a millisecond. */
void trim_memory(void);

#endif
