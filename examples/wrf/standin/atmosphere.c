#include "atmosphere.h"

#include <math.h>

static const double LAPSE = 0.0065, TROPOPAUSE_M = 11000.0, BASE_T = 290.0, BASE_LAPSE = 50.0, BASE_ISO = 200.0;
#define EXPONENT (GRAVITY / (GAS_DRY * LAPSE))

column column_of(double z500, double tv0, double q0)
{
    return (column){tv0, MIDDLE_PA * pow(1 - LAPSE * z500 / tv0, -EXPONENT), q0};
}

double column_tv0(double z500, double psl) { return LAPSE * z500 / (1 - pow(MIDDLE_PA / psl, 1 / EXPONENT)); }

static double tropopause_tv(const column *c) { return c->tv0 - LAPSE * TROPOPAUSE_M; }

static double tropopause_pressure(const column *c) { return c->psl * pow(tropopause_tv(c) / c->tv0, EXPONENT); }

double column_tv(const column *c, double p)
{
    return fmax(c->tv0 * pow(p / c->psl, 1 / EXPONENT), tropopause_tv(c));
}

double column_pressure(const column *c, double z)
{
    if (z <= TROPOPAUSE_M)
        return c->psl * pow(1 - LAPSE * z / c->tv0, EXPONENT);
    return tropopause_pressure(c) * exp(-GRAVITY * (z - TROPOPAUSE_M) / (GAS_DRY * tropopause_tv(c)));
}

double column_height(const column *c, double p)
{
    double top = tropopause_pressure(c);
    if (p >= top)
        return c->tv0 / LAPSE * (1 - pow(p / c->psl, 1 / EXPONENT));
    return TROPOPAUSE_M + GAS_DRY * tropopause_tv(c) / GRAVITY * log(top / p);
}

double column_q(const column *c, double p) { return c->q0 * pow(p / c->psl, 3.3); }

double saturation(double t, double p)
{
    double e = 611.2 * exp(17.67 * (t - 273.15) / (t - 29.65));
    return 0.622 * e / fmax(p - e, e);
}

air air_of(double tv, double p, double q)
{
    air a = {.vapour = q};
    /* temperature and what saturates depend on each other, weakly: three rounds are exact to a float */
    for (int i = 0; i < 3; i++) {
        a.t = tv / (1 + 0.608 * a.vapour);
        a.vapour = fmin(q, saturation(a.t, p));
    }
    a.cloud = q - a.vapour;
    return a;
}

double potential(double t, double p) { return t * pow(P0_PA / p, GAS_DRY / CP_DRY); }

double base_surface_pressure(double terrain)
{
    double a = BASE_T / BASE_LAPSE;
    return P0_PA * exp(-a + sqrt(a * a - 2 * GRAVITY * terrain / (BASE_LAPSE * GAS_DRY)));
}

double base_temperature(double p) { return fmax(BASE_T + BASE_LAPSE * log(p / P0_PA), BASE_ISO); }

double base_geopotential(double p, double surface, double terrain)
{
    double iso = P0_PA * exp((BASE_ISO - BASE_T) / BASE_LAPSE), low = fmax(p, iso);
    double a = log(low / P0_PA), b = log(surface / P0_PA);
    double thickness = BASE_T * (b - a) + BASE_LAPSE / 2 * (b * b - a * a);
    if (p < iso)
        thickness += BASE_ISO * log(iso / p);
    return GRAVITY * terrain + GAS_DRY * thickness;
}

double wind_profile(double sigma) { return 1 + 0.9 * (0.5 - sigma); }
