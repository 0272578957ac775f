"""What commands of several systems say that there is instead of them."""

from __future__ import annotations

from hpcbatch.typed import Final

DAEMONS: Final = "Kubernetes stores and starts jobs; `hpcbatch check` shows whether the cluster is well"
PASSWORDS: Final = "there are no passwords: a kubeconfig says who somebody is (docs/users.md)"
