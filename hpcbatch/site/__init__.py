"""What an admin says of a site, as values: the configuration file with its mail, modules and template, and whose jobs a
namespace holds. Texts and objects come in from who reads them: nothing here reads a file or asks Kubernetes.
"""
