#include "namelist.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "namelist_keys.h"
#include "rsl.h"

enum { NAME = 48, TEXT = 512, VALUES_AT_ONCE = 1000 };

typedef struct {
    char group[NAME], key[NAME];
    char **values; /* NULL where none is given: `1,,3` */
    int count;
    char line[TEXT];
} entry;

struct namelist {
    entry *entries;
    int count;
    char fault[NAME], where[TEXT];
};

typedef struct {
    const char *text, *at;
} cursor;

static void line_of(const cursor *c, char *line)
{
    const char *start = c->at, *end = c->at;
    while (start > c->text && start[-1] != '\n')
        start--;
    while (*end && *end != '\n')
        end++;
    snprintf(line, TEXT, "%.*s", (int)(end - start), start);
}

static void fault(namelist *nml, const char *group, const char *line)
{
    if (nml->fault[0])
        return;
    snprintf(nml->fault, sizeof nml->fault, "%s", group);
    snprintf(nml->where, sizeof nml->where, "%s", line);
}

static void skip_blanks(cursor *c)
{
    for (;; c->at++) {
        if (*c->at == '!')
            while (*c->at && *c->at != '\n')
                c->at++;
        if (!*c->at || !isspace((unsigned char)*c->at))
            return;
    }
}

static int name_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '%'; }

/* Reads a name in lower case; its length, 0 if there is none. */
static int name(cursor *c, char *into)
{
    int length = 0;
    while (name_char(*c->at)) {
        if (length < NAME - 1)
            into[length++] = (char)tolower((unsigned char)*c->at);
        c->at++;
    }
    into[length] = 0;
    return length;
}

/* `key =` or `key(3) =`: moves behind it and says 1, or stays and says 0. `index` counts from 0. */
static int key(cursor *c, char *into, int *index)
{
    cursor ahead = *c;
    *index = 0;
    if (!isalpha((unsigned char)*ahead.at) || !name(&ahead, into))
        return 0;
    skip_blanks(&ahead);
    if (*ahead.at == '(') {
        char *end;
        long number = strtol(ahead.at + 1, &end, 10);
        if (*end != ')' || number < 1 || number > VALUES_AT_ONCE)
            return 0;
        *index = (int)number - 1;
        ahead.at = end + 1;
        skip_blanks(&ahead);
    }
    if (*ahead.at != '=')
        return 0;
    ahead.at++;
    *c = ahead;
    return 1;
}

static entry *entry_of(namelist *nml, const char *group, const char *key)
{
    for (int i = 0; i < nml->count; i++)
        if (!strcmp(nml->entries[i].group, group) && !strcmp(nml->entries[i].key, key))
            return &nml->entries[i];
    nml->entries = realloc(nml->entries, (size_t)(nml->count + 1) * sizeof *nml->entries);
    if (!nml->entries)
        FATAL("out of memory while reading a namelist");
    entry *new = &nml->entries[nml->count++];
    memset(new, 0, sizeof *new);
    snprintf(new->group, sizeof new->group, "%s", group);
    snprintf(new->key, sizeof new->key, "%s", key);
    return new;
}

static int set(entry *e, int index, const char *value)
{
    if (index >= VALUES_AT_ONCE)
        return 0;
    if (index >= e->count) {
        char **values = must_alloc((size_t)index + 1, sizeof *values);
        for (int i = 0; i < e->count; i++)
            values[i] = e->values[i];
        free(e->values);
        e->values = values;
        e->count = index + 1;
    }
    free(e->values[index]);
    e->values[index] = value ? strdup(value) : NULL;
    return 1;
}

/* One value's text; a quoted one without its quotes, a doubled quote being one. 0 if the quote is never closed. */
static int value(cursor *c, char *into)
{
    int length = 0;
    if (*c->at == '\'' || *c->at == '"') {
        char quote = *c->at++;
        for (;; c->at++) {
            if (!*c->at || *c->at == '\n')
                return 0;
            if (*c->at == quote && *++c->at != quote)
                break;
            if (length < TEXT - 1)
                into[length++] = *c->at;
        }
    } else {
        while (*c->at && !isspace((unsigned char)*c->at) && !strchr(",/!&", *c->at)) {
            if (length < TEXT - 1)
                into[length++] = *c->at;
            c->at++;
        }
    }
    into[length] = 0;
    return 1;
}

/* The values behind `key =`, up to the next key or the group's end. 0 on an error. */
static int values(cursor *c, entry *e, int index)
{
    char text[TEXT], next[NAME];
    int after_comma = 1, ignored;
    for (;;) {
        skip_blanks(c);
        cursor ahead = *c;
        if (!*c->at || *c->at == '/' || *c->at == '&' || key(&ahead, next, &ignored))
            return 1;
        if (*c->at == ',') {
            if (after_comma && !set(e, index++, NULL))
                return 0;
            after_comma = 1;
            c->at++;
            continue;
        }
        char *star;
        long times = strtol(c->at, &star, 10);
        if (star > c->at && *star == '*') {
            if (times < 1 || times > VALUES_AT_ONCE)
                return 0;
            c->at = star + 1;
        } else {
            times = 1;
        }
        const char *before = c->at;
        if (!value(c, text) || (c->at == before && *c->at != ',' && !isspace((unsigned char)*c->at)))
            return 0;
        for (; times > 0; times--)
            if (!set(e, index++, c->at == before ? NULL : text))
                return 0;
        after_comma = 0;
    }
}

static int known(const char *group, const char *key)
{
    for (const known_group *g = known_groups; g->name; g++) {
        if (strcmp(g->name, group))
            continue;
        size_t length = strlen(key);
        for (const char *at = g->keys; (at = strstr(at, key)); at += length)
            if ((at == g->keys || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
                return 1;
        return !strcmp(group, "time_control")
               && (!strncmp(key, "auxhist", 7) || !strncmp(key, "auxinput", 8) || !strncmp(key, "io_form_aux", 11)
                   || !strncmp(key, "frames_per_aux", 14));
    }
    return 1;
}

/* Reads one group, from behind its name to behind its end. */
static void group(namelist *nml, cursor *c, const char *name_of_group)
{
    char key_name[NAME], line[TEXT];
    int index;
    for (;;) {
        skip_blanks(c);
        line_of(c, line);
        if (*c->at == '/') {
            c->at++;
            return;
        }
        if (!strncasecmp(c->at, "&end", 4)) {
            c->at += 4;
            return;
        }
        if (!key(c, key_name, &index)) {
            fault(nml, name_of_group, line);
            /* on to the next group: what else is wrong is not told, but what is asked of it should be there */
            while (*c->at && *c->at != '&')
                c->at++;
            return;
        }
        if (!known(name_of_group, key_name))
            fault(nml, name_of_group, line);
        entry *e = entry_of(nml, name_of_group, key_name);
        snprintf(e->line, sizeof e->line, "%s", line);
        if (!values(c, e, index))
            fault(nml, name_of_group, line);
    }
}

static char *contents(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t length = 0, room = 1 << 16, got;
    if (!file)
        return NULL;
    char *text = must_alloc(room, 1);
    while ((got = fread(text + length, 1, room - length - 1, file)) > 0) {
        length += got;
        if (room - length - 1 == 0) {
            char *more = realloc(text, room *= 2);
            if (!more)
                FATAL("out of memory while reading %s", path);
            text = more;
        }
    }
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    text[length] = 0;
    if (failed) {
        free(text);
        errno = failed;
        return NULL;
    }
    return text;
}

namelist *namelist_read(const char *path)
{
    char *text = contents(path), name_of_group[NAME];
    if (!text)
        return NULL;
    namelist *nml = must_alloc(1, sizeof *nml);
    cursor c = {text, text};
    while (*c.at) {
        skip_blanks(&c);
        if (*c.at == '&' && (c.at++, name(&c, name_of_group)))
            group(nml, &c, name_of_group);
        else /* text between groups is passed over, as in Fortran */
            while (*c.at && *c.at != '\n')
                c.at++;
    }
    free(text);
    return nml;
}

void namelist_free(namelist *nml)
{
    for (int i = 0; i < nml->count; i++) {
        for (int j = 0; j < nml->entries[i].count; j++)
            free(nml->entries[i].values[j]);
        free(nml->entries[i].values);
    }
    free(nml->entries);
    free(nml);
}

static const entry *find(const namelist *nml, const char *group, const char *key, int index)
{
    for (int i = 0; i < nml->count; i++) {
        const entry *e = &nml->entries[i];
        if (!strcmp(e->group, group) && !strcmp(e->key, key))
            return index < e->count && e->values[index] ? e : NULL;
    }
    return NULL;
}

long namelist_int(namelist *nml, const char *group, const char *key, int index, long otherwise)
{
    const entry *e = find(nml, group, key, index);
    char *end;
    if (!e)
        return otherwise;
    errno = 0;
    long number = strtol(e->values[index], &end, 10);
    if (errno || *end || end == e->values[index] || number > 1000000000 || number < -1000000000) {
        fault(nml, group, e->line);
        return otherwise;
    }
    return number;
}

double namelist_real(namelist *nml, const char *group, const char *key, int index, double otherwise)
{
    const entry *e = find(nml, group, key, index);
    char text[TEXT], *end;
    if (!e)
        return otherwise;
    snprintf(text, sizeof text, "%s", e->values[index]);
    for (char *at = text; *at; at++) /* Fortran's exponent of a double: 1.D4 */
        if (*at == 'd' || *at == 'D')
            *at = 'e';
    double number = strtod(text, &end);
    /* strtod takes `nan`, `inf` and hexadecimal, too */
    if (*end || end == text || !(number > -1e30 && number < 1e30) || strpbrk(text, "xX")) {
        fault(nml, group, e->line);
        return otherwise;
    }
    return number;
}

int namelist_logical(namelist *nml, const char *group, const char *key, int index, int otherwise)
{
    const entry *e = find(nml, group, key, index);
    if (!e)
        return otherwise;
    const char *text = e->values[index];
    char first = (char)tolower((unsigned char)text[text[0] == '.']);
    if (first != 't' && first != 'f') {
        fault(nml, group, e->line);
        return otherwise;
    }
    return first == 't';
}

const char *namelist_text(namelist *nml, const char *group, const char *key, int index, const char *otherwise)
{
    const entry *e = find(nml, group, key, index);
    return e ? e->values[index] : otherwise;
}

const char *namelist_fault(const namelist *nml, const char **where)
{
    *where = nml->where;
    return nml->fault[0] ? nml->fault : NULL;
}

int namelist_write(const namelist *nml, const char *path)
{
    const char *open_group = "";
    FILE *file = fopen(path, "w");
    if (!file)
        return errno;
    /* a group may stand in pieces in the file: each is written where its first key stood */
    for (int i = 0; i < nml->count; i++) {
        const entry *e = &nml->entries[i];
        if (strcmp(open_group, e->group))
            fprintf(file, "%s &%s\n", *open_group ? " /\n" : "", e->group);
        open_group = e->group;
        fprintf(file, " %s = ", e->key);
        for (int j = 0; j < e->count; j++) {
            const char *text = e->values[j] ? e->values[j] : "";
            int plain = strspn(text, "0123456789+-.eEdD") == strlen(text) || *text == '.' || !text[1];
            fprintf(file, plain ? "%s," : "'%s',", text);
        }
        fputc('\n', file);
    }
    if (*open_group)
        fputs(" /\n", file);
    int failed = ferror(file) ? EIO : 0;
    return fclose(file) ? errno : failed;
}
