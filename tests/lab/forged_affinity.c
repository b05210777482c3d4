/* Stands between the daemons of a lab whose node is a saved machine and the kernel of this one: a binding is written down and not made,
 * since the saved machine's CPUs are not here. FORGED_AFFINITY names the folder: the file of a process's number holds its mask, in
 * hexadecimal. FORGED_CPUS is the number of CPUs that a process without a file is taken to have. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *mask_of(pid_t pid, const char *mode)
{
	const char *folder = getenv("FORGED_AFFINITY");
	char path[4096];

	snprintf(path, sizeof path, "%s/%d", folder ? folder : ".", pid ? (int)pid : (int)getpid());
	return fopen(path, mode);
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	FILE *file = mask_of(pid, "w");
	int digit, bit, value;

	if (!file)
		return -1;
	for (digit = (int)size * 2 - 1; digit >= 0; digit--) {
		for (value = 0, bit = 0; bit < 4; bit++)
			value |= CPU_ISSET_S(digit * 4 + bit, size, set) ? 1 << bit : 0;
		fprintf(file, "%x", value);
	}
	fputc('\n', file);
	return fclose(file);
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	FILE *file = mask_of(pid, "r");
	const char *all = getenv("FORGED_CPUS");
	int cpus = all ? atoi(all) : 1, cpu, at, value, bit;
	char text[8192] = "";

	if ((size_t)(cpus + 7) / 8 > size) {
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(size, set);
	if (!file) {
		for (cpu = 0; cpu < cpus; cpu++)
			CPU_SET_S(cpu, size, set);
		return 0;
	}
	if (!fgets(text, sizeof text, file))
		text[0] = 0;
	fclose(file);
	text[strcspn(text, "\n")] = 0;
	for (at = (int)strlen(text) - 1, cpu = 0; at >= 0; at--, cpu += 4) {
		value = (int)strtol((char[]){text[at], 0}, NULL, 16);
		for (bit = 0; bit < 4; bit++)
			if (value >> bit & 1 && (size_t)(cpu + bit) < size * 8)
				CPU_SET_S(cpu + bit, size, set);
	}
	return 0;
}
