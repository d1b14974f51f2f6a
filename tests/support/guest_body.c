/* A program to be placed in a guest: `guest_body COUNT_FILE MIB` touches so much memory, says so by a
   byte on its standard output, waits for one on its standard input, and then counts its loops in the
   file until it is killed. */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)atol(argv[2]) << 20;
    volatile char *touched = malloc(size);
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (touched == NULL || file < 0 || ftruncate(file, (off_t)page) != 0)
        return 1;
    volatile long *counts = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counts == MAP_FAILED)
        return 1;
    for (size_t at = 0; at < size; at += page)
        touched[at] = 1;
    char byte = 'x';
    if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1)
        return 1;
    for (;;)
        ++*counts;
}
