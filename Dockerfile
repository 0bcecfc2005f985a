# docker build --tag gpu-cluster-exporter:0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" .
#
# What is installed is told by requirements/*.txt, down to the hash of each file; what is left to the
# day of the build is the base image: give it by its digest to have that the same as well.
ARG PYTHON=python:3.13-slim-trixie

FROM ${PYTHON} AS build
WORKDIR /src
# First what seldom changes. The tools of the build stay in this stage, in its own Python.
COPY requirements ./requirements
RUN pip install --no-cache-dir --no-deps --require-hashes --only-binary=:all: \
        --requirement requirements/build.txt \
    && python -m venv --without-pip /opt/exporter \
    && pip --python /opt/exporter/bin/python install --no-cache-dir --no-compile \
        --no-deps --require-hashes --only-binary=:all: --requirement requirements/runtime.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY exporter ./exporter
COPY dashboards ./dashboards
COPY alerts ./alerts
COPY deploy/prometheus.yml deploy/alertmanager.yml ./deploy/
# The label `revision` of build_info: the context has no history that the build could ask.
ARG REVISION=
# Compiled here, for the file system may be read-only there, and a health check starts Python each time.
RUN echo "${REVISION}" >exporter/revision.txt \
    && pip wheel --no-cache-dir --no-deps --no-index --no-build-isolation --wheel-dir dist . \
    && pip --python /opt/exporter/bin/python install --no-cache-dir --no-compile \
        --no-deps --no-index dist/*.whl \
    && python -m compileall -q --invalidation-mode unchecked-hash /opt/exporter/lib

FROM ${PYTHON}
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="gpu-cluster-exporter" \
      org.opencontainers.image.description="Prometheus exporter for GPU clusters on Samsung Cloud Platform and CLOVA NSML" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Nothing that runs here installs anything.
RUN python -m pip uninstall --yes --quiet --root-user-action=ignore pip
COPY --from=build /opt/exporter /opt/exporter
ENV PATH=/opt/exporter/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# Where the configuration file is looked for: gpu-cluster-exporter.yml.
WORKDIR /etc/gpu-cluster-exporter
USER 65532:65532
EXPOSE 10110
HEALTHCHECK --interval=60s --timeout=10s --start-period=30s CMD ["gpu-cluster-exporter", "healthcheck"]
ENTRYPOINT ["gpu-cluster-exporter"]
CMD ["serve"]
