"""The admin's description of a site, as values: the configuration file with its mail, modules and template, and the
users of namespaces. Callers pass in texts and objects: nothing here reads a file or calls Kubernetes.
"""
