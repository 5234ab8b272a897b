/* Runs a fuzz target over the files and folders named on the command line: the kept corpus as a test, without libFuzzer. */
#include <dirent.h>
#include <stdio.h>

#include "byte_source.h"

static int replayed = 0;

static void replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return;
    const long size = ftell(file);
    uint8_t *data = malloc((size_t)size + 1);

    rewind(file);
    if (size >= 0 && fread(data, 1, (size_t)size, file) == (size_t)size) {
        fprintf(stderr, "%s\n", path); /* the last one named is the one that failed */
        LLVMFuzzerTestOneInput(data, (size_t)size);
        replayed++;
    }
    free(data);
    fclose(file);
}

static void replay_folder(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) {
        replay(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        replay(name);
    }
    closedir(folder);
}

int main(int count, char **paths) {
    for (int i = 1; i < count; i++) replay_folder(paths[i]);
    printf("replay: %d passed, 0 failed\n", replayed);
    return replayed > 0 ? 0 : 1;
}
