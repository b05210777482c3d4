/* An engine with workers, each of which opens a GPU; every process says where it is, a line each:
 *
 *   NAME pid=PID pus=LIST threads=N policy=WORDS
 *
 *   engine FILE HOW WORK...   HOW: fork, spawn, linked or asked (spawned workers that reach the driver otherwise), or hip
 *                             (spawned, by HIP: N chooses a device and makes a stream, cN allocates there, xN asks for
 *                             more memory than it has);
 *                             WORK: a worker each, some letters and numbers: N opens device N (first), cN the same by
 *                             cuCtxCreate, xN opens N and is refused, tN starts a thread that narrows itself to PU N,
 *                             w one that does not, lN narrows this thread to PU N, mN prefers memory of node N, hN takes 24 MiB of memory of node N,
 *                             f forks before it goes on, p is of the engine itself
 *
 * All wait for FILE, and end; the engine ends with 42 if all workers end with 0. "before", "after" and "late" in names
 * are of a process before its first device, after its last, and once FILE is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LINKED
extern int cuDevicePrimaryCtxRetain(size_t *, int);
#endif

static const char *file, *how;

static void place(char *to, const char *path, const char *key)
{
    char line[4096];
    FILE *from = fopen(path, "r");
    strcpy(to, "?");
    while (from && fgets(line, sizeof line, from))
        if (!strncmp(line, key, strlen(key))) {
            sscanf(line + strlen(key), " %1000s", to);
            break;
        }
    if (from)
        fclose(from);
}

static void say(const char *name, const char *when)
{
    char pus[1024], threads[1024], policy[1024];
    place(pus, "/proc/thread-self/status", "Cpus_allowed_list:");
    place(threads, "/proc/self/status", "Threads:");
    /* The policy of the first mapping, without its space: "prefer (many):3". */
    FILE *maps = fopen("/proc/thread-self/numa_maps", "r");
    char many[1024] = "";
    if (!maps || fscanf(maps, "%*s %500s %500s", policy, many) != 2)
        strcpy(policy, "?");
    else if (*many == '(')
        strcat(policy, many);
    if (maps)
        fclose(maps);
    printf("%s-%s pid=%d pus=%s threads=%s policy=%s\n", name, when, getpid(), pus, threads, policy);
    fflush(stdout);
}

static void narrow(int pu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        perror("sched_setaffinity"), exit(6);
}

static void await(void)
{
    while (access(file, F_OK))
        usleep(2000);
}

static const char *thread_name;
static int thread_pu;
static pthread_barrier_t narrowed;

static void *thread(void *unused)
{
    (void)unused;
    if (thread_pu >= 0)
        narrow(thread_pu);
    pthread_barrier_wait(&narrowed);
    await();
    say(thread_name, "thread");
    return NULL;
}

static pthread_t start(int pu)
{
    pthread_t made;
    thread_pu = pu;
    pthread_barrier_init(&narrowed, NULL, 2);
    pthread_create(&made, NULL, thread, NULL);
    pthread_barrier_wait(&narrowed);
    return made;
}

/* Another device is chosen first, and only asked. */
static int use_device(int device, int allocates, size_t bytes)
{
    size_t made, all, free;
    void *hip = dlopen("libamdhip64.so.7", RTLD_NOW);
    int (*choose)(int) = hip ? (int (*)(int))dlsym(hip, "hipSetDevice") : NULL;
    if (!choose || choose(!device) || ((int (*)(size_t *, size_t *))dlsym(hip, "hipMemGetInfo"))(&free, &all) || choose(device))
        fprintf(stderr, "no HIP: %s\n", dlerror()), exit(7);
    if (allocates)
        return ((int (*)(size_t *, size_t))dlsym(hip, "hipMalloc"))(&made, bytes);
    return ((int (*)(size_t *, unsigned))dlsym(hip, "hipStreamCreateWithFlags"))(&made, 1);
}

static int open_device(int device, int creates)
{
    if (!strcmp(how, "hip"))
        return use_device(device, creates, 4096);
    static void *driver;
    size_t context = 0;
    if (!driver) {
        driver = dlopen("libcuda.so.1", RTLD_NOW);
        if (!driver || ((int (*)(unsigned))dlsym(driver, "cuInit"))(0))
            fprintf(stderr, "no driver: %s\n", dlerror()), exit(7);
    }
    int handle = -1;
    if (((int (*)(int *, int))dlsym(driver, "cuDeviceGet"))(&handle, device))
        handle = 999;
    int (*retain)(size_t *, int) = (int (*)(size_t *, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (creates)
        return ((int (*)(size_t *, unsigned, int))dlsym(driver, "cuCtxCreate_v2"))(&context, 0, handle);
    if (!strcmp(how, "asked")) {
        int status = 0;
        int (*ask)(const char *, void *, int, unsigned long long, int *) = dlsym(driver, "cuGetProcAddress_v2");
        if (ask("cuDevicePrimaryCtxRetain", &retain, 12040, 0, &status))
            exit(8);
    }
#ifdef LINKED
    if (!strcmp(how, "linked"))
        retain = cuDevicePrimaryCtxRetain;
#endif
    int code = retain(&context, handle);
    if (!code)
        code = ((int (*)(size_t))dlsym(driver, "cuCtxSetCurrent"))(context);
    return code;
}

static int work(const char *name, const char *letters)
{
    pthread_t threads[8];
    int count = 0;
    thread_name = name;
    for (const char *at = letters; *at;) {
        char letter = *at >= '0' && *at <= '9' ? 'o' : *at++;
        int number = (int)strtol(at, (char **)&at, 10);
        unsigned long mask = 1ul << (number & 63);
        if (letter == 'o' || letter == 'c') {
            say(name, "before");
            if (open_device(number, letter == 'c'))
                return 3;
        } else if (letter == 'x' && !(strcmp(how, "hip") ? open_device(number, 0) : use_device(number, 1, (size_t)1 << 40)))
            return 4;
        else if (letter == 't')
            threads[count++] = start(number);
        else if (letter == 'w')
            threads[count++] = start(-1);
        else if (letter == 'l')
            narrow(number);
        else if (letter == 'm' && syscall(SYS_set_mempolicy, 1, &mask, 64ul))
            perror("set_mempolicy"), exit(5);
        else if (letter == 'h') {
            size_t bytes = 24 << 20;
            void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (syscall(SYS_set_mempolicy, 2, &mask, 64ul))
                perror("set_mempolicy"), exit(5);
            memset(memory, 1, bytes);
            syscall(SYS_set_mempolicy, 0, NULL, 0ul);
        }
        else if (letter == 'f' && fork()) {
            int status = 1;
            wait(&status);
            return WEXITSTATUS(status);
        }
    }
    say(name, "after");
    await();
    while (count)
        pthread_join(threads[--count], NULL);
    say(name, "late");
    return 0;
}

int main(int count, char **words)
{
    if (count < 4)
        return 2;
    file = words[1], how = words[2];
    if (!strcmp(words[3], "worker"))
        return work(words[4], words[5]);

    int all = 0, good = 0;
    say("engine", "before");
    for (int at = 3; at < count; at++) {
        char name[16];
        snprintf(name, sizeof name, "%d", at - 3);
        if (*words[at] == 'p') {
            if (open_device(atoi(words[at] + 1), 0))
                return 3;
            continue;
        }
        all++;
        if (!fork()) {
            if (strcmp(how, "fork")) {
                execl("/proc/self/exe", words[0], file, how, "worker", name, words[at], (char *)NULL);
                _exit(9);
            }
            exit(work(name, words[at]));
        }
    }
    say("engine", "after");
    for (int at = 0; at < all; at++) {
        int status;
        wait(&status);
        good += status == 0;
        if (status)
            fprintf(stderr, "a worker ended with %d\n", status);
    }
    say("engine", "late");
    return good == all ? 42 : 1;
}
