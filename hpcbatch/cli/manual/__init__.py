"""Manual pages: section 1 from the command lines of all commands, section 5 from the documentation of site.yaml.
`make man` writes them, and so does the build of a wheel.
"""
