"""`hpcbatch site import`: a site's own Slurm, PBS, Maui and Moab files to the text of a site.yaml. docs/site-import.md.

Each format has a reader that puts what it finds into one `found.Found`; `plan` makes the site's values of that, and
`write` their YAML. Pure: callers pass in names and texts.
"""
