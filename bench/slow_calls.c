/* What a slow disk does, and a slow way in: a library for LD_PRELOAD that has some calls of a
 * server take longer, by as many microseconds as SLOW_FLUSH_US (fsync, fdatasync), SLOW_READ_US
 * (pread) and SLOW_ACCEPT_US (accept, accept4) say. Used by attribution_levers.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

static long flush_us, read_us, accept_us;

static long asked(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? 0 : atol(value);
}

__attribute__((constructor)) static void begin(void)
{
    flush_us = asked("SLOW_FLUSH_US");
    read_us = asked("SLOW_READ_US");
    accept_us = asked("SLOW_ACCEPT_US");
}

static void sleep_us(long us)
{
    struct timespec length = {us / 1000000, us % 1000000 * 1000};
    if (us > 0)
        nanosleep(&length, NULL);
}

#define NEXT(name, type, arguments) ((type(*) arguments)dlsym(RTLD_NEXT, name))

int fsync(int file)
{
    sleep_us(flush_us);
    return NEXT("fsync", int, (int))(file);
}

int fdatasync(int file)
{
    sleep_us(flush_us);
    return NEXT("fdatasync", int, (int))(file);
}

ssize_t pread(int file, void *to, size_t size, off_t at)
{
    sleep_us(read_us);
    return NEXT("pread", ssize_t, (int, void *, size_t, off_t))(file, to, size, at);
}

ssize_t pread64(int file, void *to, size_t size, off64_t at)
{
    sleep_us(read_us);
    return NEXT("pread64", ssize_t, (int, void *, size_t, off64_t))(file, to, size, at);
}

int accept(int socket, struct sockaddr *from, socklen_t *length)
{
    int found = NEXT("accept", int, (int, struct sockaddr *, socklen_t *))(socket, from, length);
    sleep_us(accept_us);
    return found;
}

int accept4(int socket, struct sockaddr *from, socklen_t *length, int flags)
{
    int found = NEXT("accept4", int, (int, struct sockaddr *, socklen_t *, int))(
        socket, from, length, flags);
    sleep_us(accept_us);
    return found;
}
