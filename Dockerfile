# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY exporter ./exporter
COPY dashboards ./dashboards
COPY alerts ./alerts
RUN python -m venv /opt/exporter \
    && /opt/exporter/bin/pip install --no-cache-dir --no-compile .

FROM python:3.13-slim
LABEL org.opencontainers.image.title="gpu-cluster-exporter" \
      org.opencontainers.image.description="Prometheus exporter for GPU clusters on Samsung Cloud Platform and CLOVA NSML" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/exporter /opt/exporter
ENV PATH=/opt/exporter/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 10110
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["gpu-cluster-exporter", "healthcheck"]
ENTRYPOINT ["gpu-cluster-exporter"]
CMD ["--config.file=/etc/gpu-cluster-exporter/gpu-cluster-exporter.yml"]
