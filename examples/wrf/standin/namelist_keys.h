/* The keys that WRF 4.7 (its Registry) knows in the groups the stand-in checks; another one is an error there. Keys of the
   numbered streams (auxhist1 ...) are known by their beginning. Other groups are not checked. */
#ifndef NAMELIST_KEYS_H
#define NAMELIST_KEYS_H

#include <stddef.h>

typedef struct {
    const char *name, *keys;
} known_group;

static const known_group known_groups[] = {
    {"time_control",
     "adjust_input_times adjust_output_times all_ic_times auxinput12_inname auxinput1_inname bdy_inname "
     "bdy_outname cycling debug_level diag_print diurnal_diag end_day end_hour end_minute end_month end_second "
     "end_year fine_input_stream force_use_old_data frames_per_outfile gmt history_begin history_begin_d "
     "history_begin_h history_begin_m history_begin_s history_begin_y history_end history_end_d history_end_h "
     "history_end_m history_end_s history_end_y history_inname history_interval history_interval_d "
     "history_interval_h history_interval_m history_interval_s history_outname iau iau_time_window_sec "
     "ignore_iofields_warning input_from_file input_from_hires input_inname input_outname inputout_begin_d "
     "inputout_begin_h inputout_begin_m inputout_begin_s inputout_begin_y inputout_end_d inputout_end_h "
     "inputout_end_m inputout_end_s inputout_end_y inputout_interval inputout_interval_d inputout_interval_h "
     "inputout_interval_m inputout_interval_s interval_seconds io_form_auxinput1 io_form_auxinput12 "
     "io_form_boundary io_form_history io_form_input io_form_restart iofields_filename julday julyr mean_diag "
     "mean_diag_interval mean_diag_interval_d mean_diag_interval_h mean_diag_interval_m mean_diag_interval_mo "
     "mean_diag_interval_s mean_freq mean_interval ncd_nofill nocolons nwp_diagnostics output_diagnostics "
     "output_ready_flag override_restart_timers reset_simulation_start restart restart_begin restart_begin_d "
     "restart_begin_h restart_begin_m restart_begin_s restart_begin_y restart_interval restart_interval_d "
     "restart_interval_h restart_interval_m restart_interval_s rsmas_data_path rst_inname rst_outname run_days "
     "run_hours run_minutes run_seconds self_test_domain start_day start_hour start_minute start_month "
     "start_second start_year use_netcdf_classic write_hist_at_0h_rst write_input write_restart_at_0h"},
    {"domains",
     "adaptation_domain adjust_heights aggregate_lu auto_levels_opt blend_width corral_dist cycle_x cycle_y dx dy "
     "dzbot dzstretch_s dzstretch_u e_sn e_vert e_we eta_levels extrap_type feedback force_sfc_in_vinterp "
     "gca_input_opt grid_allowed grid_id hypsometric_opt i_parent_start ideal_init_method interp_method_type "
     "interp_theta interp_type irand j_parent_start lagrange_order lats_to_mic linear_interp lowest_lev_from_sfc "
     "max_dom max_dz max_step_increase_pct max_time_step max_time_step_den max_ts_level max_ts_locs "
     "max_vortex_speed maxw_above_this_level maxw_horiz_pres_diff min_time_step min_time_step_den moad_grid_ratio "
     "moad_time_step_ratio move_cd_x move_cd_y move_id move_interval nest_interp_coord nproc_x nproc_y "
     "num_ext_model_couple_dom num_gca_levels num_metgrid_levels num_metgrid_soil_levels num_moves num_traj "
     "num_wif_levels numtiles numtiles_inc numtiles_x numtiles_y ocean_levels ocean_s ocean_t ocean_z "
     "p_top_requested parent_grid_ratio parent_id parent_time_step_ratio perturb_input qv_max_flag qv_max_p_safe "
     "qv_max_value qv_min_flag qv_min_p_safe qv_min_value reasonable_time_step_ratio rebalance reorder_mesh "
     "rh2qv_method rh2qv_wrt_liquid s_sn s_vert s_we sfcp_to_sfcp shw smooth_cg_topo smooth_option sr_x sr_y "
     "starting_time_step starting_time_step_den step_to_output_time swap_x swap_y t_extrap_type target_cfl "
     "target_hcfl tile_strategy tile_sz_x tile_sz_y time_step time_step_dfi time_step_fract_den "
     "time_step_fract_num time_to_move track_level track_loc_in trop_horiz_pres_diff ts_buf_size "
     "tslist_unstagger_winds use_adaptive_time_step use_adaptive_time_step_dfi use_levels_below_ground "
     "use_maxw_level use_sh_qv use_surface use_tavg_for_tsk use_trop_level vert_refine_fact vert_refine_method "
     "vortex_interval wif_input_opt zap_close_levels ztop"},
    {"physics",
     "acc_phy_tend accum_mode aer_angexp_opt aer_angexp_val aer_aod550_opt aer_aod550_val aer_asy_opt aer_asy_val "
     "aer_opt aer_ssa_opt aer_ssa_val aer_type aercu_fct aercu_opt aitken_mode alevsiz alevsiz_cu bl_mynn_closure "
     "bl_mynn_cloudmix bl_mynn_cloudpdf bl_mynn_edmf bl_mynn_edmf_mom bl_mynn_edmf_tke bl_mynn_mixlength "
     "bl_mynn_mixqt bl_mynn_mixscalars bl_mynn_output bl_mynn_tkeadvect bl_pbl_physics bldt bmj_rad_feedback "
     "bucket_j bucket_mm cam_abs_dim1 cam_abs_dim2 cam_abs_freq_s ccn_conc ccnty cellcount_method chem_opt "
     "cldovrlp cldtop_adjustment clean_atm_diag clos_choice co2tf coarse_mode convtrans_avglen_m couple_farms "
     "cu_diag cu_physics cu_rad_feedback cudt cugd_avedx default_soiltype distributed_ahe_opt dm_has_traj "
     "do_radar_ref dust_emis elec_physics ensdim erosion_dim flag_sm_adj flashrate_factor force_read_thompson "
     "fractional_seaice ghg_input grav_settling gsfcgce_2ice gsfcgce_hail gsmdt hail_opt hailcast_opt haildt "
     "iccg_method iccg_prescribed_den iccg_prescribed_num icloud icloud_bl idcor ideal_xland ifsnow imomentum "
     "input_pft insert_init_cloud irr_daily_amount irr_end_julianday irr_freq irr_num_hours irr_ph irr_start_hour "
     "irr_start_julianday isfflx isftcflx ishallow iz0tlnd kf_edrates kfeta_trigger lagday lake_min_elev "
     "lakedepth_default levsiz lightning_dt lightning_option lightning_start_seconds ltng_temp_lower "
     "ltng_temp_upper madwrf_cldinit madwrf_dt_nudge madwrf_dt_relax madwrf_opt maxens maxens2 maxens3 maxiens "
     "maxpatch megan_factors_file megan_mapped_emisfctrs megan_specifier mfshconv mindeepfreq minshallowfreq "
     "morr_rimed_ice mosaic_cat mosaic_lu mosaic_soil mp_physics mp_tend_lim mp_zero_out mp_zero_out_all "
     "mp_zero_out_thresh naer no_mp_heating no_src_types no_src_types_cu nsas_dx_factor nssl_2moment_on "
     "nssl_3moment nssl_alphah nssl_alphahl nssl_cccn nssl_ccn_is_ccna nssl_ccn_on nssl_cnoh nssl_cnohl nssl_cnor "
     "nssl_cnos nssl_density_on nssl_disfrac nssl_ecrit nssl_hail_on nssl_ibrkd nssl_icdx nssl_icdxhl "
     "nssl_idischarge nssl_ipelec nssl_isaund nssl_iscreen nssl_lightrad nssl_rho_qh nssl_rho_qhl nssl_rho_qs "
     "nssl_ssat_output nudge_light_int nudge_light_timee nudge_light_times nudge_lightning num_land_cat num_months "
     "num_pft_clm num_snow_layers num_snso_layers num_soil_cat num_soil_layers num_urban_hi numbins o3input omdt "
     "oml_gamma oml_hml0 oml_relaxation_time omlcall opt_thcnd paerlev path_to_files physics_suite prec_acc_dt "
     "progn pxlsm_modis_veg pxlsm_smois_init qna_update ra_call_offset ra_lw_physics ra_sw_eclipse ra_sw_physics "
     "radt rbinsize rdlai2d rdmaxalb sas_pgcon sbm_diagnostics scalar_pblmix seaice_albedo_default "
     "seaice_albedo_opt seaice_snowdepth_max seaice_snowdepth_min seaice_snowdepth_opt seaice_thickness_default "
     "seaice_thickness_opt seaice_threshold sf_lake_physics sf_ocean_physics sf_sfclay_physics sf_surf_irr_scheme "
     "sf_surface_mosaic sf_surface_physics sf_urban_physics shadlen shallowcu_forced_ra shalwater_depth "
     "shalwater_z0 shcu_aerosols_opt shcu_physics shinhong_tke_diag slope_rad slucm_distributed_drag sst_skin "
     "sst_update surface_input_source swint_opt swrad_scat thbinsize tice2tsk_if2cold tke_budget tmn_update "
     "topo_shading topo_wind tracer_pblmix tracercall traj_opt ua_phys use_aero_icbc use_lakedepth use_mp_re "
     "use_rap_aero_icbc use_wudapt_lcz usemonalb wif_fire_emit wif_fire_inj windfarm_deg windfarm_ij windfarm_opt "
     "windfarm_overlap_method windfarm_tke_factor windfarm_wake_model write_thompson_mp38table "
     "write_thompson_tables wtddt ysu_topdown_pblmix"},
    {"dynamics",
     "actual_distance_average base_lapse base_lapse_strat base_pres base_pres_strat base_temp c_k c_s chem_adv_opt "
     "chem_mix2_off chem_mix6_off coriolis2d coupled_filtering damp_opt dampcoef diff_6th_factor diff_6th_opt "
     "diff_6th_slopeopt diff_6th_thresh diff_opt diff_opt_dfi do_avgflx_cugd do_avgflx_em do_coriolis do_curvature "
     "do_gradp dyn_opt emdiv epssm etac fft_filter_lat gwd_diags gwd_opt h_mom_adv_order h_sca_adv_order "
     "hybrid_opt iso_temp khdif km_opt km_opt_dfi kvdif m_opt mix_full_fields mix_isotropic mix_upper_bound "
     "moist_adv_dfi_opt moist_adv_opt moist_mix2_off moist_mix6_off momentum_adv_opt non_hydrostatic pert_coriolis "
     "phi_adv_z pos_def rad_nudge rk_ord rotated_pole scalar_adv_opt scalar_mix2_off scalar_mix6_off sfs_opt smdiv "
     "swap_pole_with_next_j tenddiag time_step_sound tke_adv_opt tke_drag_coefficient tke_heat_flux tke_mix2_off "
     "tke_mix6_off tke_upper_bound top_lid top_radiation tracer_adv_opt tracer_mix2_off tracer_mix6_off tracer_opt "
     "use_baseparam_fr_nml use_input_w use_q_diabatic use_theta_m v_mom_adv_order v_sca_adv_order w_crit_cfl "
     "w_damping zadvect_implicit zdamp"},
    {"bdy_control",
     "constant_bc have_bcs_moist have_bcs_scalar multi_bdy_files nested open_xe open_xs open_ye open_ys periodic_x "
     "periodic_y polar real_data_init_type relax_zone spec_bdy_width spec_exp spec_zone specified symmetric_xe "
     "symmetric_xs symmetric_ye symmetric_ys"},
    {"namelist_quilt",
     "nio_groups nio_tasks_per_group poll_servers"},
    {NULL, NULL},
};

#endif
