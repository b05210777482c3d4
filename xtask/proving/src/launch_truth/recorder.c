// Preloaded into a launcher and its daemons: a binding is written down and not done, so that a launcher binds the ranks of a saved machine that is larger
// than this one. As the kernel does, it leaves out PUs that the machine does not have, and refuses a binding to those alone. A process's PUs stand in the file
// of its number in $TRUTH_FOLDER; $TRUTH_ONLINE lists the saved machine's PUs.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int file_of(pid_t pid, char *path, size_t size) {
    const char *folder = getenv("TRUTH_FOLDER");
    return folder && snprintf(path, size, "%s/%d", folder, (int)(pid ? pid : gettid())) < (int)size;
}

static void parse(const char *list, size_t size, cpu_set_t *set) {
    CPU_ZERO_S(size, set);
    for (char *end; list && *list; list = *end == ',' ? end + 1 : end) {
        long pu = strtol(list, &end, 10);
        if (end == list) {
            break;
        }
        CPU_SET_S((size_t)pu, size, set);
    }
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
    char path[4096], online[1024];
    parse(getenv("TRUTH_ONLINE"), sizeof online, (cpu_set_t *)online);
    int count = 0;
    for (size_t pu = 0; pu < 8 * size; pu++) {
        count += CPU_ISSET_S(pu, size, set) && CPU_ISSET_S(pu, sizeof online, (cpu_set_t *)online);
    }
    if (!count) {
        errno = EINVAL;
        return -1;
    }
    int file = file_of(pid, path, sizeof path) ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0) {
        errno = EPERM;
        return -1;
    }
    const char *comma = "";
    for (size_t pu = 0; pu < 8 * size; pu++) {
        if (CPU_ISSET_S(pu, size, set) && CPU_ISSET_S(pu, sizeof online, (cpu_set_t *)online)) {
            dprintf(file, "%s%zu", comma, pu);
            comma = ",";
        }
    }
    dprintf(file, "\n");
    return close(file);
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    char path[4096], text[32768];
    const char *list = getenv("TRUTH_ONLINE");
    int file = file_of(pid, path, sizeof path) ? open(path, O_RDONLY) : -1;
    if (file >= 0) {
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        if (length > 0) {
            text[length] = '\0';
            list = text;
        }
    }
    if (!list) {
        errno = EINVAL;
        return -1;
    }
    parse(list, size, set);
    return 0;
}
