"""Volcano's job controller: it makes the pods of Volcano Jobs and all that is beside them. The embedded engine runs it,
and so does hpcbatch's controller on clusters without Volcano. Its rules are pure and in `hpcbatch.volcano`.
"""
