# Two images: `--target controller`, and `--target login`, a login node with qsub, sbatch and their kin.
# By its digest, so that the same file gives the same base; --build-arg BASE= takes another one.
ARG BASE=docker.io/library/debian:bookworm-slim@sha256:96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716
FROM $BASE AS python
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 ca-certificates \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*

FROM python AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv
COPY requirements /src/requirements
RUN python3 -m venv /opt/hpcbatch \
 && /opt/hpcbatch/bin/pip install --no-cache-dir --no-compile --no-deps --require-hashes \
      --requirement /src/requirements/build.txt --requirement /src/requirements/base.txt
COPY pyproject.toml setup.py README.md /src/
COPY docs/site.md /src/docs/site.md
COPY hpcbatch /src/hpcbatch
COPY scripts /src/scripts
COPY templates /src/templates
COPY examples/mpi /src/examples/mpi
COPY deploy/crd /src/deploy/crd
# Compiled here, since nobody may write beside the sources in the image; by their content, not by their time, which
# copying changes.
RUN /opt/hpcbatch/bin/pip install --no-cache-dir --no-compile --no-deps --no-build-isolation /src \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/hpcbatch/lib

# The first two that go are the embedded engine's; kubernetes, half of the image, is for kubeconfigs that run programs to
# log in. psycopg is for the history's database, paramiko for the keys of jobs where Volcano does not make them.
FROM build AS build-controller
RUN /opt/hpcbatch/bin/pip install --no-cache-dir --no-compile --no-deps --require-hashes \
      --requirement /src/requirements/postgres.txt \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/hpcbatch/lib \
 && /opt/hpcbatch/bin/pip uninstall --yes aiohttp jsonschema kubernetes setuptools pip

FROM build AS build-login
RUN /opt/hpcbatch/bin/pip uninstall --yes setuptools pip

FROM python AS controller
COPY --from=build-controller /opt/hpcbatch /opt/hpcbatch
ENV PATH=/opt/hpcbatch/bin:/usr/local/bin:/usr/bin:/bin
USER 65532:65532
ENTRYPOINT ["hpcbatch"]
CMD ["controller"]

FROM python AS login
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openssh-client less procps vim-tiny \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*
COPY --from=build-login /opt/hpcbatch /opt/hpcbatch
# Where login shells find them too: those set PATH anew. Copies, since the way by a link costs each command a millisecond.
RUN find /opt/hpcbatch/bin -type f -executable \
      \( -name 'hpcbatch*' -o -name 'q*' -o -name 'pbs*' -o -name nqs2pbs -o -name printjob -o -name tracejob -o -name 's[a-z]*' \
         -o -name 'b[a-z]*' -o -name 'ls[a-z]*' \) -exec cp -t /usr/local/bin '{}' +
USER 65532:65532
CMD ["bash", "--login"]
