/* One column of air in hydrostatic balance, and WRF's base state. All are functions of their arguments alone, so that
   a column is the same on whatever rank it is computed.

   Below 11 km the virtual temperature falls by 6.5 K per km from `tv0` at sea level, above it is constant; with the
   height of the 500 hPa surface this gives pressure everywhere. Pa, K, m, kg/kg. */
#ifndef ATMOSPHERE_H
#define ATMOSPHERE_H

#define GRAVITY 9.81
#define GAS_DRY 287.0
#define CP_DRY 1004.5
#define P0_PA 100000.0
#define T0_K 300.0 /* what WRF's T is a perturbation of */
#define MIDDLE_PA 50000.0

typedef struct {
    double tv0, psl; /* virtual temperature and pressure at sea level */
    double q0;       /* mixing ratio at sea level */
} column;

column column_of(double z500, double tv0, double q0);
/* tv0 from heights of two surfaces: the sea-level pressure and the height of 500 hPa. */
double column_tv0(double z500, double psl);
double column_tv(const column *c, double p);
double column_pressure(const column *c, double z);
double column_height(const column *c, double p);
/* Mixing ratio before condensation: falls with the power 3.3 of pressure. */
double column_q(const column *c, double p);

/* Over water, Bolton (1980). */
double saturation(double t, double p);
/* Air of virtual temperature `tv` with `q` of water in all, of which what exceeds saturation is cloud. */
typedef struct {
    double t, vapour, cloud;
} air;
air air_of(double tv, double p, double q);
double potential(double t, double p);

/* WRF's base state, base_temp 290 K, base_lapse 50 K, iso_temp 200 K. */
double base_surface_pressure(double terrain);
double base_temperature(double p);
/* Geopotential at p over terrain whose base pressure is `surface`, m2 s-2. */
double base_geopotential(double p, double surface, double terrain);

/* The wind where pressure is the part `sigma` of the surface's, as a part of that at 500 hPa. */
double wind_profile(double sigma);

#endif
