#include "dates.h"

#include <stdio.h>
#include <time.h>

long date_seconds(int year, int month, int day, int hour, int minute, int second)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day,
                    .tm_hour = hour, .tm_min = minute, .tm_sec = second};
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || minute < 0
        || minute > 59 || second < 0 || second > 59)
        return -1;
    long seconds = timegm(&tm);
    /* timegm turns 31 April into 1 May */
    return tm.tm_mday == day ? seconds : -1;
}

static struct tm parts(long seconds)
{
    struct tm tm;
    time_t time = seconds;
    gmtime_r(&time, &tm);
    return tm;
}

void date_text(long seconds, char *text)
{
    struct tm tm = parts(seconds);
    strftime(text, DATE_LENGTH + 1, "%Y-%m-%d_%H:%M:%S", &tm);
}

long date_of_text(const char *text)
{
    int year, month, day, hour, minute, second;
    if (sscanf(text, "%4d-%2d-%2d_%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) != 6)
        return -1;
    return date_seconds(year, month, day, hour, minute, second);
}

int date_year(long seconds) { return parts(seconds).tm_year + 1900; }

int date_day_of_year(long seconds) { return parts(seconds).tm_yday + 1; }
