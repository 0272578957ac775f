"""Address of the API server and credentials: the kubeconfig, found and read as kubectl does.

JSON is YAML, and the engine writes its kubeconfig as JSON: reading that saves the import of yaml (16 ms) in every
command. Programs and token exchanges (exec plugins, auth providers) are left to the `kubernetes` package.
"""

from __future__ import annotations

import base64
import json
import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from hpcbatch.errors import HpcBatchError, UnreachableError, place
from hpcbatch.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_NOTHING = "no cluster is configured: `hpcbatch up` starts one on this machine, or set KUBECONFIG to the file of yours"


class Connection(NamedTuple):
    """One API server and one user's credentials. PEM texts are kept in memory, whether from data or files."""

    server: str
    """`https://host:port`, perhaps with a path prefix."""
    cluster: str = "hpcbatch"
    """Name of the cluster in the kubeconfig: the part of a PBS job id after the dot."""
    namespace: str = "default"
    ca_pem: str | None = None
    """None: the certificate authorities of the system."""
    verify: bool = True
    tls_server_name: str | None = None
    proxy_url: str | None = None
    client_cert_pem: bytes | None = None
    client_key_pem: bytes | None = None
    token: str | None = None
    token_file: str | None = None
    """Read again for each connection: clusters renew the tokens in files."""
    username: str | None = None
    password: str | None = None


def state_dir(environ: Mapping[str, str]) -> Path:
    """As `_state_dir`."""
    from pathlib import Path

    return Path(_state_dir(environ))


def _state_dir(environ: Mapping[str, str]) -> str:
    """Where the embedded engine keeps its persistent data.

    Some programs give the commands another HOME (Snap, test harnesses, R's checks): if that has no such directory, the
    one in the password file's home is used, if it exists.
    """
    if own := environ.get("HPCBATCH_STATE_DIR"):
        return own
    if base := environ.get("XDG_STATE_HOME"):
        return f"{base}/hpcbatch"
    candidates = (f"{home}/.local/state/hpcbatch" for home in _homes(environ))
    first = next(candidates)
    return next(filter(_is_there, chain([first], candidates)), first)


def _homes(environ: Mapping[str, str]) -> Iterator[str]:
    """$HOME, then the home in the password file, which is read only on demand: it may be on a server.
    Raises UnreachableError if there is neither.
    """
    home = environ.get("HOME")
    if home:
        yield home
    try:
        yield pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user without an entry, as in many containers
        if not home:
            raise UnreachableError(
                f"HOME is not set, and user {os.getuid()} has no entry in the password file: set HPCBATCH_STATE_DIR"
            ) from None


def _is_there(path: str) -> bool:
    """Whether it exists and is accessible. In another user's HOME, as after `sudo -u`, it may not be."""
    return os.access(path, os.F_OK)


def find(environ: Mapping[str, str]) -> list[str]:
    """The kubeconfig files to merge, the first taking precedence; [] when there is none.
    Raises UnreachableError if a variable names files of which none exists.
    """
    for variable in ("HPCBATCH_KUBECONFIG", "KUBECONFIG"):
        if text := environ.get(variable):
            named = [os.path.expanduser(part) for part in text.split(os.pathsep) if part]
            if present := [path for path in named if os.path.exists(path)]:
                return present
            raise UnreachableError(f"{variable} names {text}, which does not exist")
    for path in (f"{_state_dir(environ)}/kubeconfig", f"{next(_homes(environ))}/.kube/config"):
        if _is_there(path):
            return [path]
    return []


def load(environ: Mapping[str, str]) -> Connection:
    """The connection that the user's environment selects.
    Raises UnreachableError if none is configured, HpcBatchError if a kubeconfig cannot be used.
    """
    files = find(environ)
    if files:
        return read(files)
    if environ.get("KUBERNETES_SERVICE_HOST") and os.path.exists(f"{_SERVICE_ACCOUNT}/token"):
        return _in_cluster(environ)
    raise UnreachableError(_NOTHING)


def read(files: Iterable[str | Path]) -> Connection:
    """The current context of `files`, merged: of entries with the same name the first counts (as in kubectl)."""
    paths = [str(file) for file in files]
    entries: dict[str, dict[str, tuple[dict[str, Any], str]]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for path in paths:
        config = _parse(path)
        current = current or str(config.get("current-context") or "")
        for section, found in entries.items():
            for entry in config.get(section) or []:
                if isinstance(entry, dict) and isinstance(body := entry.get(section[:-1]), dict):
                    found.setdefault(str(entry.get("name")), (body, path))
    where = os.pathsep.join(paths)
    if not current:
        raise HpcBatchError(f"{where}: no current-context is set: choose one with `kubectl config use-context`")
    context, _ = _entry(entries, "contexts", current, where)
    cluster_name = str(context.get("cluster") or "")
    cluster, cluster_file = _entry(entries, "clusters", cluster_name, where)
    user: dict[str, Any] = {}
    user_file = cluster_file
    if name := context.get("user"):
        user, user_file = _entry(entries, "users", str(name), where)
    namespace = str(context.get("namespace") or "default")
    if user.get("exec") or user.get("auth-provider"):
        return _through_kubernetes_package(where, current, cluster_name, namespace)
    if not cluster.get("server"):
        raise HpcBatchError(f"{where}: cluster {cluster_name!r} has no server")
    ca = _pem(cluster, "certificate-authority", cluster_file)
    return Connection(
        server=str(cluster["server"]).rstrip("/"),
        cluster=cluster_name,
        namespace=namespace,
        ca_pem=ca.decode("ascii", "replace") if ca is not None else None,
        verify=not cluster.get("insecure-skip-tls-verify"),
        tls_server_name=cluster.get("tls-server-name") or None,
        proxy_url=cluster.get("proxy-url") or None,
        client_cert_pem=_pem(user, "client-certificate", user_file),
        client_key_pem=_pem(user, "client-key", user_file),
        token=user.get("token") or None,
        token_file=_beside(user_file, user["tokenFile"]) if user.get("tokenFile") else None,
        username=user.get("username") or None,
        password=user.get("password") or None,
    )


def _beside(file: str, named: object) -> str:
    """What a kubeconfig names, relative to itself."""
    return os.path.join(os.path.dirname(file), str(named))


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _parse(path: str) -> dict[str, Any]:
    try:
        text = _read_file(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise HpcBatchError(f"cannot read the kubeconfig {path}: {reason}") from None
    try:
        config = json.loads(text)
    except ValueError:
        import yaml

        try:
            config = yaml.safe_load(text)
        except yaml.YAMLError as error:
            from hpcbatch.site.yaml_fields import start_of

            where = place(path, *start_of(getattr(error, "problem_mark", None)))
            raise HpcBatchError(f"{where}: the kubeconfig is not valid YAML") from None
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise HpcBatchError(f"{path} is not a kubeconfig")
    return config


def _entry(
    entries: Mapping[str, Mapping[str, tuple[dict[str, Any], str]]], section: str, name: str, where: str
) -> tuple[dict[str, Any], str]:
    try:
        return entries[section][name]
    except KeyError:
        raise HpcBatchError(f"{where}: there is no {section[:-1]} {name!r}") from None


def _pem(body: Mapping[str, Any], key: str, path: str) -> bytes | None:
    """`<key>-data` in base64, or else the file that `<key>` names, relative to the kubeconfig."""
    if data := body.get(f"{key}-data"):
        try:
            return base64.b64decode(str(data), validate=False)
        except ValueError:  # of base64, or of text that is not ASCII
            raise HpcBatchError(f"{path}: {key}-data is not base64") from None
    if not body.get(key):
        return None
    file = _beside(path, body[key])
    try:
        return _read_file(file)
    except OSError as error:
        raise HpcBatchError(f"{path}: cannot read {key} {file}: {error.strerror}") from None


def _in_cluster(environ: Mapping[str, str]) -> Connection:
    """A pod's own service account: how the controller logs in on a real cluster."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        return Connection(
            server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            namespace=_read_file(f"{_SERVICE_ACCOUNT}/namespace").decode().strip() or "default",
            ca_pem=_read_file(f"{_SERVICE_ACCOUNT}/ca.crt").decode(),
            token_file=f"{_SERVICE_ACCOUNT}/token",
        )
    except OSError as error:
        raise HpcBatchError(f"cannot read the service account {error.filename}: {error.strerror}") from None


def _through_kubernetes_package(files: str, context: str, cluster: str, namespace: str) -> Connection:
    import logging

    from kubernetes import client, config

    settings = client.Configuration()
    logged: list[str] = []  # the package only logs a failing plugin, and continues without it
    listener = logging.Handler()
    listener.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(listener)
    try:
        load: Any = config.load_kube_config  # it has no annotations
        load(files, context=context, client_configuration=settings, persist_config=False)
        # The token's name depends on the release.
        authorization = settings.get_api_key_with_prefix("BearerToken", alias="authorization") or ""
        cert, key, ca = (
            _read_file(name) if name else None for name in (settings.cert_file, settings.key_file, settings.ssl_ca_cert)
        )
        if not authorization and cert is None:
            raise HpcBatchError(logged[-1] if logged else "the plugin gave neither a token nor a certificate")
    except Exception as error:
        # The package passes on any error of the plugin, its output or the network.
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise HpcBatchError(f"cannot log in as the kubeconfig {files} asks (context {context}): {text}") from None
    finally:
        logging.getLogger().removeHandler(listener)
    return Connection(
        server=str(settings.host).rstrip("/"),
        cluster=cluster,
        namespace=namespace,
        ca_pem=ca.decode("ascii", "replace") if ca is not None else None,
        verify=bool(settings.verify_ssl),
        tls_server_name=settings.tls_server_name,
        client_cert_pem=cert,
        client_key_pem=key,
        token=authorization.removeprefix("Bearer ").strip() or None,
    )
