"""Who runs next: values in (snapshot), a plan out (outcome). planner: `make_plan` from nothing, `Planner` by events."""
