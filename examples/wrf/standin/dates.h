/* Dates of the Gregorian calendar as seconds since 1970-01-01 00:00:00, and WRF's text for them. */
#ifndef DATES_H
#define DATES_H

enum { DATE_LENGTH = 19 };

/* -1 if there is no such date. Years 1 to 9999. */
long date_seconds(int year, int month, int day, int hour, int minute, int second);
/* `2024-01-15_12:00:00`; `text` has DATE_LENGTH + 1 bytes. */
void date_text(long seconds, char *text);
/* The inverse; -1 if it is none. */
long date_of_text(const char *text);
int date_year(long seconds);
int date_day_of_year(long seconds);

#endif
