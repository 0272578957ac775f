"""The keys of namelist.input by group and type, as the Registry of WRF 4.7 (em_real and WRF-Chem) declares them.

Facts extracted from the `rconfig` lines; the keys of the numbered streams (auxhist1 …) are matched by `stream_type`.
"""

from __future__ import annotations

import re

_BY_TYPE: dict[str, dict[str, str]] = {
    "afwa": {
        "integer": (
            "afwa_bad_data_check afwa_buoy_opt afwa_cloud_opt afwa_diag_opt afwa_icing_opt afwa_ptype_opt "
            "afwa_radar_opt afwa_severe_opt afwa_therm_opt afwa_turb_opt afwa_vil_opt afwa_vis_opt"
        ),
        "real": "afwa_ptype_ccn_tmp afwa_ptype_tot_melt",
    },
    "bdy_control": {
        "integer": "real_data_init_type relax_zone spec_bdy_width spec_zone",
        "logical": (
            "constant_bc have_bcs_moist have_bcs_scalar multi_bdy_files nested open_xe open_xs open_ye open_ys "
            "periodic_x periodic_y polar specified symmetric_xe symmetric_xs symmetric_ye symmetric_ys"
        ),
        "real": "spec_exp",
    },
    "chem": {
        "character": (
            "emi_inname emi_outname exo_coldens_inname fireemi_inname fireemi_outname fixed_ubc_inname "
            "input_chem_inname input_chem_outname term_opt track_chem_name trop_lev_inname vprm_opt "
            "wes_seasonal_inname"
        ),
        "integer": (
            "aer_aerodynres_opt aer_bc_opt aer_drydep_opt aer_ic_opt aer_op_opt aer_ra_feedback aerchem_onoff "
            "aero_cw_diag_opt aero_diag_opt aero_srf_area_diag aircraft_emiss_opt bio_emiss_opt biomass_burn_opt "
            "biomass_emiss_opt cam_mam_mode cam_mam_nspec chem_conv_tr chem_in_opt chem_opt chemdiag cld_od_opt "
            "cldchem_onoff conv_tr_aqchem conv_tr_wetscav diagnostic_chem diagnostic_dep dmsemis_opt dust_dsr "
            "dust_opt dust_schme dust_smois dust_soils dust_veg dustwd_onoff emiss_inpt_opt emiss_opt "
            "emiss_opt_vol gas_bc_opt gas_drydep_opt gas_ic_opt gaschem_onoff gsfcgce_gocart_coupling "
            "gsfcrad_gocart_coupling io_style_emissions irr_opt kdepvel kdvel kemit kemit_aircraft kfcup_diag "
            "kfire kfuture lnox_opt mosaic_aerchem_optaa mozart_ph_diag n2o5_hetchem ndepvel ne_area nh3emis_opt "
            "nmegan opt_pars_out phot_opt pht_cldfrc_opt plumerisefire_frq seas_opt track_chem_num track_rad_num "
            "track_tuv_lev track_tuv_num vertmix_onoff wetscav_onoff"
        ),
        "logical": (
            "cam_mp_mam_cpled do_isorropia do_n2o5het do_pvozone has_o3_exo_coldens have_bcs_chem have_bcs_tracer "
            "have_bcs_upper is_full_tuv lnox_passive mynn_chem_vertmx phot_blcld scale_fire_emiss "
            "scale_o3_to_du_at_grnd scale_o3_to_gfs_tot scale_o3_to_grnd_exo_coldens"
        ),
        "real": (
            "af_lambda_end af_lambda_start bioemdt chemdt depo_fact du_at_grnd dust_alpha dust_gamma dust_smtune "
            "dust_ustune emiss_ash_hgt fixed_ubc_press lambda_cutoff n_cg n_ic photdt wflood wpeat"
        ),
    },
    "dfi_control": {
        "integer": (
            "dfi_bckstop_day dfi_bckstop_hour dfi_bckstop_minute dfi_bckstop_month dfi_bckstop_second "
            "dfi_bckstop_year dfi_cutoff_seconds dfi_fwdstop_day dfi_fwdstop_hour dfi_fwdstop_minute "
            "dfi_fwdstop_month dfi_fwdstop_second dfi_fwdstop_year dfi_nfilter dfi_opt dfi_savehydmeteors "
            "dfi_time_dim"
        ),
        "logical": "dfi_write_dfi_history dfi_write_filtered_input",
    },
    "diags": {
        "integer": (
            "diag_nwp2 extrap_below_grnd num_press_levels num_z_levels p_lev_diags p_lev_diags_dfi "
            "solar_diagnostics use_tot_or_hyd_p z_lev_diags z_lev_diags_dfi"
        ),
        "real": "p_lev_missing press_levels z_lev_missing z_levels",
    },
    "domains": {
        "integer": (
            "adaptation_domain auto_levels_opt blend_width corral_dist e_sn e_vert e_we extrap_type feedback "
            "force_sfc_in_vinterp gca_input_opt grid_id hypsometric_opt i_parent_start ideal_init_method "
            "interp_method_type interp_type irand j_parent_start lagrange_order lats_to_mic linear_interp max_dom "
            "max_step_increase_pct max_time_step max_time_step_den max_ts_level max_ts_locs max_vortex_speed "
            "min_time_step min_time_step_den moad_grid_ratio moad_time_step_ratio move_cd_x move_cd_y move_id "
            "move_interval nest_interp_coord nproc_x nproc_y num_ext_model_couple_dom num_gca_levels "
            "num_metgrid_levels num_metgrid_soil_levels num_moves num_traj num_wif_levels numtiles numtiles_inc "
            "numtiles_x numtiles_y ocean_levels parent_grid_ratio parent_id parent_time_step_ratio rebalance "
            "rh2qv_method s_sn s_vert s_we shw smooth_option sr_x sr_y starting_time_step starting_time_step_den "
            "t_extrap_type tile_strategy tile_sz_x tile_sz_y time_step time_step_dfi time_step_fract_den "
            "time_step_fract_num track_level track_loc_in ts_buf_size use_maxw_level use_trop_level "
            "vert_refine_fact vert_refine_method vortex_interval wif_input_opt"
        ),
        "logical": (
            "adjust_heights aggregate_lu cycle_x cycle_y grid_allowed interp_theta lowest_lev_from_sfc "
            "perturb_input reorder_mesh rh2qv_wrt_liquid sfcp_to_sfcp smooth_cg_topo step_to_output_time swap_x "
            "swap_y tslist_unstagger_winds use_adaptive_time_step use_adaptive_time_step_dfi "
            "use_levels_below_ground use_sh_qv use_surface use_tavg_for_tsk"
        ),
        "real": (
            "dx dy dzbot dzstretch_s dzstretch_u eta_levels max_dz maxw_above_this_level maxw_horiz_pres_diff "
            "ocean_s ocean_t ocean_z p_top_requested qv_max_flag qv_max_p_safe qv_max_value qv_min_flag "
            "qv_min_p_safe qv_min_value reasonable_time_step_ratio target_cfl target_hcfl time_to_move "
            "trop_horiz_pres_diff zap_close_levels ztop"
        ),
    },
    "dynamics": {
        "integer": (
            "chem_adv_opt damp_opt diff_6th_opt diff_6th_slopeopt diff_opt diff_opt_dfi do_avgflx_cugd "
            "do_avgflx_em dyn_opt gwd_diags gwd_opt h_mom_adv_order h_sca_adv_order hybrid_opt km_opt km_opt_dfi "
            "m_opt mix_isotropic moist_adv_dfi_opt moist_adv_opt momentum_adv_opt phi_adv_z rad_nudge rk_ord "
            "scalar_adv_opt sfs_opt tenddiag time_step_sound tke_adv_opt tracer_adv_opt tracer_opt use_q_diabatic "
            "use_theta_m v_mom_adv_order v_sca_adv_order w_damping zadvect_implicit"
        ),
        "logical": (
            "actual_distance_average chem_mix2_off chem_mix6_off coriolis2d coupled_filtering do_coriolis "
            "do_curvature do_gradp mix_full_fields moist_mix2_off moist_mix6_off non_hydrostatic pert_coriolis "
            "pos_def rotated_pole scalar_mix2_off scalar_mix6_off swap_pole_with_next_j tke_mix2_off tke_mix6_off "
            "top_lid top_radiation tracer_mix2_off tracer_mix6_off use_baseparam_fr_nml use_input_w"
        ),
        "real": (
            "base_lapse base_lapse_strat base_pres base_pres_strat base_temp c_k c_s dampcoef diff_6th_factor "
            "diff_6th_thresh emdiv epssm etac fft_filter_lat iso_temp khdif kvdif mix_upper_bound smdiv "
            "tke_drag_coefficient tke_heat_flux tke_upper_bound w_crit_cfl zdamp"
        ),
    },
    "fdda": {
        "character": "gfdda_inname sgfdda_inname",
        "integer": (
            "dk_zfac_ph dk_zfac_q dk_zfac_t dk_zfac_uv fgdtzero gfdda_begin_d gfdda_begin_h gfdda_begin_m "
            "gfdda_begin_s gfdda_begin_y gfdda_end_d gfdda_end_h gfdda_end_m gfdda_end_s gfdda_end_y "
            "gfdda_interval gfdda_interval_d gfdda_interval_h gfdda_interval_m gfdda_interval_s gfdda_interval_y "
            "grid_fdda grid_sfdda if_no_pbl_nudging_ph if_no_pbl_nudging_q if_no_pbl_nudging_t "
            "if_no_pbl_nudging_uv if_ramping if_zfac_ph if_zfac_q if_zfac_t if_zfac_uv io_form_gfdda "
            "io_form_sgfdda k_zfac_ph k_zfac_q k_zfac_t k_zfac_uv ktrop max_obs obs_idynin obs_ionf "
            "obs_no_pbl_nudge_q obs_no_pbl_nudge_t obs_no_pbl_nudge_uv obs_npfi obs_nudge_mois obs_nudge_opt "
            "obs_nudge_pstr obs_nudge_temp obs_nudge_wind obs_prt_freq obs_prt_max obs_scl_neg_qv_innov "
            "obs_sfc_scheme_horiz obs_sfc_scheme_vert pxlsm_soil_nudge sgfdda_begin_d sgfdda_begin_h "
            "sgfdda_begin_m sgfdda_begin_s sgfdda_begin_y sgfdda_end_d sgfdda_end_h sgfdda_end_m sgfdda_end_s "
            "sgfdda_end_y sgfdda_interval sgfdda_interval_d sgfdda_interval_h sgfdda_interval_m sgfdda_interval_s "
            "sgfdda_interval_y xwavenum ywavenum"
        ),
        "logical": "obs_ipf_errob obs_ipf_in4dob obs_ipf_init obs_ipf_nudob",
        "real": (
            "dtramp_min fdda_end fdda_start fgdt gph gq gq_sfc gt gt_sfc guv guv_sfc obs_coef_mois obs_coef_pstr "
            "obs_coef_temp obs_coef_wind obs_dpsmx obs_dtramp obs_max_sndng_gap obs_nudgezfullmin "
            "obs_nudgezfullr1_q obs_nudgezfullr1_t obs_nudgezfullr1_uv obs_nudgezfullr2_q obs_nudgezfullr2_t "
            "obs_nudgezfullr2_uv obs_nudgezfullr4_q obs_nudgezfullr4_t obs_nudgezfullr4_uv obs_nudgezmax "
            "obs_nudgezrampmin obs_nudgezrampr1_q obs_nudgezrampr1_t obs_nudgezrampr1_uv obs_nudgezrampr2_q "
            "obs_nudgezrampr2_t obs_nudgezrampr2_uv obs_nudgezrampr4_q obs_nudgezrampr4_t obs_nudgezrampr4_uv "
            "obs_rinsig obs_rinxy obs_sfcfacr obs_sfcfact obs_twindo rinblw"
        ),
    },
    "fire": {
        "integer": (
            "fire_advection fire_boundary_guard fire_fmc_read fire_fuel_cat fire_fuel_left_irl fire_fuel_left_jrl "
            "fire_fuel_left_method fire_fuel_read fire_grows_only fire_lsm_band_ngp fire_lsm_reinit_iter "
            "fire_mountain_type fire_num_ignitions fire_print_file fire_print_msg fire_sfc_flx fire_shape "
            "fire_smk_scheme fire_sprd_mdl fire_test_steps fire_topo_from_atm fire_upwind_split fire_upwinding "
            "fire_upwinding_reinit fire_viscosity_ngp fmoist_freq fs_array_maxsize fs_firebrand_gen_dt "
            "fs_firebrand_gen_levels fs_firebrand_gen_levrand_seed fs_firebrand_gen_lim fs_firebrand_gen_maxhgt "
            "fs_firebrand_gen_mom3d_dt fs_firebrand_max_life_dt ifire nfmc sfc_isltyp sfc_ivgtyp sfc_lu_index"
        ),
        "logical": (
            "fire_is_real_perim fire_lsm_reinit fire_lsm_zcoupling fire_read_atm_grad fire_read_atm_ht "
            "fire_read_fire_grad fire_read_fire_ht fire_read_lu fire_read_tmn fire_read_tsk fmoist_interp "
            "fmoist_only fmoist_run fs_firebrand_gen_levrand fuel_crosswalk sfc_full_init stretch_grd stretch_hyp "
            "trackember"
        ),
        "real": (
            "delt_perturbation fire_atm_feedback fire_const_grnhfx fire_const_grnqfx fire_const_time "
            "fire_crwn_hgt fire_ext_crwn fire_ext_grnd fire_heat_peak fire_ign_time fire_ignition_end_lat1 "
            "fire_ignition_end_lat2 fire_ignition_end_lat3 fire_ignition_end_lat4 fire_ignition_end_lat5 "
            "fire_ignition_end_lon1 fire_ignition_end_lon2 fire_ignition_end_lon3 fire_ignition_end_lon4 "
            "fire_ignition_end_lon5 fire_ignition_end_time1 fire_ignition_end_time2 fire_ignition_end_time3 "
            "fire_ignition_end_time4 fire_ignition_end_time5 fire_ignition_end_x1 fire_ignition_end_x2 "
            "fire_ignition_end_x3 fire_ignition_end_x4 fire_ignition_end_x5 fire_ignition_end_y1 "
            "fire_ignition_end_y2 fire_ignition_end_y3 fire_ignition_end_y4 fire_ignition_end_y5 "
            "fire_ignition_radius1 fire_ignition_radius2 fire_ignition_radius3 fire_ignition_radius4 "
            "fire_ignition_radius5 fire_ignition_ros1 fire_ignition_ros2 fire_ignition_ros3 fire_ignition_ros4 "
            "fire_ignition_ros5 fire_ignition_start_lat1 fire_ignition_start_lat2 fire_ignition_start_lat3 "
            "fire_ignition_start_lat4 fire_ignition_start_lat5 fire_ignition_start_lon1 fire_ignition_start_lon2 "
            "fire_ignition_start_lon3 fire_ignition_start_lon4 fire_ignition_start_lon5 fire_ignition_start_time1 "
            "fire_ignition_start_time2 fire_ignition_start_time3 fire_ignition_start_time4 "
            "fire_ignition_start_time5 fire_ignition_start_x1 fire_ignition_start_x2 fire_ignition_start_x3 "
            "fire_ignition_start_x4 fire_ignition_start_x5 fire_ignition_start_y1 fire_ignition_start_y2 "
            "fire_ignition_start_y3 fire_ignition_start_y4 fire_ignition_start_y5 fire_lat_init fire_lfn_ext_up "
            "fire_lon_init fire_lsm_zcoupling_ref fire_mountain_end_x fire_mountain_end_y fire_mountain_height "
            "fire_mountain_start_x fire_mountain_start_y fire_slope_factor fire_smk_ext fire_smk_peak fire_tg_ub "
            "fire_tracer_smoke fire_viscosity fire_viscosity_band fire_viscosity_bg fire_wind_height "
            "fmep_decay_tlag fmoist_dt fs_firebrand_dens fs_firebrand_dens_char fs_firebrand_gen_prop_diam "
            "fs_firebrand_gen_prop_effd fs_firebrand_gen_prop_temp fs_firebrand_gen_prop_tvel "
            "fs_firebrand_land_hgt hght_perturbation sfc_canwat sfc_tmn sfc_tsk sfc_vegfra xrad_perturbation "
            "yrad_perturbation z_grd_scale zrad_perturbation"
        ),
    },
    "grib2": {
        "integer": "background_proc_id compression forecast_proc_id production_status",
    },
    "ideal": {
        "integer": "ideal_case",
    },
    "namelist_adios2": {
        "character": "adios2_blosc_compressor",
        "integer": "adios2_numaggregators",
        "logical": "adios2_compression_enable",
    },
    "namelist_quilt": {
        "integer": "nio_groups nio_tasks_per_group",
        "logical": "poll_servers",
    },
    "noah_mp": {
        "integer": (
            "dveg noahmp_output opt_alb opt_btr opt_crop opt_crs opt_frz opt_gla opt_inf opt_infdv opt_irr "
            "opt_irrm opt_pedo opt_rad opt_rsf opt_run opt_sfc opt_snf opt_soil opt_stc opt_tbot opt_tdrn"
        ),
        "real": "noahmp_acc_dt soiltstep",
    },
    "physics": {
        "character": "megan_factors_file megan_specifier path_to_files physics_suite",
        "integer": (
            "acc_phy_tend aer_angexp_opt aer_aod550_opt aer_asy_opt aer_opt aer_ssa_opt aer_type aercu_opt "
            "alevsiz alevsiz_cu bl_mynn_cloudmix bl_mynn_cloudpdf bl_mynn_edmf bl_mynn_edmf_mom bl_mynn_edmf_tke "
            "bl_mynn_mixlength bl_mynn_mixqt bl_mynn_mixscalars bl_mynn_output bl_pbl_physics cam_abs_dim1 "
            "cam_abs_dim2 ccnty cellcount_method chem_opt cldovrlp clean_atm_diag clos_choice co2tf cu_diag "
            "cu_physics cugd_avedx default_soiltype distributed_ahe_opt do_radar_ref dust_emis elec_physics "
            "ensdim erosion_dim flag_sm_adj fractional_seaice ghg_input grav_settling gsfcgce_2ice gsfcgce_hail "
            "hail_opt hailcast_opt iccg_method icloud icloud_bl idcor ideal_xland ifsnow imomentum "
            "irr_end_julianday irr_freq irr_num_hours irr_ph irr_start_hour irr_start_julianday isfflx isftcflx "
            "ishallow iz0tlnd kf_edrates kfeta_trigger lagday levsiz lightning_option madwrf_cldinit madwrf_opt "
            "maxens maxens2 maxens3 maxiens maxpatch mfshconv morr_rimed_ice mosaic_cat mosaic_lu mosaic_soil "
            "mp_physics mp_zero_out mp_zero_out_all no_mp_heating no_src_types no_src_types_cu nsas_dx_factor "
            "nssl_2moment_on nssl_3moment nssl_ccn_is_ccna nssl_ccn_on nssl_density_on nssl_hail_on nssl_ibrkd "
            "nssl_icdx nssl_icdxhl nssl_idischarge nssl_ipelec nssl_isaund nssl_iscreen nssl_ssat_output "
            "nudge_light_int nudge_light_timee nudge_light_times nudge_lightning num_land_cat num_months "
            "num_pft_clm num_snow_layers num_snso_layers num_soil_cat num_soil_layers num_urban_hi numbins "
            "o3input omlcall opt_thcnd paerlev progn pxlsm_modis_veg pxlsm_smois_init qna_update ra_call_offset "
            "ra_lw_physics ra_sw_eclipse ra_sw_physics sbm_diagnostics scalar_pblmix seaice_albedo_opt "
            "seaice_snowdepth_opt seaice_thickness_opt sf_lake_physics sf_ocean_physics sf_sfclay_physics "
            "sf_surf_irr_scheme sf_surface_mosaic sf_surface_physics sf_urban_physics shalwater_z0 "
            "shcu_aerosols_opt shcu_physics shinhong_tke_diag slope_rad sst_skin sst_update surface_input_source "
            "swint_opt tke_budget tmn_update topo_shading topo_wind tracer_pblmix tracercall traj_opt "
            "use_lakedepth use_mp_re use_wudapt_lcz wif_fire_inj windfarm_ij windfarm_opt windfarm_overlap_method "
            "windfarm_wake_model ysu_topdown_pblmix"
        ),
        "logical": (
            "bl_mynn_tkeadvect bmj_rad_feedback couple_farms cu_rad_feedback dm_has_traj force_read_thompson "
            "input_pft insert_init_cloud megan_mapped_emisfctrs rdlai2d rdmaxalb shallowcu_forced_ra "
            "slucm_distributed_drag tice2tsk_if2cold ua_phys use_aero_icbc use_rap_aero_icbc usemonalb "
            "wif_fire_emit write_thompson_mp38table write_thompson_tables"
        ),
        "real": (
            "accum_mode aer_angexp_val aer_aod550_val aer_asy_val aer_ssa_val aercu_fct aitken_mode "
            "bl_mynn_closure bldt bucket_j bucket_mm cam_abs_freq_s ccn_conc cldtop_adjustment coarse_mode "
            "convtrans_avglen_m cudt flashrate_factor gsmdt haildt iccg_prescribed_den iccg_prescribed_num "
            "irr_daily_amount lake_min_elev lakedepth_default lightning_dt lightning_start_seconds "
            "ltng_temp_lower ltng_temp_upper madwrf_dt_nudge madwrf_dt_relax mindeepfreq minshallowfreq "
            "mp_tend_lim mp_zero_out_thresh naer nssl_alphah nssl_alphahl nssl_cccn nssl_cnoh nssl_cnohl "
            "nssl_cnor nssl_cnos nssl_disfrac nssl_ecrit nssl_lightrad nssl_rho_qh nssl_rho_qhl nssl_rho_qs omdt "
            "oml_gamma oml_hml0 oml_relaxation_time prec_acc_dt radt rbinsize sas_pgcon seaice_albedo_default "
            "seaice_snowdepth_max seaice_snowdepth_min seaice_thickness_default seaice_threshold shadlen "
            "shalwater_depth swrad_scat thbinsize windfarm_deg windfarm_tke_factor wtddt"
        ),
    },
    "pio_control": {
        "integer": "pioprocs pioshift piostart piostride",
        "logical": "usepio",
    },
    "scm": {
        "integer": (
            "num_force_layers num_force_soil_layers scm_force scm_force_flux scm_force_skintemp scm_isltyp scm_lu_index"
        ),
        "logical": (
            "scm_force_ql_largescale scm_force_qv_largescale scm_force_th_largescale scm_force_wind_largescale "
            "scm_ql_adv scm_qv_adv scm_qv_t_tend scm_soilq_force scm_soilt_force scm_th_adv scm_th_t_tend "
            "scm_vert_adv scm_wind_adv"
        ),
        "real": "scm_canwat scm_force_dx scm_lat scm_lon scm_vegfra",
    },
    "stoch": {
        "integer": (
            "iseed_rand_pert iseed_skebs iseed_spp_conv iseed_spp_lsm iseed_spp_pbl iseed_sppt kmaxforc kmaxforct "
            "kminforc kminforct lmaxforc lmaxforct lminforc lminforct multi_perturb nens num_pert_3d perturb_bdy "
            "perturb_chem_bdy rand_pert_vertstruc rand_perturb skebs skebs_vertstruc spp spp_conv spp_lsm spp_pbl "
            "sppt sppt_vertstruc stoch_force_opt stoch_vertstruc_opt vertstruc_spp_conv vertstruc_spp_lsm "
            "vertstruc_spp_pbl"
        ),
        "logical": "hrrr_cycling pert_cld3 pert_deng pert_farms pert_mynn pert_noah pert_thom",
        "real": (
            "gridpt_stddev_rand_pert gridpt_stddev_spp_conv gridpt_stddev_spp_lsm gridpt_stddev_spp_pbl "
            "gridpt_stddev_sppt lengthscale_rand_pert lengthscale_spp_conv lengthscale_spp_lsm "
            "lengthscale_spp_pbl lengthscale_sppt pert_cld3_qv pert_cld3_t pert_deng_qc pert_deng_qv pert_deng_t "
            "pert_deng_w pert_farms_aerasy pert_farms_albedo pert_farms_angexp pert_farms_aod pert_farms_qc "
            "pert_farms_qs pert_farms_qv pert_mynn_qc pert_mynn_qke pert_mynn_qv pert_mynn_t pert_noah_qv "
            "pert_noah_smois pert_noah_t pert_noah_tslb pert_thom_ni pert_thom_qc pert_thom_qi pert_thom_qs "
            "pert_thom_qv rexponent_psi rexponent_t spdt stddev_cutoff_rand_pert stddev_cutoff_spp_conv "
            "stddev_cutoff_spp_lsm stddev_cutoff_spp_pbl stddev_cutoff_sppt timescale_rand_pert "
            "timescale_spp_conv timescale_spp_lsm timescale_spp_pbl timescale_sppt tot_backscat_psi "
            "tot_backscat_t zsigma2_eps zsigma2_eta ztau_psi ztau_t"
        ),
    },
    "tc": {
        "integer": "num_storm",
        "logical": "insert_bogus_storm remove_storm",
        "real": "latc_loc lonc_loc rankine_lid rmax vmax_meters_per_second vmax_ratio",
    },
    "time_control": {
        "character": (
            "auxinput12_inname auxinput1_inname bdy_inname bdy_outname history_inname history_outname "
            "input_inname input_outname iofields_filename rsmas_data_path rst_inname rst_outname"
        ),
        "integer": (
            "debug_level diag_print diurnal_diag end_day end_hour end_minute end_month end_second end_year "
            "fine_input_stream frames_per_outfile history_begin history_begin_d history_begin_h history_begin_m "
            "history_begin_s history_begin_y history_end history_end_d history_end_h history_end_m history_end_s "
            "history_end_y history_interval history_interval_d history_interval_h history_interval_m "
            "history_interval_s iau inputout_begin_d inputout_begin_h inputout_begin_m inputout_begin_s "
            "inputout_begin_y inputout_end_d inputout_end_h inputout_end_m inputout_end_s inputout_end_y "
            "inputout_interval inputout_interval_d inputout_interval_h inputout_interval_m inputout_interval_s "
            "interval_seconds io_form_auxinput1 io_form_auxinput12 io_form_boundary io_form_history io_form_input "
            "io_form_restart julday julyr mean_diag mean_diag_interval mean_diag_interval_d mean_diag_interval_h "
            "mean_diag_interval_m mean_diag_interval_mo mean_diag_interval_s mean_freq mean_interval "
            "nwp_diagnostics output_diagnostics restart_begin restart_begin_d restart_begin_h restart_begin_m "
            "restart_begin_s restart_begin_y restart_interval restart_interval_d restart_interval_h "
            "restart_interval_m restart_interval_s run_days run_hours run_minutes run_seconds start_day "
            "start_hour start_minute start_month start_second start_year"
        ),
        "logical": (
            "adjust_input_times adjust_output_times all_ic_times cycling force_use_old_data "
            "ignore_iofields_warning input_from_file input_from_hires ncd_nofill nocolons output_ready_flag "
            "override_restart_timers reset_simulation_start restart self_test_domain use_netcdf_classic "
            "write_hist_at_0h_rst write_input write_restart_at_0h"
        ),
        "real": "gmt iau_time_window_sec",
    },
    "wrf_cmaq": {
        "integer": "met_file_tstep wrf_cmaq_freq wrf_cmaq_option",
        "logical": "direct_sw_feedback feedback_restart",
    },
}

_STREAM = r"(?:auxhist|auxinput)[0-9]{1,2}"
_CLOCK = r"(?:_[ydhms])?"
_STREAM_KEYS = (
    (re.compile(rf"{_STREAM}_(?:inname|outname)"), "character"),
    (re.compile(rf"{_STREAM}_(?:interval|begin|end){_CLOCK}|io_form_{_STREAM}|frames_per_{_STREAM}"), "integer"),
    (re.compile(rf"(?:history|restart|inputout|boundary|input)_(?:interval|begin|end){_CLOCK}"), "integer"),
)

KEYS: dict[str, dict[str, str]] = {
    group: {key: kind for kind, keys in types.items() for key in keys.split()} for group, types in _BY_TYPE.items()
}
"""Type of each key: character, integer, logical or real."""


def type_of(group: str, key: str) -> str | None:
    """None where WRF 4.7 has no such key in that group."""
    found = KEYS.get(group, {}).get(key)
    return found or (stream_type(key) if group == "time_control" else None)


def stream_type(key: str) -> str | None:
    """Of a key of an input or output stream, all of which stand in &time_control."""
    return next((kind for pattern, kind in _STREAM_KEYS if pattern.fullmatch(key)), None)
